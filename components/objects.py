"""What one rendered object becomes as a Pulumi resource: type token, name, stage, policy and the object as it is applied.

Pure: dictionaries in, values out. Kinds are told apart by apiVersion and kind alone, so that an add-on with kinds that
nobody here has heard of needs no change.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

from base.errors import InvalidInput

Object = dict[str, Any]

FIELD_MANAGER = "chandlery"
ADDON_ANNOTATION = "chandlery.dev/addon"
MANAGED_BY = "app.kubernetes.io/managed-by"
QUEUE = ("scheduling.run.ai", "Queue")
CRD = ("apiextensions.k8s.io", "CustomResourceDefinition")


class Rendered(Protocol):
    """A rendered add-on: its CRDs and all its other objects, without Helm hooks."""

    @property
    def crds(self) -> Sequence[Mapping[str, Any]]: ...

    @property
    def objects(self) -> Sequence[Mapping[str, Any]]: ...


class Stage(IntEnum):
    """Order of creation (and, backwards, of deletion). Each stage waits until the one before is done, awaits included.

    CRDs come after what does not need them: plain ``pulumi`` writes the whole state down at every step, and CRDs are nine
    tenths of its bytes, so that each step after them costs ten times as much as one before. (The engine here has it written
    once, see :mod:`components.leftovers`.)
    """

    FOUNDATION = 0
    BUILT_IN = 1
    CRDS = 2
    CONFIGURATION = 3
    WORKLOADS = 4
    ADMISSION = 5
    CUSTOM = 6
    TENANCY = 7


_STAGES = {
    "Namespace": Stage.FOUNDATION,
    "PriorityClass": Stage.FOUNDATION,
    "RuntimeClass": Stage.FOUNDATION,
    "StorageClass": Stage.FOUNDATION,
    "Deployment": Stage.WORKLOADS,
    "StatefulSet": Stage.WORKLOADS,
    "DaemonSet": Stage.WORKLOADS,
    "ReplicaSet": Stage.WORKLOADS,
    "Job": Stage.WORKLOADS,
    "CronJob": Stage.WORKLOADS,
    "Pod": Stage.WORKLOADS,
    # A webhook that is registered before its program answers refuses the very objects that bring the program up.
    "ValidatingWebhookConfiguration": Stage.ADMISSION,
    "MutatingWebhookConfiguration": Stage.ADMISSION,
    "APIService": Stage.ADMISSION,
}

#: API groups that every API server has, beside the core group; kinds of other groups need somebody's CRD.
_BUILT_IN = {
    "",
    "autoscaling",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
}

#: Built-in kinds without a namespace. Charts put one there now and then; the API server drops it silently.
_CLUSTER_SCOPED = {
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
}

#: pulumi-kubernetes v4.25 waits 10 s after the last change of a Service's endpoints ("settled") and, for a Service whose
#: pods come in a later stage, until its time is up. The readiness of the Deployment behind it says as much, at once.
_NOT_AWAITED = {("", "Service"), ("networking.k8s.io", "Ingress")}


@dataclass(frozen=True, slots=True)
class Resource:
    """One object as it will be registered.

    ``name`` is the Pulumi resource name and, with the token, the identity of the resource in every stack: it is API.
    ``digest`` is that of ``body``, the object as applied.
    """

    token: str
    name: str
    stage: Stage
    retain: bool
    body: Object
    digest: str
    level: int = 0


def group_of(obj: Mapping[str, Any]) -> str:
    """API group; the core group is the empty string."""
    group, slash, _ = str(obj["apiVersion"]).partition("/")
    return group if slash else ""


def kind_of(obj: Mapping[str, Any]) -> tuple[str, str]:
    """(group, kind)."""
    return group_of(obj), str(obj["kind"])


def label_of(obj: Mapping[str, Any]) -> str:
    """``Kind namespace/name``, for people."""
    meta = obj["metadata"]
    namespace = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{obj['kind']} {namespace}{meta['name']}"


def token_of(obj: Mapping[str, Any]) -> str:
    """Type token of the Kubernetes provider, which reads group, version and kind out of it (``gvkFromURN``)."""
    version = str(obj["apiVersion"])
    return f"kubernetes:{version if '/' in version else f'core/{version}'}:{obj['kind']}"


def owned_kinds(crds: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, str]]:
    """(group, kind) of the kinds that these CRDs define."""
    return frozenset((str(crd["spec"]["group"]), str(crd["spec"]["names"]["kind"])) for crd in crds)


def stage_of(obj: Mapping[str, Any], owned: frozenset[tuple[str, str]]) -> Stage:
    """The stage of an object of an add-on whose own CRDs define ``owned``.

    A custom resource of the add-on's own waits for the add-on's operators. One of a foreign kind (a cert-manager
    Certificate in another add-on) is configuration: it waits for that other add-on, and the add-on's workloads may need what
    comes of it.
    """
    kind = kind_of(obj)
    if kind == CRD:
        return Stage.CRDS
    if kind == QUEUE:
        return Stage.TENANCY
    if kind in owned:
        return Stage.CUSTOM
    return _STAGES.get(kind[1], Stage.BUILT_IN if kind[0] in _BUILT_IN else Stage.CONFIGURATION)


def retained(obj: Mapping[str, Any]) -> bool:
    """Whether the object outlives its stack: CRDs (deleting one deletes every object of its kind), queues (customers' quotas
    and the workloads in them hang on them) and what the chart itself marks as kept."""
    kept = _meta(obj, "annotations").get("helm.sh/resource-policy") == "keep"
    return kept or kind_of(obj) in {CRD, QUEUE}


def body_of(obj: Mapping[str, Any], addon: str, *, wait: str = "") -> Object:
    """The object as applied: without nulls, status and server-set fields, with our marks.

    ``patchForce``: the spec decides about the fields it names, whoever set them last; other fields are left alone. With it
    and server-side apply, creating over a leftover takes it over instead of failing (the provider sends the same PATCH).
    ``wait`` is a ``pulumi.com/waitFor`` expression.
    """
    body: Object = _without_nulls(copy.deepcopy(dict(obj)))
    body.pop("status", None)
    meta = body["metadata"]
    for field in ("creationTimestamp", "resourceVersion", "uid", "generation", "managedFields"):
        meta.pop(field, None)
    if body["kind"] in _CLUSTER_SCOPED:
        meta.pop("namespace", None)
    labels = {str(k): str(v) for k, v in (meta.get("labels") or {}).items()}
    labels.setdefault(MANAGED_BY, FIELD_MANAGER)
    annotations = {str(k): str(v) for k, v in (meta.get("annotations") or {}).items()}
    annotations |= {
        ADDON_ANNOTATION: addon,
        "pulumi.com/patchForce": "true",
        "pulumi.com/patchFieldManager": FIELD_MANAGER,
    }
    kind = kind_of(body)
    if kind in _NOT_AWAITED:
        annotations["pulumi.com/skipAwait"] = "true"
    if kind == CRD:
        wait = wait or "condition=Established"
    if wait:
        annotations["pulumi.com/waitFor"] = wait
    meta["labels"], meta["annotations"] = labels, annotations
    return body


def digest_of(value: Any) -> str:
    """sha256 over canonical JSON, hexadecimal."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def resources(
    addon: str,
    crds: Sequence[Mapping[str, Any]],
    objects: Sequence[Mapping[str, Any]],
    *,
    waits: Mapping[tuple[str, str], str] | None = None,
) -> tuple[Resource, ...]:
    """All objects of an add-on as resources, in order of stage, level and name.

    ``waits`` maps (group, kind) to the condition that a custom resource must reach before the next stage.
    Raises InvalidInput for an object without name, a Helm hook (its effect must be modelled, not applied as an object)
    and two objects of one identity.
    """
    owned = owned_kinds(crds)
    depth = _depths(objects)
    made: dict[tuple[str, str], Resource] = {}
    for obj in (*crds, *objects):
        meta = obj.get("metadata") or {}
        if not obj.get("apiVersion") or not obj.get("kind") or not meta.get("name"):
            raise InvalidInput(f"add-on {addon} renders an object without apiVersion, kind or name", where=str(obj)[:120])
        if "helm.sh/hook" in (meta.get("annotations") or {}):
            raise InvalidInput(
                f"add-on {addon} renders a Helm hook", where=label_of(obj), todo="model what the hook does instead"
            )
        body = body_of(obj, addon, wait=(waits or {}).get(kind_of(obj), ""))
        namespace = body["metadata"].get("namespace")
        name = "/".join(part for part in (addon, namespace, body["metadata"]["name"]) if part)
        level = depth.get(str(body["metadata"]["name"]), 0) if kind_of(obj) == QUEUE else 0
        resource = Resource(
            token=token_of(body),
            name=name,
            stage=stage_of(body, owned),
            retain=retained(body),
            body=body,
            digest=digest_of(body),
            level=level,
        )
        if (resource.token, name) in made:
            raise InvalidInput(f"add-on {addon} renders one object twice", where=label_of(body))
        made[resource.token, name] = resource
    return tuple(sorted(made.values(), key=lambda r: (r.stage, r.level, r.token, r.name)))


def _depths(objects: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Queue name -> number of its ancestors among these queues, so that parents are made first."""
    parents = {
        str(obj["metadata"]["name"]): str((obj.get("spec") or {}).get("parentQueue") or "")
        for obj in objects
        if kind_of(obj) == QUEUE
    }

    def depth(name: str, seen: frozenset[str]) -> int:
        parent = parents.get(name, "")
        if parent not in parents:
            return 0
        if parent in seen:
            raise InvalidInput("queues are each other's parents", where=" <- ".join(sorted(seen)))
        return 1 + depth(parent, seen | {parent})

    return {name: depth(name, frozenset({name})) for name in parents}


def _meta(obj: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    return (obj.get("metadata") or {}).get(field) or {}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_without_nulls(item) for item in value]
    return value

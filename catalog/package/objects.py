"""What is done to rendered objects before anybody sees them: sorted out, completed, checked, put in order. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from base.errors import Refused
from catalog.model import DroppedHook
from catalog.package.render import documents

__all__ = [
    "CRD_KIND",
    "Object",
    "built_in",
    "flattened",
    "group_of",
    "identity",
    "label",
    "namespaced",
    "ordered",
    "split_hooks",
    "with_namespaces",
]

Object = dict[str, Any]

CRD_KIND = "CustomResourceDefinition"
_HOOK = "helm.sh/hook"

#: Kinds that have no namespace, by group; those of Kubernetes itself, and a few more.
_CLUSTER_SCOPED = {
    ("", "Namespace"),
    ("", "Node"),
    ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", CRD_KIND),
    ("apiregistration.k8s.io", "APIService"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "CSIDriver"),
    ("storage.k8s.io", "StorageClass"),
    # Kinds of one add-on that charts of others make.
    ("cert-manager.io", "ClusterIssuer"),
    ("nfd.k8s-sigs.io", "NodeFeatureRule"),
}
_FOREIGN = {"ClusterIssuer", "NodeFeatureRule"}
#: API groups of Kubernetes itself; a kind of these that is not listed above has a namespace.
_BUILT_IN = {
    "",
    "apps",
    "autoscaling",
    "batch",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
}

#: Order of application within an add-on; what is not listed (custom resources) comes last.
_ORDER = (
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolumeClaim",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "DaemonSet",
    "Deployment",
    "StatefulSet",
    "PodDisruptionBudget",
    "Job",
    "CronJob",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)


def label(obj: Mapping[str, Any]) -> str:
    """``Kind namespace/name`` for people."""
    meta = obj["metadata"]
    place = f"{meta['namespace']}/" if meta.get("namespace") else ""
    return f"{obj['kind']} {place}{meta['name']}"


def flattened(objects: Iterable[Object], origin: str) -> Iterator[Object]:
    """Members of lists in their list's place; what is no object is refused."""
    for obj in objects:
        if str(obj.get("kind", "")).endswith("List") and isinstance(obj.get("items"), list):
            yield from flattened(obj["items"], origin)
            continue
        name = (obj.get("metadata") or {}).get("name")
        if not obj.get("apiVersion") or not obj.get("kind") or not isinstance(name, str) or not name:
            raise Refused("renders something without apiVersion, kind or name", where=origin)
        yield obj


def split_hooks(objects: Iterable[Object], known: Sequence[DroppedHook], origin: str) -> tuple[list[Object], list[str]]:
    """The objects that are no Helm hooks, and the hooks that do not run as such, as ``Kind name (event)``.

    A hook may do work that is needed, so one that the add-on does not name is refused. Where it is one that only puts an object
    onto the cluster, that object is among the others here: the hook itself (``doneBy: object``), or what a ConfigMap has for a
    hook Job to apply (``doneBy: manifest``).
    """
    kept, dropped = [], []
    for obj in objects:
        event = (obj["metadata"].get("annotations") or {}).get(_HOOK)
        if not event:
            kept.append(obj)
            continue
        kind, name = obj["kind"], obj["metadata"]["name"]
        hook = next((hook for hook in known if hook.kind == kind and hook.name in ("", name)), None)
        if hook is None:
            raise Refused(
                f"renders the hook {kind} {name} ({event}), which nobody has looked at",
                where=origin,
                todo="name it under `hooks` of addon.yaml with the reason why nothing is lost without it",
            )
        kept.extend(_applied(obj, hook, origin))
        dropped.append(f"{kind} {name} ({event})")
    return kept, sorted(dropped)


def _applied(obj: Object, hook: DroppedHook, origin: str) -> Iterator[Object]:
    """What of a hook is applied as an ordinary object."""
    if hook.done_by == "object":
        meta = dict(obj["metadata"])
        annotations = {name: value for name, value in meta.pop("annotations").items() if not name.startswith(_HOOK)}
        yield {**obj, "metadata": {**meta, **({"annotations": annotations} if annotations else {})}}
    elif hook.done_by == "manifest" and obj["kind"] == "ConfigMap":
        for text in (obj.get("data") or {}).values():
            yield from flattened(documents(text, origin), origin)


def group_of(obj: Mapping[str, Any]) -> str:
    """API group; the core group is the empty string."""
    return str(obj["apiVersion"]).rpartition("/")[0]


def identity(obj: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Group (a new version of an API is no other object), kind, namespace and name."""
    meta = obj["metadata"]
    return group_of(obj), str(obj["kind"]), str(meta.get("namespace", "")), str(meta["name"])


def namespaced(obj: Mapping[str, Any], crds: Iterable[Mapping[str, Any]]) -> bool | None:
    """Whether a kind has a namespace; None when neither Kubernetes nor ``crds`` says so."""
    group = group_of(obj)
    if (group, obj["kind"]) in _CLUSTER_SCOPED:
        return False
    for crd in crds:
        spec = crd["spec"]
        if spec["group"] == group and spec["names"]["kind"] == obj["kind"]:
            return bool(spec["scope"] == "Namespaced")
    return True if group in _BUILT_IN else None


def built_in(obj: Mapping[str, Any]) -> bool:
    """Whether a kind is one of Kubernetes itself."""
    group = group_of(obj)
    return group in _BUILT_IN or any(group == known for known, kind in _CLUSTER_SCOPED if kind not in _FOREIGN)


def with_namespaces(objects: Iterable[Object], crds: Sequence[Object], namespace: str, origin: str) -> list[Object]:
    """Every object of a namespaced kind with a namespace, none of the others with one, and the add-on's own Namespace."""
    completed: list[Object] = []
    used = False
    for obj in objects:
        meta = dict(obj["metadata"])
        scope = namespaced(obj, crds)
        if scope is None and not meta.get("namespace"):
            raise Refused(
                f"{label(obj)} of {obj['apiVersion']} has no namespace, and nothing here says whether it needs one", where=origin
            )
        if scope is False:
            meta.pop("namespace", None)
        else:
            meta["namespace"] = meta.get("namespace") or namespace
            used = used or meta["namespace"] == namespace
        completed.append({**obj, "metadata": meta})
    made = any(obj["kind"] == "Namespace" and obj["metadata"]["name"] == namespace for obj in completed)
    if used and not made:
        completed.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    return completed


def ordered(objects: Iterable[Object]) -> list[Object]:
    """In the order of application, always the same."""
    ranks = {kind: rank for rank, kind in enumerate(_ORDER)}

    def key(obj: Object) -> tuple[int, str, str, str, str]:
        meta = obj["metadata"]
        return ranks.get(obj["kind"], len(_ORDER)), obj["apiVersion"], obj["kind"], meta.get("namespace", ""), meta["name"]

    return sorted(objects, key=key)

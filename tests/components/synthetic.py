"""Small made-up add-ons with one object of each sort that matters, and the plan and facts around them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from catalog.plan import Facts, Plan, PlanItem, Webhook

Object = dict[str, Any]


@dataclass(frozen=True)
class Addon:
    crds: tuple[Object, ...] = ()
    objects: tuple[Object, ...] = ()


def crd(group: str, kind: str, *, namespaced: bool = False, version: str = "v1") -> Object:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "creationTimestamp": None},
        "spec": {
            "group": group,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "scope": "Namespaced" if namespaced else "Cluster",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
        "status": {"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": []},
    }


def obj(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Object:
    meta: Object = {"name": name, "labels": {"app": "synthetic"}}
    if namespace:
        meta["namespace"] = namespace
    meta |= fields.pop("metadata", {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def queue(name: str, parent: str = "", quota: int = 8) -> Object:
    share = {"quota": quota, "limit": quota, "overQuotaWeight": 1}
    spec: Object = {"resources": {"gpu": share, "cpu": dict(share), "memory": dict(share)}}
    if parent:
        spec["parentQueue"] = parent
    return obj("scheduling.run.ai/v2", "Queue", name, spec=spec)


def scheduler(*, webhook: bool = False) -> Addon:
    """A scheduler with Config, Shard and Queue kinds, a namespace, RBAC, a ConfigMap, a Secret and a Service."""
    ns = "sched"
    objects = [
        obj("v1", "Namespace", ns),
        obj("v1", "ServiceAccount", "operator", ns),
        obj("v1", "ConfigMap", "settings", ns, data={"level": "1"}),
        obj("v1", "Secret", "token", ns, stringData={"token": "very-private-value"}),
        obj(
            "v1",
            "Service",
            "operator",
            ns,
            spec={"selector": {"app": "operator"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]},
        ),
        obj(
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            "synthetic:operator",
            ns,
            rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
        ),
        obj("kai.scheduler/v1", "SchedulingShard", "default", spec={"args": {}}),
        obj("kai.scheduler/v1", "Config", "kai-config", spec={"namespace": ns, "global": None}),
    ]
    if webhook:
        objects += [
            obj("cert-manager.io/v1", "Certificate", "hook", ns, spec={"secretName": "hook-tls", "dnsNames": ["hook.sched.svc"]}),
            obj(
                "admissionregistration.k8s.io/v1",
                "ValidatingWebhookConfiguration",
                "hook",
                metadata={"annotations": {"cert-manager.io/inject-ca-from": "sched/hook"}},
                webhooks=[
                    {
                        "name": "hook.synthetic.dev",
                        "clientConfig": {"service": {"name": "operator", "namespace": ns, "path": "/validate"}},
                        "rules": [{"apiGroups": ["nothing.dev"], "apiVersions": ["v1"], "resources": ["*"], "operations": ["*"]}],
                        "admissionReviewVersions": ["v1"],
                        "sideEffects": "None",
                        "failurePolicy": "Fail",
                    }
                ],
            ),
        ]
    crds = (
        crd("kai.scheduler", "Config"),
        crd("kai.scheduler", "SchedulingShard"),
        crd("scheduling.run.ai", "Queue", version="v2"),
    )
    return Addon(crds, tuple(objects))


def certificates() -> Addon:
    """Stands for cert-manager: the Certificate kind, and a webhook that no program serves here."""
    hook = obj(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "cert-hook",
        webhooks=[{"name": "a.cert.dev", "clientConfig": {"service": {"name": "cert-hook", "namespace": "certs"}}}],
    )
    return Addon((crd("cert-manager.io", "Certificate", namespaced=True),), (obj("v1", "Namespace", "certs"), hook))


def item(addon: str, *, state: Any = "real", requires: Sequence[str] = (), webhooks: Sequence[Webhook] = ()) -> PlanItem:
    return PlanItem(
        addon=addon,
        version="1.2.3",
        namespace="sched",
        state=state,
        values={},
        reason="synthetic",
        requires=tuple(requires),
        webhooks=tuple(webhooks),
    )


def plan(*items: PlanItem, scheduler: str = "kai-reference") -> Plan:
    return Plan("synthetic", items, scheduler, "because the test says so", "0" * 64)


def facts(kubeconfig: Path, uid: str = "uid-1", *, target: Any = "embedded", state: Path = Path("/nowhere")) -> Facts:
    return Facts(target=target, kubernetes="1.36", kubeconfig=kubeconfig, cluster_uid=uid, state_dir=state)


def issue(service: str, namespace: str) -> tuple[bytes, bytes, bytes]:
    """Stands for the target's certificates; nothing here looks into them."""
    return tuple(f"{what} of {service}.{namespace}".encode() for what in ("ca", "certificate", "key"))  # type: ignore[return-value]


TENANCY = (queue("research"), queue("vision", "research"))

STANDARD_ITEMS = (
    item("cert-manager", state="simulated", webhooks=[Webhook("MutatingWebhookConfiguration/cert-hook")]),
    item(
        "kai-reference",
        state="reference",
        requires=["cert-manager"],
        webhooks=[Webhook("ValidatingWebhookConfiguration/hook", "sched/operator")],
    ),
)


def standard() -> tuple[Plan, Mapping[str, Addon], tuple[Object, ...]]:
    """Both add-ons with a webhook each, and two queues: what most tests install."""
    return (
        plan(*STANDARD_ITEMS),
        {"cert-manager": certificates(), "kai-reference": scheduler(webhook=True)},
        copy.deepcopy(TENANCY),
    )

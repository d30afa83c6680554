"""Made-up rendered objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catalog.package.packager import Rendered

RBAC = "rbac.authorization.k8s.io/v1"


def rendered(addon: str, *objects: dict[str, Any], version: str = "1.0.0", crds: Sequence[dict[str, Any]] = ()) -> Rendered:
    return Rendered(addon, version, tuple(crds), objects, (), (), "sha256:" + "c" * 64, f"sha256:{addon}")


def rule(verbs: str, resources: str, group: str = "", *names: str) -> dict[str, Any]:
    made: dict[str, Any] = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**made, "resourceNames": list(names)} if names else made


def role(name: str, *rules: dict[str, Any], namespace: str = "", **more: Any) -> dict[str, Any]:
    meta: dict[str, Any] = {"name": name, "labels": more.pop("labels", {})}
    if namespace:
        meta["namespace"] = namespace
    return {"apiVersion": RBAC, "kind": "Role" if namespace else "ClusterRole", "metadata": meta, "rules": list(rules), **more}


def binding(name: str, *, namespace: str = "", kind: str = "", subject: dict[str, str] | None = None) -> dict[str, Any]:
    """Binds the role of the same name, in a namespace or everywhere."""
    who = subject or {"kind": "ServiceAccount", "name": "operator", "namespace": "ops"}
    meta: dict[str, Any] = {"name": name, **({"namespace": namespace} if namespace else {})}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind or ("Role" if namespace else "ClusterRole"), "name": name}
    kind_of_binding = "RoleBinding" if namespace else "ClusterRoleBinding"
    return {"apiVersion": RBAC, "kind": kind_of_binding, "metadata": meta, "roleRef": ref, "subjects": [who]}

"""What a new cluster needs in its API before anybody works with it: who may do what, and its nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from base.deadlines import Deadline
from base.errors import DeadlineExceeded
from base.events import Step
from base.kube import Cluster, Kind, Object, wait_for, watch
from base.kube.kinds import CLUSTER_ROLE, LEASE, NODE
from validation.targets.embedded.addressing import HOST_ADDRESS
from validation.targets.embedded.nodes import KWOK_SELECTOR, differs, node_info
from validation.targets.embedded.pki import ADMIN_GROUP, CLIENTS

HOST_NODE = "host"
MANAGER = "chandlery-target"
_LEASES = "kube-node-lease"
_BINDING = Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
_LABELS = {"app.kubernetes.io/managed-by": "chandlery-target"}
#: Concurrent requests when nodes are made: enough to keep the API server busy, on one connection each.
_THREADS = 8


def grant(cluster: Cluster) -> None:
    """RBAC for the handed-out admin, KWOK and the service-proxy half of the host agent. Idempotent.

    The kubelet half needs nothing here: as ``system:node:host`` it is bounded by the Node authorizer and the
    NodeRestriction admission plugin to the pods bound to its node and what these name.
    """
    rules = [
        _rule([""], ["nodes"], ["get", "list", "watch"]),
        _rule([""], ["nodes/status", "pods/status"], ["patch", "update"]),
        _rule([""], ["pods"], ["get", "list", "watch", "delete", "patch"]),
        _rule([""], ["events"], ["create", "patch"]),
        _rule(["coordination.k8s.io"], ["leases"], ["get", "list", "watch", "create", "update", "patch"]),
    ]
    role: Object = {"metadata": {"name": "chandlery:kwok", "labels": _LABELS}, "rules": rules}
    _ensure(cluster, CLUSTER_ROLE, role)
    _ensure(cluster, _BINDING, _binding("chandlery:admins", "cluster-admin", "Group", ADMIN_GROUP))
    _ensure(cluster, _BINDING, _binding("chandlery:kwok", "chandlery:kwok", "User", CLIENTS["kwok"][0]))
    _ensure(cluster, _BINDING, _binding("chandlery:host-proxy", "system:node-proxier", "User", CLIENTS["host-agent"][0]))


def host_node(kubelet: str) -> Object:
    """The node that stands for this machine. Its size is bookkeeping: generous, so that no controller waits for room."""
    size = {"cpu": "64", "memory": "256Gi", "pods": "250", "ephemeral-storage": "1000Gi"}
    labels = {
        "chandlery.dev/host": "true",
        "kubernetes.io/hostname": HOST_NODE,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
    }
    return {
        "metadata": {"name": HOST_NODE, "labels": labels},
        "spec": {},
        "status": {
            "capacity": size,
            "allocatable": dict(size),
            "addresses": [{"type": "InternalIP", "address": HOST_ADDRESS}, {"type": "Hostname", "address": HOST_NODE}],
            "nodeInfo": node_info(kubelet, "host-process"),
        },
    }


def ensure_nodes(cluster: Cluster, wanted: Sequence[Object], step: Step) -> tuple[int, int]:
    """Make missing nodes and mend those that differ from their profile; counts of (made, mended). None is removed."""
    present = {node["metadata"]["name"]: node for node in cluster.list(NODE)[0]}
    missing = [node for node in wanted if node["metadata"]["name"] not in present]
    wrong = [
        node
        for node in wanted
        if (found := present.get(node["metadata"]["name"])) and found["metadata"]["name"] != HOST_NODE and differs(node, found)
    ]
    done = 0
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="nodes") as pool:
        try:
            for _ in pool.map(lambda node: cluster.create(NODE, node), missing):
                done += 1
                step.note(f"{done} of {len(missing)} made")
            for _ in pool.map(lambda node: _mend(cluster, node), wrong):
                pass
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return len(missing), len(wrong)


def wait_ready(cluster: Cluster, names: Iterable[str], deadline: Deadline, step: Step) -> int:
    """Wait until all named nodes are Ready and free of the not-ready taint; the number of them."""
    waiting = set(names)
    total = len(waiting)
    if not waiting:
        return 0
    for change in watch(cluster, NODE, deadline):
        if change is not None and change.type != "DELETED":
            name = change.object["metadata"]["name"]
            if ready(change.object):
                waiting.discard(name)
        step.note(f"{total - len(waiting)} of {total} ready")
        if not waiting:
            return total
    some = ", ".join(sorted(waiting)[:5])
    raise DeadlineExceeded(
        f"{len(waiting)} of {total} nodes were not Ready within {deadline.total:g} s: {some}",
        where=cluster.server,
        todo="see logs/kwok.log, logs/kube-controller-manager.log and logs/host-agent.log of the cluster",
    )


def wait_played(cluster: Cluster, names: Iterable[str], deadline: Deadline) -> None:
    """Wait until every named node has a Lease: somebody plays it, and its Ready is not just left over."""
    wanted = set(names)
    wait_for(
        cluster,
        LEASE,
        lambda live: wanted <= {key.partition("/")[2] for key in live},
        deadline,
        "a lease for each node",
        _LEASES,
        todo="see logs/kwok.log of the cluster",
    )


def release_nodes(cluster: Cluster) -> None:
    """Give the Leases of a KWOK that is gone back.

    Each KWOK process takes a new random identity and leaves nodes alone whose Lease another holds, until that runs out.
    """
    params = {"fieldSelector": f"metadata.name!={HOST_NODE}"}
    cluster.request("DELETE", LEASE.path(_LEASES), params=params)


def ready(node: Object) -> bool:
    """Ready=True and no not-ready / unreachable taint: a pod could start there now."""
    conditions = {c["type"]: c["status"] for c in node.get("status", {}).get("conditions") or ()}
    taints = {taint["key"] for taint in node.get("spec", {}).get("taints") or ()}
    return conditions.get("Ready") == "True" and not taints & {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    }


def kwok_nodes(cluster: Cluster) -> list[Object]:
    return cluster.list(NODE, labels=KWOK_SELECTOR)[0]


def _mend(cluster: Cluster, node: Object) -> None:
    name = node["metadata"]["name"]
    cluster.apply(NODE, {"metadata": node["metadata"], "spec": node["spec"]}, manager=MANAGER)
    parts = {part: node["status"][part] for part in ("capacity", "allocatable")}
    patch = [{"op": "add", "path": f"/status/{part}", "value": value} for part, value in parts.items()]
    cluster.patch(NODE, name, patch, subresource="status", how="json")


def _ensure(cluster: Cluster, kind: Kind, obj: Object) -> None:
    present = cluster.find(kind, obj["metadata"]["name"])
    if present is None or any(present.get(key) != value for key, value in obj.items() if key != "metadata"):
        cluster.apply(kind, obj, manager=MANAGER)


def _binding(name: str, role: str, kind: str, subject: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": _LABELS},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": subject}],
    }


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> dict[str, list[str]]:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}

"""Heartbeat of the node ``host``: its Lease, and its Ready condition."""

from __future__ import annotations

import datetime as dt
import time

from base.errors import NotFound
from base.kube import Cluster, Object, Refusal
from base.kube.kinds import LEASE, NODE
from validation.targets.embedded.hostagent.api import timestamp

_NAMESPACE = "kube-node-lease"
#: As a kubelet: valid for 40 s, renewed every 10 s.
_DURATION, _EVERY = 40, 10.0
_PRESSURES = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "kubelet has sufficient PID available"),
}


def beat(cluster: Cluster, node: str) -> None:
    """One heartbeat and the pause after it. A node that does not exist yet is waited for."""
    try:
        present = cluster.get(NODE, node)
    except NotFound:
        time.sleep(0.1)
        return
    renew(cluster, present)
    conditions = {c["type"]: c["status"] for c in present.get("status", {}).get("conditions") or ()}
    if conditions.get("Ready") != "True":
        cluster.patch(
            NODE, node, {"status": {"conditions": ready_conditions(timestamp())}}, subresource="status", how="strategic"
        )
    time.sleep(_EVERY)


def renew(cluster: Cluster, node: Object) -> None:
    """Make or renew the node's Lease."""
    name = node["metadata"]["name"]
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": name, "leaseDurationSeconds": _DURATION, "renewTime": now}
    try:
        cluster.patch(LEASE, name, {"spec": spec}, _NAMESPACE)
    except NotFound:
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        try:
            cluster.create(LEASE, {"metadata": {"name": name, "namespace": _NAMESPACE, "ownerReferences": [owner]}, "spec": spec})
        except Refusal as error:
            if error.status != 409:
                raise


def ready_conditions(now: str) -> list[Object]:
    """All conditions of a node that is well. Pure."""
    well = [
        {"type": kind, "status": "False", "reason": reason, "message": message} for kind, (reason, message) in _PRESSURES.items()
    ]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "the host agent is running"}
    return [{**c, "lastHeartbeatTime": now, "lastTransitionTime": now} for c in (*well, ready)]

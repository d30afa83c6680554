"""Removal of what checks made, found by label: after each check, and at the start of a run for one that was killed.

Whatever a check changes of an object that is not its own is written onto that object first (:data:`RESTORE`), so that
anybody who finds it can put it back.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from base.deadlines import Deadline
from base.errors import DeadlineExceeded, NotFound
from base.kube import Cluster, Kind, Object, Refusal, wait_for
from base.kube.kinds import CLUSTER_ROLE, JOB, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE

__all__ = ["RESTORE", "await_namespaces", "restore_roles", "sweep", "take_rules"]

#: Annotation with the original rules and field managers of a ClusterRole that a check has weakened.
RESTORE = "chandlery.dev/check-restores"

_INSIDE = (JOB, POD_GROUP)
_CLUSTER_WIDE = (QUEUE, PRIORITY_CLASS, NODE)


def sweep(cluster: Cluster, selector: str, *, within: float = 60.0, wait_for_namespaces: bool = True) -> list[str]:
    """Remove everything that carries the labels; returns what was found, raises DeadlineExceeded when some of it stays.

    Pods go first and without grace: on a node that is about to vanish nobody would finish them.
    """
    found = restore_roles(cluster, selector)
    deadline = Deadline.after(within)
    namespaces = [item["metadata"]["name"] for item in cluster.list(NAMESPACE, labels=selector)[0]]
    for name in namespaces:
        for kind in _INSIDE:
            for item in _list(cluster, kind, name):
                cluster.delete(kind, item["metadata"]["name"], name, propagation="Background")
        cluster.delete(NAMESPACE, name)
        _remove_pods(cluster, name, deadline)
        found.append(f"namespace {name}")
    for kind in _CLUSTER_WIDE:
        for item in _list(cluster, kind, None, selector):
            cluster.delete(kind, item["metadata"]["name"])
            found.append(f"{kind.kind} {item['metadata']['name']}")
    for kind in (*_CLUSTER_WIDE, *((NAMESPACE,) if wait_for_namespaces else ())):
        _wait_gone(cluster, kind, selector, deadline)
    return found


def await_namespaces(cluster: Cluster, selector: str, *, within: float) -> None:
    """Wait until no namespace carries the labels; DeadlineExceeded names those that stay."""
    _wait_gone(cluster, NAMESPACE, selector, Deadline.after(within))


def take_rules(cluster: Cluster, role: str, labels: dict[str, str], keep: Callable[[Object], bool]) -> None:
    """Take rules away from a ClusterRole in one write that also notes how to put them back.

    InvalidInput-like faults are left to the server; NotFound where the role does not exist.
    """
    live = cluster.get(CLUSTER_ROLE, role)
    meta = live["metadata"]
    marks = {key: meta.get("labels", {}).get(key) for key in labels}
    note = {"rules": live.get("rules"), "labels": marks, "managedFields": meta.get("managedFields")}
    meta["labels"] = {**meta.get("labels", {}), **labels}
    meta["annotations"] = {**meta.get("annotations", {}), RESTORE: json.dumps(note)}
    live["rules"] = [rule for rule in live.get("rules", ()) if keep(rule)]
    cluster.replace(CLUSTER_ROLE, live)


def restore_roles(cluster: Cluster, selector: str) -> list[str]:
    """Put back every ClusterRole that :func:`take_rules` has weakened; returns their names."""
    done = []
    for item in _list(cluster, CLUSTER_ROLE, None, selector):
        note = item["metadata"].get("annotations", {}).get(RESTORE)
        if note is None:
            continue
        _restore(cluster, item["metadata"]["name"], json.loads(note))
        done.append(f"ClusterRole {item['metadata']['name']}, restored")
    return done


def _restore(cluster: Cluster, name: str, note: Object) -> None:
    for attempt in range(5):
        live = cluster.get(CLUSTER_ROLE, name)
        meta = live["metadata"]
        meta.get("annotations", {}).pop(RESTORE, None)
        kept = {key: value for key, value in meta.get("labels", {}).items() if key not in note["labels"]}
        meta["labels"] = kept | {key: value for key, value in note["labels"].items() if value is not None}
        live["rules"] = note["rules"]
        try:
            back = cluster.replace(CLUSTER_ROLE, live)
            # A second write that changes nothing but the record of who owns which field: without it the rules would
            # now belong to this check, and the next server-side apply of the add-on would end in a conflict.
            back["metadata"]["managedFields"] = note["managedFields"]
            cluster.replace(CLUSTER_ROLE, back)
            return
        except Refusal as refusal:
            if refusal.status != 409 or attempt == 4:
                raise


def _remove_pods(cluster: Cluster, namespace: str, deadline: Deadline) -> None:
    """Delete until none is left: a controller may still make some until the namespace's end stops it."""

    def none_left(live: dict[str, Object]) -> bool:
        for pod in live.values():
            cluster.delete(POD, pod["metadata"]["name"], namespace, grace=0)
        return not live

    wait_for(cluster, POD, none_left, deadline, f"removal of the pods in {namespace}", namespace)


def _wait_gone(cluster: Cluster, kind: Kind, selector: str, deadline: Deadline) -> None:
    try:
        wait_for(cluster, kind, lambda live: not live, deadline, f"removal of {kind.plural}", labels=selector)
    except NotFound:
        return  # the kind itself is not served
    except DeadlineExceeded as late:
        left = ", ".join(item["metadata"]["name"] for item in _list(cluster, kind, None, selector))
        raise DeadlineExceeded(f"{late.message}; still there: {left}") from None


def _list(cluster: Cluster, kind: Kind, namespace: str | None, labels: str = "") -> list[Object]:
    try:
        return cluster.list(kind, namespace, labels=labels)[0]
    except NotFound:
        return []

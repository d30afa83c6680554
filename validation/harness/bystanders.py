"""Proof that nothing else moved: everything outside the check, before and after. Comparing is pure; :func:`look` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from base.errors import NotFound
from base.kube import Cluster, Object
from base.kube.kinds import NODE, POD, QUEUE
from validation.harness.names import CHECK, PREFIX

__all__ = ["Picture", "Where", "differences", "look"]


@dataclass(frozen=True, slots=True)
class Where:
    """A pod's identity and place. ``done`` when it has run to its end, after which its removal is nobody's doing."""

    uid: str
    node: str
    done: bool = False
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """Pods by ``namespace/name``, and nodes and queues with what must not change about them."""

    pods: Mapping[str, Where]
    nodes: Mapping[str, str]
    queues: Mapping[str, str]


def look(cluster: Cluster) -> Picture:
    """Everything outside the suite's own namespaces, nodes and queues."""
    pods = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": _where(item)
        for item in cluster.list(POD)[0]
        if not item["metadata"]["namespace"].startswith(PREFIX)
    }
    nodes = {item["metadata"]["name"]: _node(item) for item in cluster.list(NODE)[0] if not _ours(item)}
    queues = {
        item["metadata"]["name"]: f"{item['metadata']['uid']} generation {item['metadata'].get('generation')}"
        for item in _queues(cluster)
        if not _ours(item)
    }
    return Picture(pods, nodes, queues)


def differences(before: Picture, after: Picture) -> list[str]:
    """One line for each thing that moved. What is new is nobody's loss and is not listed."""
    lines = []
    for name, old in sorted(before.pods.items()):
        new = after.pods.get(name)
        if old.done or old.leaving or not old.node:
            continue
        if new is None:
            lines.append(f"pod {name} on {old.node} is gone")
        elif new.uid != old.uid:
            lines.append(f"pod {name} on {old.node} was replaced by another of the same name")
        elif new.leaving:
            lines.append(f"pod {name} on {old.node} is being deleted")
    for what, olds, news in (("node", before.nodes, after.nodes), ("queue", before.queues, after.queues)):
        for name, fact in sorted(olds.items()):
            if name not in news:
                lines.append(f"{what} {name} is gone")
            elif news[name] != fact:
                lines.append(f"{what} {name} was changed: {fact} became {news[name]}")
    return lines


def _ours(item: Object) -> bool:
    return CHECK in item["metadata"].get("labels", {})


def _where(pod: Object) -> Where:
    return Where(
        uid=pod["metadata"]["uid"],
        node=pod["spec"].get("nodeName", ""),
        done=pod.get("status", {}).get("phase") in {"Succeeded", "Failed"},
        leaving=bool(pod["metadata"].get("deletionTimestamp")),
    )


def _node(node: Object) -> str:
    cordoned = " cordoned" if node["spec"].get("unschedulable") else ""
    gpus = node.get("status", {}).get("allocatable", {}).get("nvidia.com/gpu", "0")
    return f"{node['metadata']['uid']} with {gpus} GPUs{cordoned}"


def _queues(cluster: Cluster) -> list[Object]:
    try:
        return cluster.list(QUEUE)[0]
    except NotFound:
        return []  # no scheduler, no queues

"""Whether any node of a cluster would take the pods of an add-on. Pure: rendered objects and node objects in, reasons out.

As the scheduler's filters NodeUnschedulable, NodeAffinity (with nodeSelector) and TaintToleration decide it (Kubernetes
documentation, "Assigning Pods to Nodes" and "Taints and Tolerations"); room on the nodes is not looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from base.errors import Refused
from catalog.package.pods import PodTemplate, pod_templates

__all__ = ["check_nodes", "unfit"]

#: What the DaemonSet controller adds to its pods.
_DAEMON = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/network-unavailable",
)


def unfit(objects: Iterable[Mapping[str, Any]], nodes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """One sentence for each pod template that no node would take: how many nodes say no, and why.

    A DaemonSet may have no node, and a workload without replicas asks for none.
    """
    return tuple(
        f"{pod.owner}: no node of {len(nodes)} would take it ({why})"
        for pod in pod_templates(objects)
        if pod.kind != "DaemonSet" and not pod.idle and (why := _why_none(pod, nodes))
    )


def check_nodes(objects: Mapping[str, Iterable[Mapping[str, Any]]], nodes: Sequence[Mapping[str, Any]]) -> None:
    """Refused with every pod of every add-on that no node would take. ``objects`` are by add-on."""
    found = [f"  - {addon}: {sentence}" for addon, mine in objects.items() for sentence in unfit(mine, nodes)]
    if found:
        listed = "\n".join(found)
        raise Refused(
            f"pods that would stay pending:\n{listed}",
            todo="say under `placement` of the spec what the nodes ask for, or change their labels and taints",
        )


def _why_none(pod: PodTemplate, nodes: Sequence[Mapping[str, Any]]) -> str:
    """Empty when a node would take it."""
    reasons: Counter[str] = Counter()
    for node in nodes:
        against = list(_against(pod, node))
        if not against:
            return ""
        reasons.update(dict.fromkeys(against, 1))
    return ", ".join(f"{count} {reason}" for reason, count in reasons.most_common(6)) or "there are no nodes"


def _against(pod: PodTemplate, node: Mapping[str, Any]) -> Iterator[str]:
    labels = node["metadata"].get("labels") or {}
    spec = node.get("spec") or {}
    tolerations = [*(pod.spec.get("tolerations") or [])]
    if pod.kind == "DaemonSet":
        tolerations += [{"key": key, "operator": "Exists"} for key in _DAEMON]
    unschedulable = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    if spec.get("unschedulable") and not any(_tolerates(one, unschedulable) for one in tolerations):
        yield "is unschedulable"
    for taint in spec.get("taints") or []:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not any(_tolerates(one, taint) for one in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            yield f"has the taint {taint['key']}{value}:{taint['effect']}"
    for key, value in (pod.spec.get("nodeSelector") or {}).items():
        if labels.get(key) != str(value):
            yield f"lacks the label {key}={value}"
    required = ((pod.spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if required and not any(_term(term, labels, node) for term in required.get("nodeSelectorTerms") or []):
        yield "is not within the required node affinity"


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("operator") == "Exists":
        return not toleration.get("key") or bool(toleration["key"] == taint["key"])
    return bool(toleration.get("key") == taint["key"] and str(toleration.get("value", "")) == str(taint.get("value") or ""))


def _term(term: Mapping[str, Any], labels: Mapping[str, str], node: Mapping[str, Any]) -> bool:
    """All expressions of a term; one without any matches nothing."""
    expressions = term.get("matchExpressions") or []
    fields = term.get("matchFields") or []
    name = {"metadata.name": node["metadata"]["name"]}
    return bool(expressions or fields) and all(
        [*(_expression(one, labels) for one in expressions), *(_expression(one, name) for one in fields)]
    )


def _expression(one: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, wanted = labels.get(one["key"]), [str(word) for word in one.get("values") or []]
    match one["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            try:
                number, bound = int(value or ""), int(wanted[0])
            except (ValueError, IndexError):
                return False
            return number > bound if operator == "Gt" else number < bound
    return False

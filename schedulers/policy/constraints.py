"""Which nodes a pod may run on at all: conditions, taints, selectors and required node affinity.

Source: KAI plugins/predicates (the Kubernetes scheduler's own filters) and scheduler_util.CheckNodeConditionPredicate.
The texts are the fragments that KAI and Kubernetes 1.35 and newer report.
"""

from __future__ import annotations

from collections.abc import Mapping

from schedulers.policy.fit import Constraints, NodeTerm, Requirement, Taint, Toleration
from schedulers.policy.snapshot import Node

UNSCHEDULABLE = "node is unschedulable"
NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
UNTOLERATED = "node(s) had untolerated taint(s)"

_KEEPS_AWAY = {"NoSchedule", "NoExecute"}
_UNSCHEDULABLE_TAINT = "node.kubernetes.io/unschedulable"


def refusals(node: Node, constraints: Constraints) -> tuple[str, ...]:
    """Why the node takes no pod of these constraints, whatever is free on it; empty when it may."""
    state = ((UNSCHEDULABLE,) if node.unschedulable else ()) + tuple(f"node has {p} condition" for p in node.problems)
    if state:
        return state
    if any(_untolerated(taint, constraints.tolerations) for taint in node.taints):
        return (UNTOLERATED,)
    if not _selected(node, constraints):
        return (NO_MATCH,)
    return ()


def _untolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    if taint.effect not in _KEEPS_AWAY:
        return False
    return not any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return bool(toleration.key) and toleration.value == taint.value


def _selected(node: Node, constraints: Constraints) -> bool:
    if any(node.labels.get(key) != value for key, value in constraints.selector):
        return False
    return constraints.affinity is None or any(_term(node, term) for term in constraints.affinity)


def _term(node: Node, term: NodeTerm) -> bool:
    if not term.labels and not term.fields:
        return False
    by_field = {"metadata.name": node.name}
    return all(_holds(r, node.labels) for r in term.labels) and all(_holds(r, by_field) for r in term.fields)


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(value, requirement)
    return False


def _compares(value: str | None, requirement: Requirement) -> bool:
    try:
        left, right = int(value or ""), int(requirement.values[0])
    except (ValueError, IndexError):
        return False
    return left > right if requirement.operator == "Gt" else left < right

"""What the engine writes into the status of PodGroups, Queues and shards. Pure: objects in, patches out.

Sources: KAI pkg/podgroupcontroller, pkg/queuecontroller, pkg/scheduler/cache/status_updater.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from base.kube import Object
from schedulers.engine import quantity
from schedulers.engine.read import Objects, Reader
from schedulers.kai import names
from schedulers.policy import ZERO, Amounts, QueueFigures, Waiting
from schedulers.policy.resources import UNLIMITED

_ResourceList = dict[str, str]


class Sums:
    """Adds up what pods ask for, all resources of them."""

    def __init__(self) -> None:
        self.amounts = ZERO
        self.extra: dict[str, float] = {}

    def add(self, amounts: Amounts, extra: Iterable[tuple[str, float]] = ()) -> None:
        self.amounts = self.amounts.plus(amounts)
        for name, amount in extra:
            self.extra[name] = self.extra.get(name, 0.0) + amount

    def join(self, other: Sums) -> None:
        self.add(other.amounts, other.extra.items())

    def resources(self) -> _ResourceList:
        """As a Kubernetes resource list, without zeros."""
        return dict(_shown(self.amounts, tuple(sorted(self.extra.items()))))


@lru_cache(maxsize=4096)
def _shown(amounts: Amounts, extra: tuple[tuple[str, float], ...]) -> tuple[tuple[str, str], ...]:
    found = resource_list(amounts)
    found.update({name: quantity.count(amount) for name, amount in extra})
    return tuple((name, amount) for name, amount in found.items() if amount != "0")


class Usage:
    """Allocated, allocated by non-preemptible work, and requested."""

    def __init__(self) -> None:
        self.allocated, self.fixed, self.requested = Sums(), Sums(), Sums()

    def join(self, other: Usage) -> None:
        self.allocated.join(other.allocated)
        self.fixed.join(other.fixed)
        self.requested.join(other.requested)

    def fields(self) -> dict[str, _ResourceList]:
        return {
            "allocated": self.allocated.resources(),
            "allocatedNonPreemptible": self.fixed.resources(),
            "requested": self.requested.resources(),
        }


def usage(objects: Objects, reader: Reader) -> dict[str, Usage]:
    """Usage of every PodGroup, by ``namespace/name``. A pod counts as allocated once it is bound, until it is gone."""
    preemptible = {group.key: group.preemptible for group in reader.groups(objects.groups, objects.classes)}
    result = {key: Usage() for key in preemptible}
    for obj in objects.pods:
        phase = (obj.get("status") or {}).get("phase")
        pod = reader.pod(obj)
        found = result.get(pod.group)
        if found is None or phase not in ("Pending", "Running"):
            continue
        found.requested.add(pod.request, pod.extra)
        if pod.node:
            found.allocated.add(pod.request, pod.extra)
            if not preemptible[pod.group]:
                found.fixed.add(pod.request, pod.extra)
    return result


def group_patch(group: Object, used: Usage) -> dict[str, Any] | None:
    """A merge patch for the PodGroup's status, or None where it is right already."""
    old = ((group.get("status") or {}).get("resourcesStatus")) or {}
    patch = _fields_patch(old, used.fields())
    return {"status": {"resourcesStatus": patch}} if patch else None


def queue_patches(objects: Objects, used: Mapping[str, Usage]) -> dict[str, dict[str, Any]]:
    """Merge patches for queue status by queue name: own workloads and those of all queues below, and the children's names."""
    totals = {queue["metadata"]["name"]: Usage() for queue in objects.queues}
    parents = {q["metadata"]["name"]: (q.get("spec") or {}).get("parentQueue") or "" for q in objects.queues}
    for group in objects.groups:
        key = f"{group['metadata']['namespace']}/{group['metadata']['name']}"
        name, seen = (group.get("spec") or {}).get("queue") or "", set[str]()
        while name in totals and name not in seen:
            totals[name].join(used[key])
            seen.add(name)
            name = parents[name]
    patches = {}
    for queue in objects.queues:
        name = queue["metadata"]["name"]
        old = queue.get("status") or {}
        patch: dict[str, Any] = _fields_patch(old, totals[name].fields())
        children = sorted(child for child, parent in parents.items() if parent == name)
        if children != (old.get("childQueues") or []):
            patch["childQueues"] = children or None
        if patch:
            patches[name] = {"status": patch}
    return patches


def _fields_patch(old: Mapping[str, Any], new: Mapping[str, _ResourceList]) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    for field, wanted in new.items():
        present = old.get(field) or {}
        if {k: str(v) for k, v in present.items()} != wanted:
            patch[field] = {**dict.fromkeys(present, None), **wanted}
    return patch


def condition_patch(group: Object, waiting: Waiting, pool: str, now: str) -> dict[str, Any] | None:
    """The status patch that says why the group waits on this node pool, or None where it says so already.

    Other pools' conditions stay; this pool's goes to the end (setPodGroupSchedulingCondition).
    """
    present = (group.get("status") or {}).get("schedulingConditions") or []
    last = present[-1] if present else {}
    wanted = {
        "type": names.UNSCHEDULABLE_ON_NODE_POOL,
        "nodePool": pool,
        "status": "True",
        "reason": "Unschedulable",
        "message": waiting.message,
    }
    reasons = [_reason(r.reason, r.message, r.queue) for r in waiting.reasons]
    words = [r["reason"] for r in reasons]
    same = all(last.get(field) == value for field, value in wanted.items())
    if same and words == [r.get("reason") for r in last.get("reasons") or ()]:
        return None
    condition = {
        **wanted,
        "lastTransitionTime": now,
        "transitionID": str(_number(last.get("transitionID")) + 1),
        "reasons": reasons,
    }
    others = [c for c in present if c.get("nodePool") != pool]
    return {"status": {"schedulingConditions": [*others, condition]}}


def clear_patch(group: Object) -> dict[str, Any] | None:
    """The patch that takes the conditions of a settled group away, or None where it has none."""
    return {"status": {"schedulingConditions": None}} if (group.get("status") or {}).get("schedulingConditions") else None


def pod_condition_patch(message: str, now: str) -> dict[str, Any]:
    """A strategic patch of a pod's status: it cannot be scheduled, and why."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
        "lastTransitionTime": now,
    }
    return {"status": {"conditions": [condition]}}


def says(pod: Object, message: str) -> bool:
    """True when the pod's condition says so already."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(
        c.get("type") == "PodScheduled" and c.get("reason") == "Unschedulable" and c.get("message") == message for c in conditions
    )


def shard_patch(shard: Object, now: str) -> dict[str, Any] | None:
    """The patch that shows a shard as served at its generation, or None where it does."""
    generation = shard["metadata"].get("generation", 0)
    present = (shard.get("status") or {}).get("conditions") or []
    ready: Object = next((c for c in present if c.get("type") == "Ready"), {})
    if ready.get("status") == "True" and ready.get("observedGeneration") == generation:
        return None
    condition = {
        "type": "Ready",
        "status": "True",
        "reason": "ready",
        "message": "served by the reference engine",
        "observedGeneration": generation,
        "lastTransitionTime": now,
    }
    return {"status": {"conditions": [*(c for c in present if c.get("type") != "Ready"), condition]}}


def resource_list(amounts: Amounts) -> _ResourceList:
    """Amounts as a Kubernetes resource list; -1 stands for unlimited."""

    def shown(amount: float, form: Callable[[float], str]) -> str:
        return "-1" if amount == UNLIMITED else form(amount)

    return {
        names.GPU_RESOURCE: shown(amounts.gpu, quantity.count),
        "cpu": shown(amounts.cpu, quantity.cores),
        "memory": shown(amounts.memory, quantity.size),
    }


def _reason(reason: str, message: str, queue: QueueFigures | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"reason": reason, "message": message}
    if queue is not None:
        shown["details"] = {
            "queueDetails": {
                "name": queue.name,
                "queueRequestedResources": resource_list(queue.requested),
                "queueDeservedResources": resource_list(queue.deserved),
                "queueAllocatedResources": resource_list(queue.allocated),
                "queueAllocatedNonPreemptibleResources": resource_list(queue.allocated_non_preemptible),
                "queueResourceLimits": resource_list(queue.limit),
                "podGroupRequestedResources": resource_list(queue.group_requested),
                "podGroupRequestedNonPreemptibleResources": resource_list(queue.group_requested_non_preemptible),
            }
        }
    return shown


def _number(value: Any) -> int:
    try:
        return max(0, int(value))
    except (TypeError, ValueError):
        return 0

"""Cluster objects as the values that the policy decides on. Pure, except for remembering what was read before.

Sources: KAI pkg/scheduler/cache/cluster_info/cluster_info.go, api/pod_info (getTaskStatus), pkg/common/podgroup.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from base.kube import Object
from schedulers.engine import quantity
from schedulers.kai import names
from schedulers.policy import (
    Amounts,
    Constraints,
    Node,
    NodeTerm,
    Pod,
    PodGroup,
    PodState,
    Queue,
    Requirement,
    Snapshot,
    Strategy,
    Taint,
    Toleration,
)

T = TypeVar("T")

#: A pod that is still there this long after its deletion was due is not counted on (--stuck-in-releasing-threshold).
STUCK_AFTER_S = 120.0
_BYTES_PER_MB = 1_000_000.0
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")
_FRACTIONS = (names.GPU_FRACTION_ANNOTATION, names.GPU_MEMORY_ANNOTATION)


@dataclass(frozen=True, slots=True)
class Objects:
    """What the watches show at one moment."""

    nodes: tuple[Object, ...] = ()
    pods: tuple[Object, ...] = ()
    queues: tuple[Object, ...] = ()
    groups: tuple[Object, ...] = ()
    classes: tuple[Object, ...] = ()
    shards: tuple[Object, ...] = ()
    requests: tuple[Object, ...] = ()


@dataclass(frozen=True, slots=True)
class Underway:
    """What was decided but may not show in the watches yet, by pod uid."""

    binding: Mapping[str, str]
    evicted: frozenset[str] = frozenset()


class Reader:
    """Reads objects into snapshots. An object that did not change is not parsed again."""

    def __init__(self, scheduler_name: str = names.SCHEDULER_NAME) -> None:
        self._scheduler = scheduler_name
        self._pods: dict[str, tuple[str, Pod]] = {}
        self._nodes: dict[str, tuple[str, Node]] = {}
        self._groups: dict[str, tuple[str, PodGroup]] = {}
        self._classes: dict[str, int] = {}

    def snapshot(self, objects: Objects, underway: Underway, pool: str, now: float) -> Snapshot:
        """The snapshot of one node pool ("" is the pool of everything without the label). ``now`` in seconds since the epoch."""
        shard = next((s for s in objects.shards if (s.get("spec") or {}).get("partitionLabelValue", "") == pool), {})
        strategy = (shard.get("spec") or {}).get("placementStrategy") or {}
        groups = tuple(_in(pool, objects.groups))
        nodes = tuple(self._remember(self._nodes, node, read_node) for node in _in(pool, objects.nodes))
        here = {node.name for node in nodes}
        keys = {f"{g['metadata']['namespace']}/{g['metadata']['name']}" for g in groups}
        return Snapshot(
            nodes=nodes,
            queues=tuple(read_queue(queue) for queue in _in(pool, objects.queues)),
            groups=tuple(self.groups(groups, objects.classes)),
            pods=tuple(self._present(objects, underway, keys, here, now)),
            node_pool=pool or names.DEFAULT_NODE_POOL,
            gpu_strategy=_strategy(strategy.get("gpu")),
            cpu_strategy=_strategy(strategy.get("cpu")),
            k_value=float((shard.get("spec") or {}).get("kValue", 1.0)),
        )

    def pod(self, obj: Object) -> Pod:
        """One pod, without regard to what is underway."""
        return self._remember(self._pods, obj, self._read_pod)

    def groups(self, groups: Iterable[Object], classes: Iterable[Object]) -> Iterable[PodGroup]:
        """PodGroups with the priorities that their classes have now."""
        values = priorities(classes)
        if values != self._classes:
            self._groups.clear()
            self._classes = values
        return (self._remember(self._groups, group, lambda obj: read_group(obj, values)) for group in groups)

    def forget(self, objects: Objects) -> None:
        """Drop what was read of objects that are gone."""
        memories: tuple[tuple[dict[str, Any], tuple[Object, ...]], ...] = (
            (self._pods, objects.pods),
            (self._nodes, objects.nodes),
            (self._groups, objects.groups),
        )
        for memory, present in memories:
            if len(memory) > 2 * len(present) + 100:
                uids = {obj["metadata"]["uid"] for obj in present}
                for uid in [uid for uid in memory if uid not in uids]:
                    del memory[uid]

    def _present(self, objects: Objects, underway: Underway, keys: set[str], here: set[str], now: float) -> Iterable[Pod]:
        """Pods that belong to a group of this pool or take room on one of its nodes."""
        requested = {
            (r["metadata"]["namespace"], (r.get("spec") or {}).get("podName")): (r.get("spec") or {}).get("selectedNode", "")
            for r in objects.requests
        }
        for obj in objects.pods:
            status = obj.get("status") or {}
            if status.get("phase") in ("Succeeded", "Failed"):
                continue
            pod = self.pod(obj)
            node = pod.node or underway.binding.get(pod.uid) or requested.get((pod.namespace, pod.name), "")
            group = pod.group if pod.group in keys else ""
            if not group and node not in here:
                continue
            state = _state(obj, node, pod.uid in underway.evicted, now)
            if pod.state is state and pod.node == node and pod.group == group:
                yield pod
            else:
                yield dataclasses.replace(pod, state=state, node=node, group=group)

    def _read_pod(self, obj: Object) -> Pod:
        meta, spec = obj["metadata"], obj["spec"]
        annotations, labels = meta.get("annotations") or {}, meta.get("labels") or {}
        ours = spec.get("schedulerName") == self._scheduler
        name = annotations.get(names.POD_GROUP_ANNOTATION) if ours else None
        request, extra = requests(spec)
        return Pod(
            uid=meta["uid"],
            namespace=meta["namespace"],
            name=meta["name"],
            group=f"{meta['namespace']}/{name}" if name else "",
            state=_state(obj, spec.get("nodeName", ""), False, 0.0),
            node=spec.get("nodeName", ""),
            request=request,
            extra=extra,
            constraints=constraints(spec),
            created=seconds(meta.get("creationTimestamp")),
            order=_integer(labels.get(names.TASK_ORDER_LABEL)),
            unsupported=_unsupported(obj, extra),
        )

    def _remember(self, memory: dict[str, tuple[str, T]], obj: Object, make: Callable[[Object], T]) -> T:
        uid, version = obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
        known = memory.get(uid)
        if known is None or known[0] != version:
            known = memory[uid] = (version, make(obj))
        return known[1]


# -- single objects -----------------------------------------------------------------------------------------------------


def read_node(obj: Object) -> Node:
    """A node. Pressure and readiness conditions keep pods away."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    allocatable = {name: quantity.parse(value) for name, value in (status.get("allocatable") or {}).items()}
    conditions = {c["type"]: c["status"] for c in status.get("conditions") or ()}
    problems = [p for p in _PRESSURES if conditions.get(p, "False") != "False"]
    if conditions.get("Ready") != "True":
        problems.insert(0, "NotReady")
    known = {names.GPU_RESOURCE, "cpu", "memory", "pods"}
    return Node(
        name=obj["metadata"]["name"],
        allocatable=Amounts(
            allocatable.get(names.GPU_RESOURCE, 0.0), allocatable.get("cpu", 0.0) * 1000, allocatable.get("memory", 0.0)
        ),
        pods=int(allocatable.get("pods", 110)),
        labels=obj["metadata"].get("labels") or {},
        taints=tuple(Taint(t["key"], t.get("effect", ""), t.get("value", "")) for t in spec.get("taints") or ()),
        unschedulable=bool(spec.get("unschedulable")),
        problems=tuple(problems),
        extra={name: amount for name, amount in allocatable.items() if name not in known},
    )


def read_queue(obj: Object) -> Queue:
    """A queue. What it does not say is zero."""
    spec = obj.get("spec") or {}
    resources = spec.get("resources") or {}

    def figures(field: str) -> Amounts:
        gpu, cpu, memory = (float((resources.get(r) or {}).get(field) or 0) for r in ("gpu", "cpu", "memory"))
        return Amounts(gpu, cpu, memory if memory == -1 or field == "overQuotaWeight" else max(-1.0, memory * _BYTES_PER_MB))

    priority = spec.get("priority")
    return Queue(
        name=obj["metadata"]["name"],
        parent=spec.get("parentQueue") or "",
        priority=names.DEFAULT_QUEUE_PRIORITY if priority is None else int(priority),
        deserved=figures("quota"),
        limit=figures("limit"),
        weight=figures("overQuotaWeight"),
        created=seconds(obj["metadata"].get("creationTimestamp")),
    )


def read_group(obj: Object, classes: Mapping[str, int]) -> PodGroup:
    """A PodGroup. ``classes`` are PriorityClass values by name, the global default under the empty name."""
    spec = obj.get("spec") or {}
    name = spec.get("priorityClassName") or ""
    priority = classes.get(name, classes.get("", names.DEFAULT_POD_GROUP_PRIORITY))
    said = spec.get("preemptibility")
    return PodGroup(
        namespace=obj["metadata"]["namespace"],
        name=obj["metadata"]["name"],
        queue=spec.get("queue") or "",
        min_member=int(spec.get("minMember") or 1),
        priority=priority,
        preemptible=said == "preemptible" if said else priority < names.NON_PREEMPTIBLE_FROM,
        created=seconds(obj["metadata"].get("creationTimestamp")),
        unsupported=_group_unsupported(spec),
    )


def priorities(classes: Iterable[Object]) -> dict[str, int]:
    """PriorityClass values by name; the global default also under the empty name."""
    result = {}
    for obj in classes:
        result[obj["metadata"]["name"]] = int(obj.get("value", 0))
        if obj.get("globalDefault"):
            result[""] = int(obj.get("value", 0))
    return result


def requests(spec: Mapping[str, Any]) -> tuple[Amounts, tuple[tuple[str, float], ...]]:
    """What a pod needs of a node: the larger of its containers together and of each init step, plus overhead (KEP-753)."""
    running: dict[str, float] = {}
    peak: dict[str, float] = {}
    for container in spec.get("initContainers") or ():
        wants = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(running, wants)
            wants = {}
        for name in {*running, *wants}:
            peak[name] = max(peak.get(name, 0.0), running.get(name, 0.0) + wants.get(name, 0.0))
    for container in spec.get("containers") or ():
        _add(running, _requests(container))
    whole = {name: max(running.get(name, 0.0), peak.get(name, 0.0)) for name in {*running, *peak}}
    _add(whole, {name: quantity.parse(value) for name, value in (spec.get("overhead") or {}).items()})
    amounts = Amounts(whole.pop(names.GPU_RESOURCE, 0.0), round(whole.pop("cpu", 0.0) * 1000), whole.pop("memory", 0.0))
    return amounts, tuple(sorted((name, amount) for name, amount in whole.items() if amount))


def constraints(spec: Mapping[str, Any]) -> Constraints:
    """Node selector, required node affinity and tolerations of a pod."""
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None
    if affinity is not None:
        terms = tuple(
            NodeTerm(_requirements(term.get("matchExpressions")), _requirements(term.get("matchFields")))
            for term in affinity.get("nodeSelectorTerms") or ()
        )
    return Constraints(
        selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        affinity=terms,
        tolerations=tuple(
            Toleration(t.get("key", ""), t.get("operator") or "Equal", t.get("value", ""), t.get("effect", ""))
            for t in spec.get("tolerations") or ()
        ),
    )


def seconds(timestamp: str | None) -> float:
    """RFC 3339 as seconds since the epoch, 0 for none."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0


# -- details ------------------------------------------------------------------------------------------------------------


def _in(pool: str, objects: Iterable[Object]) -> Iterable[Object]:
    return (obj for obj in objects if (obj["metadata"].get("labels") or {}).get(names.NODE_POOL_LABEL, "") == pool)


def _strategy(value: Any) -> Strategy:
    return "spread" if value == "spread" else "binpack"


def _state(obj: Object, node: str, evicted: bool, now: float) -> PodState:
    status, spec = obj.get("status") or {}, obj["spec"]
    deleted = obj["metadata"].get("deletionTimestamp")
    running = status.get("phase") in ("Running", "Unknown")
    if deleted:
        return PodState.STUCK if running and now - seconds(deleted) > STUCK_AFTER_S else PodState.RELEASING
    if evicted:
        return PodState.RELEASING
    if running:
        return PodState.RUNNING
    if spec.get("nodeName"):
        return PodState.BOUND
    if node:
        return PodState.BINDING
    return PodState.GATED if spec.get("schedulingGates") else PodState.PENDING


def _requests(container: Mapping[str, Any]) -> dict[str, float]:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity.parse(value) for name, value in wanted.items()}


def _add(total: dict[str, float], more: Mapping[str, float]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0.0) + amount


def _requirements(expressions: Any) -> tuple[Requirement, ...]:
    return tuple(Requirement(e["key"], e["operator"], tuple(e.get("values") or ())) for e in expressions or ())


def _integer(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _unsupported(obj: Object, extra: tuple[tuple[str, float], ...]) -> str:
    """What the pod asks for that the model does not know, so that it waits and says so instead of being placed wrongly."""
    spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
    affinity = spec.get("affinity") or {}
    hard = "requiredDuringSchedulingIgnoredDuringExecution"
    if any(key in annotations for key in _FRACTIONS):
        return "GPU fractions"
    if any(name.startswith(names.MIG_RESOURCE_PREFIX) for name, _ in extra):
        return "MIG devices"
    if spec.get("resourceClaims"):
        return "resource claims"
    if any((affinity.get(kind) or {}).get(hard) for kind in ("podAffinity", "podAntiAffinity")):
        return "required pod affinity"
    if any(c.get("whenUnsatisfiable") == "DoNotSchedule" for c in spec.get("topologySpreadConstraints") or ()):
        return "topology spread constraints"
    if any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in spec.get("volumes") or ()):
        return "persistent volume claims"
    return ""


def _group_unsupported(spec: Mapping[str, Any]) -> str:
    if spec.get("subGroups") or spec.get("minSubGroup"):
        return "subgroups"
    if (spec.get("topologyConstraint") or {}).get("requiredTopologyLevel"):
        return "required topology levels"
    if spec.get("preemptionDelay"):
        return "preemption delays"
    return ""

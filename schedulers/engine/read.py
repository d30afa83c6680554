"""Cluster objects as the values that the policy decides on. Pure, except for remembering what was read before.

Sources: KAI pkg/scheduler/cache/cluster_info/cluster_info.go, api/pod_info (getTaskStatus), pkg/common/podgroup.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from base.kube import Object
from schedulers.engine import quantity
from schedulers.engine.read_groups import priorities, read_group, read_queue, read_settings, read_topology, seconds
from schedulers.engine.read_pods import constraints, gpu_groups, integer, requests, reserves, share, unsupported
from schedulers.kai import names
from schedulers.policy import Amounts, Decisions, Node, Pod, PodGroup, PodState, Snapshot, Taint

T = TypeVar("T")

#: A pod that is still there this long after its deletion was due is not counted on (--stuck-in-releasing-threshold).
STUCK_AFTER_S = 120.0
#: For how long the last eviction of a group is remembered: no preemption delay is longer than that.
_REMEMBER_S = 86_400.0
_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable")


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
    #: None where nobody looks at topologies: groups that need one are then unsupported.
    topologies: tuple[Object, ...] | None = None


@dataclass(frozen=True, slots=True)
class Underway:
    """What was decided but may not show in the watches yet, by pod uid."""

    binding: Mapping[str, str]
    evicted: frozenset[str] = frozenset()


class Reader:
    """Reads objects into snapshots. An object that did not change is not parsed again."""

    def __init__(self, scheduler_name: str = names.SCHEDULER_NAME, *, shares: bool = True) -> None:
        """``shares`` False marks pods with parts of GPUs as unsupported, for those who cannot give them any."""
        self._scheduler = scheduler_name
        self._shares = shares
        self._with_topologies = False
        #: What no annotation says: since when groups are stale, and when they were last evicted.
        self._stale: dict[str, Mapping[str, float]] = {}
        self._evicted: dict[str, float] = {}
        self._pods: dict[str, tuple[str, Pod]] = {}
        self._nodes: dict[str, tuple[str, Node]] = {}
        self._groups: dict[str, tuple[str, PodGroup]] = {}
        self._classes: dict[str, int] = {}

    def snapshot(self, objects: Objects, underway: Underway, pool: str, now: float) -> Snapshot:
        """The snapshot of one node pool ("" is the pool of everything without the label). ``now`` in seconds since the epoch."""
        shard = next((s for s in objects.shards if (s.get("spec") or {}).get("partitionLabelValue", "") == pool), {})
        if (objects.topologies is not None) is not self._with_topologies:
            self._with_topologies = objects.topologies is not None
            self._groups.clear()
        groups = tuple(_in(pool, objects.groups))
        nodes = tuple(self._remember(self._nodes, node, read_node) for node in _in(pool, objects.nodes))
        here = {node.name for node in nodes}
        keys = {f"{g['metadata']['namespace']}/{g['metadata']['name']}" for g in groups}
        return Snapshot(
            nodes=nodes,
            queues=tuple(read_queue(queue) for queue in _in(pool, objects.queues)),
            groups=self._in_life(pool, tuple(self.groups(groups, objects.classes)), objects.pods),
            pods=tuple(self._present(objects, underway, keys, here, now)),
            topologies=tuple(read_topology(topology) for topology in objects.topologies or ()),
            node_pool=pool or names.DEFAULT_NODE_POOL,
            settings=read_settings(shard),
            now=now,
        )

    def note(self, pool: str, decided: Decisions, now: float) -> None:
        """Remember of a cycle of one pool what the next one has to know and no annotation says."""
        self._stale[pool] = decided.stale
        alive = {group for group, _ in self._evicted.items() if now - self._evicted[group] < _REMEMBER_S}
        self._evicted = {group: self._evicted[group] for group in alive}
        for eviction in decided.evictions:
            self._evicted[eviction.group] = now

    def _in_life(self, pool: str, groups: tuple[PodGroup, ...], pods: Iterable[Object]) -> tuple[PodGroup, ...]:
        """Groups with what their pods tell: how many ended well, and when enough of them had started."""
        ended: dict[str, int] = {}
        starts: dict[str, list[float]] = {}
        for obj in pods:
            status = obj.get("status") or {}
            if status.get("phase") == "Succeeded":
                group = self.pod(obj).group
                ended[group] = ended.get(group, 0) + 1
            elif status.get("startTime"):
                starts.setdefault(self.pod(obj).group, []).append(seconds(status["startTime"]))
        stale = self._stale.get(pool, {})
        return tuple(self._alive(group, ended.get(group.key, 0), starts.get(group.key, []), stale) for group in groups)

    def _alive(self, group: PodGroup, succeeded: int, starts: list[float], stale_before: Mapping[str, float]) -> PodGroup:
        enough = sorted(starts)[max(1, group.min_member) - 1 :]
        started = group.started or (enough[0] if enough else None)
        stale = group.stale_since or stale_before.get(group.key)
        evicted = max(group.evicted or 0.0, self._evicted.get(group.key, 0.0)) or None
        if (succeeded, started, stale, evicted) == (group.succeeded, group.started, group.stale_since, group.evicted):
            return group
        return dataclasses.replace(group, succeeded=succeeded, started=started, stale_since=stale, evicted=evicted)

    def pod(self, obj: Object) -> Pod:
        """One pod, without regard to what is underway."""
        return self._remember(self._pods, obj, self._read_pod)

    def groups(self, groups: Iterable[Object], classes: Iterable[Object]) -> Iterable[PodGroup]:
        """PodGroups with the priorities that their classes have now."""
        values = priorities(classes)
        if values != self._classes:
            self._groups.clear()
            self._classes = values
        return (
            self._remember(self._groups, group, lambda obj: read_group(obj, values, topologies=self._with_topologies))
            for group in groups
        )

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
        if reserves(obj):
            request = request._replace(gpu=0.0)
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
            order=integer(labels.get(names.TASK_ORDER_LABEL)),
            unsupported=unsupported(obj, shares=self._shares),
            subgroup=labels.get(names.SUBGROUP_LABEL, ""),
            share=share(obj) if self._shares else None,
            gpu_groups=gpu_groups(obj) if self._shares else (),
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


# -- details ------------------------------------------------------------------------------------------------------------


def _in(pool: str, objects: Iterable[Object]) -> Iterable[Object]:
    return (obj for obj in objects if (obj["metadata"].get("labels") or {}).get(names.NODE_POOL_LABEL, "") == pool)


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

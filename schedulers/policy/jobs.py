"""A group inside a cycle, and where its pods are."""

from __future__ import annotations

from enum import IntEnum

from schedulers.policy.gang import PodSet, build
from schedulers.policy.workload import PodGroup, PodState


class At(IntEnum):
    """Where a pod is inside a cycle."""

    PENDING = 0
    GATED = 1
    HELD = 2  # binding, bound or running when the cycle began
    ALLOCATED = 3  # to be bound by this cycle
    PIPELINED = 4  # placed onto resources that are being released
    EVICTED = 5  # a victim of this cycle
    LEAVING = 6  # was being deleted when the cycle began


START = {
    PodState.PENDING: At.PENDING,
    PodState.GATED: At.GATED,
    PodState.BINDING: At.HELD,
    PodState.BOUND: At.HELD,
    PodState.RUNNING: At.HELD,
    PodState.RELEASING: At.LEAVING,
    PodState.STUCK: At.LEAVING,
}


class Job:
    """A group inside a cycle. ``queue`` is -1 where its queue does not exist or has queues below it. Internal and mutable."""

    __slots__ = (
        "active",
        "alive",
        "gated",
        "group",
        "key",
        "path",
        "placed",
        "pods",
        "queue",
        "rank",
        "root",
        "sets",
        "simple",
        "strays",
    )

    def __init__(self, group: PodGroup, queue: int, path: tuple[int, ...]) -> None:
        self.group = group
        self.key = group.key
        self.queue = queue
        self.path = path
        self.root = build(group)
        #: Leaves of the tree by name; ``simple`` groups have one leaf and no topology.
        self.sets = {leaf.name: leaf for leaf in self.root.leaves()}
        self.simple = not group.subgroups and group.topology is None
        self.pods: list[int] = []
        #: Pods that name a subgroup which does not exist.
        self.strays: list[int] = []
        self.active = 0
        self.alive = 0
        self.gated = 0
        #: Pods that this cycle placed.
        self.placed = 0
        self.rank = (group.created, self.key)

    @property
    def ready(self) -> bool:
        """Enough pods exist to satisfy the minimum."""
        return self.root.ready

    @property
    def needed(self) -> int:
        """Pods that the whole group needs at least, when none of it is optional."""
        return sum(leaf.minimum for leaf in self.sets.values())

    @property
    def elastic(self) -> bool:
        """More pods than the minimum, in one leaf at least (PodGroupInfo.IsElastic)."""
        return any(leaf.minimum < len(leaf.pods) for leaf in self.sets.values())

    def fullness(self, held: dict[PodSet, list[int]] | None = None) -> int:
        """0 below the minimum of any leaf, 1 exactly at all of them, 2 above one (plugins/elastic)."""
        result = 1
        for leaf in self.sets.values():
            count = leaf.active if held is None else len(held[leaf])
            if count < leaf.minimum:
                return 0
            if count > leaf.minimum:
                result = 2
        return result

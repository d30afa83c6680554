"""The parts of a workload: which pods go together, what is missing to the minimum, and what can be spared.

A group is a tree: inner parts need a number of their children (``min_subgroup``), leaves a number of pods (``min_member``).
A group without subgroups is a root with one leaf. Sources: KAI api/podgroup_info/{allocation_info,eviction_info}.go,
subgroup_info/*, plugins/subgrouporder; reference 2.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from schedulers.policy.workload import PodGroup, SubGroup, TopologyConstraint

#: Name of the only leaf of a group without subgroups (podgroup_info.DefaultSubGroup).
DEFAULT = "default"


class PodSet:
    """A leaf with its pods in task order, and how many of them are in which state. Internal and mutable."""

    __slots__ = ("active", "alive", "first", "gated", "minimum", "name", "pods", "topology", "used")

    def __init__(self, name: str, minimum: int, topology: TopologyConstraint | None = None) -> None:
        self.name = name
        self.minimum = minimum
        self.topology = topology
        self.pods: list[int] = []
        #: Pods that run, are being bound, or were placed by this cycle.
        self.active = 0
        self.alive = 0
        self.gated = 0
        #: Pods that hold resources, also those that are being deleted.
        self.used = 0
        #: No pod before this place waits; saves looking at all of a large set for each of its pods.
        self.first = 0

    @property
    def satisfied(self) -> bool:
        return self.active >= self.minimum

    @property
    def ready(self) -> bool:
        """Enough pods exist to satisfy the minimum (PodSet.IsReadyForScheduling)."""
        return self.alive - self.gated >= self.minimum


class SetOfSets:
    """An inner part."""

    __slots__ = ("members", "minimum", "name", "topology")

    def __init__(self, name: str, minimum: int | None, topology: TopologyConstraint | None) -> None:
        self.name = name
        self.members: list[PodSet | SetOfSets] = []
        self.topology = topology
        self.minimum = minimum

    @property
    def needed(self) -> int:
        return len(self.members) if self.minimum is None else self.minimum

    @property
    def active(self) -> int:
        """Children that have what they need."""
        return sum(member.satisfied for member in self.members)

    @property
    def satisfied(self) -> bool:
        return self.active >= self.needed

    @property
    def ready(self) -> bool:
        """Enough children are ready."""
        return sum(member.ready for member in self.members) >= self.needed

    def leaves(self) -> Iterator[PodSet]:
        for member in self.members:
            if isinstance(member, PodSet):
                yield member
            else:
                yield from member.leaves()


Part = PodSet | SetOfSets


def build(group: PodGroup) -> SetOfSets:
    """The tree of a group. A subgroup whose chain of parents does not end at the group itself is left out with its pods."""
    root = SetOfSets("", group.min_subgroup if group.subgroups else None, group.topology)
    if not group.subgroups:
        root.members.append(PodSet(DEFAULT, max(1, group.min_member)))
        return root
    children: dict[str, list[SubGroup]] = {}
    for one in group.subgroups:
        children.setdefault(one.parent, []).append(one)
    _grow(root, "", children)
    return root


def _grow(parent: SetOfSets, name: str, children: dict[str, list[SubGroup]]) -> None:
    for one in children.get(name, ()):
        if one.name in children:
            inner = SetOfSets(one.name, one.min_subgroup, one.topology)
            parent.members.append(inner)
            _grow(inner, one.name, children)
        else:
            parent.members.append(PodSet(one.name, max(0, one.min_member), one.topology))


Count = Callable[[PodSet], int]


def rank(part: Part, count: Count | None = None) -> tuple[int, float, int]:
    """Smaller is served first: what lacks something; then required before optional, and the less above its need the sooner
    (plugins/subgrouporder).
    """
    have, need = _have(part, count), part.minimum if isinstance(part, PodSet) else part.needed
    if have < need:
        return (0, 0.0, 0)
    if need == 0:
        return (2, float(have), 0)
    return (1, have / need, 0)


def _have(part: Part, count: Count | None) -> int:
    if isinstance(part, PodSet):
        return part.active if count is None else count(part)
    if count is None:
        return part.active
    return sum(_enough(member, count) for member in part.members)


def _enough(part: Part, count: Count) -> bool:
    return _have(part, count) >= (part.minimum if isinstance(part, PodSet) else part.needed)


def next_pods(part: SetOfSets, waiting: Callable[[PodSet, int], list[int]]) -> list[int]:
    """Pods to place next: all that is missing to the minimum, or where nothing is missing the next step of one child.

    ``waiting`` gives the first pods of a leaf that wait, at most as many as it is asked for (GetTasksToAllocate). Where KAI
    takes the first children that it finds, a child that has not got enough pods is passed over here.
    """
    need = part.needed
    members = sorted(part.members, key=lambda member: (*rank(member)[:2], not member.ready))
    if part.active < need:
        found: list[int] = []
        for member in members[:need]:
            if not member.satisfied:
                found += _missing(member, waiting)
        return found
    for member in members:
        step = _missing(member, waiting)
        if step:
            return step
    return []


def _missing(part: Part, waiting: Callable[[PodSet, int], list[int]]) -> list[int]:
    if isinstance(part, SetOfSets):
        return next_pods(part, waiting)
    pods = waiting(part, max(1, part.minimum - part.active))
    return [] if len(pods) < part.minimum - part.active else pods


#: What can go together: the pods, the leaves that it empties, and whether the group as a whole ends with it.
Cut = tuple[list[int], tuple[PodSet, ...], bool]


def next_cut(root: SetOfSets, held: dict[PodSet, list[int]]) -> Cut:
    """What the group gives up next, out of ``held`` (last in task order first), which is left as it is (GetTasksToEvict).

    One pod above a leaf's minimum, else a child above its parent's minimum as a whole, else everything.
    """
    spare = _spare(root, held)
    if spare is not None:
        pods, ends = spare
        return pods, ends, False
    return [pod for pods in held.values() for pod in pods], tuple(held), True


def _spare(part: SetOfSets, held: dict[PodSet, list[int]]) -> tuple[list[int], tuple[PodSet, ...]] | None:
    def count(leaf: PodSet) -> int:
        return len(held[leaf])

    have = _have(part, count)
    if have == 0:
        return None
    members = sorted(part.members, key=lambda member: rank(member, count), reverse=True)
    for member in members:
        if isinstance(member, SetOfSets):
            found = _spare(member, held)
            if found is not None:
                return found
        elif count(member) > member.minimum:
            left = held[member]
            return [left[0]], (member,) if len(left) == 1 else ()
    if part.needed < have:
        for member in members:
            leaves = (member,) if isinstance(member, PodSet) else tuple(member.leaves())
            pods = [pod for leaf in leaves for pod in held[leaf]]
            if pods:
                return pods, leaves
    return None

"""The working state of one cycle: what is free on nodes, what queues hold, where pods are. Internal and mutable.

Every change has an exact inverse, so that a search tries things and takes them back. Semantics of idle, releasing and
pipelined resources: KAI pkg/scheduler/api/node_info (addTaskResources).
"""

from __future__ import annotations

from enum import IntEnum

from schedulers.policy.constraints import refusals
from schedulers.policy.queues import Tree, allocatable, capacity, shares, tree
from schedulers.policy.resources import ZERO, Amounts
from schedulers.policy.snapshot import Constraints, Node, Pod, PodGroup, PodState, Snapshot


class At(IntEnum):
    """Where a pod is inside a cycle."""

    PENDING = 0
    GATED = 1
    HELD = 2  # binding, bound or running when the cycle began
    ALLOCATED = 3  # to be bound by this cycle
    PIPELINED = 4  # placed onto resources that are being released
    EVICTED = 5  # a victim of this cycle
    LEAVING = 6  # was being deleted when the cycle began


_START = {
    PodState.PENDING: At.PENDING,
    PodState.GATED: At.GATED,
    PodState.BINDING: At.HELD,
    PodState.BOUND: At.HELD,
    PodState.RUNNING: At.HELD,
    PodState.RELEASING: At.LEAVING,
    PodState.STUCK: At.LEAVING,
}

#: What a pod asks of a node: GPUs, millicores, bytes, pod slots, then other resources.
Shape = tuple[Amounts, tuple[tuple[str, float], ...]]


class Job:
    """A group inside a cycle. ``queue`` is -1 where its queue does not exist or has queues below it."""

    __slots__ = ("active", "alive", "first", "gated", "group", "key", "path", "placed", "pods", "queue", "rank")

    def __init__(self, group: PodGroup, queue: int, path: tuple[int, ...]) -> None:
        self.group = group
        self.key = group.key
        self.queue = queue
        self.path = path
        self.pods: list[int] = []
        self.active = 0
        self.alive = 0
        self.gated = 0
        #: Pods that this cycle placed.
        self.placed = 0
        #: No pod before this place in ``pods`` waits; saves looking at all of a large group for each of its pods.
        self.first = 0
        self.rank = (group.created, self.key)

    @property
    def ready(self) -> bool:
        """Enough pods exist to satisfy the minimum (PodSet.IsReadyForScheduling)."""
        return self.alive - self.gated >= self.group.min_member


class Session:
    """Indexes of a snapshot and the state that actions change."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.nodes: tuple[Node, ...] = tuple(sorted(snapshot.nodes, key=lambda node: node.name))
        self.node_index = {node.name: position for position, node in enumerate(self.nodes)}
        self.tree: Tree = tree(snapshot.queues)
        self.total = capacity(snapshot.nodes, snapshot.pods)
        figures = shares(self.tree, snapshot.groups, snapshot.pods, self.total, snapshot.k_value)
        self.figures = figures
        self.fair = [figure.fair_share for figure in figures]
        self.requested = [figure.requested for figure in figures]
        #: Up to where a queue's use is its own.
        self.own = [allocatable(figure.queue, figure.fair_share) for figure in figures]
        self.allocated = [list(figure.allocated) for figure in figures]
        self.non_preemptible = [list(figure.allocated_non_preemptible) for figure in figures]
        #: Bumped whenever a queue's allocation changes, so that orderings know what to compute again.
        self.version = [0] * len(figures)
        self.idle = [[*node.allocatable, float(node.pods)] for node in self.nodes]
        self.releasing = [[0.0, 0.0, 0.0, 0.0] for _ in self.nodes]
        self.idle_extra = [dict(node.extra) for node in self.nodes]
        self.releasing_extra: list[dict[str, float]] = [{} for _ in self.nodes]
        #: Nodes in the order in which they changed; searches remember how far they have read.
        self.journal: list[int] = []
        self.jobs: dict[str, Job] = {}
        #: Groups of each usable queue.
        self.members: dict[int, list[Job]] = {}
        for group in snapshot.groups:
            queue = self.tree.index.get(group.queue, -1)
            if queue >= 0 and not self.tree.leaf(queue):
                queue = -1
            job = self.jobs[group.key] = Job(group, queue, self.tree.paths[queue] if queue >= 0 else ())
            if queue >= 0:
                self.members.setdefault(queue, []).append(job)
        self.pods: tuple[Pod, ...] = tuple(sorted(snapshot.pods, key=_pod_order))
        self.at = [At.PENDING] * len(self.pods)
        self.on = [-1] * len(self.pods)
        self.shapes: list[Shape] = []
        self.shape_of = self._intern_shapes()
        self._rooms: dict[tuple[int, Constraints], Room] = {}
        self._sites: dict[Constraints, tuple[list[int], dict[str, int]]] = {}
        for index, pod in enumerate(self.pods):
            self._enter(index, pod)

    def _intern_shapes(self) -> list[int]:
        known: dict[Shape, int] = {}
        result = []
        for pod in self.pods:
            shape = (pod.request, pod.extra)
            number = known.get(shape)
            if number is None:
                number = known[shape] = len(self.shapes)
                self.shapes.append(shape)
            result.append(number)
        return result

    def _enter(self, index: int, pod: Pod) -> None:
        state = _START[pod.state]
        node = self.node_index.get(pod.node, -1)
        self.at[index] = state
        self.on[index] = node if state in (At.HELD, At.LEAVING) else -1
        if self.on[index] >= 0:
            self._move(self.idle[node], self.idle_extra[node], index, -1.0)
            if pod.state is PodState.RELEASING:
                self._move(self.releasing[node], self.releasing_extra[node], index, 1.0)
        job = self.jobs.get(pod.group)
        if job is not None:
            job.pods.append(index)
            job.active += state is At.HELD
            job.gated += state is At.GATED
            job.alive += state in (At.PENDING, At.GATED, At.HELD)

    # -- sites --------------------------------------------------------------------------------------------------

    def site(self, constraints: Constraints) -> tuple[list[int], dict[str, int]]:
        """Nodes that may take pods of these constraints, and how many others refuse for which reason. Cached."""
        found = self._sites.get(constraints)
        if found is None:
            may: list[int] = []
            counts: dict[str, int] = {}
            for index, node in enumerate(self.nodes):
                reasons = refusals(node, constraints)
                if not reasons:
                    may.append(index)
                for reason in reasons:
                    counts[reason] = counts.get(reason, 0) + 1
            found = self._sites[constraints] = (may, counts)
        return found

    # -- room ---------------------------------------------------------------------------------------------------

    def fits(self, shape: Shape, node: int) -> bool:
        """Room for a pod of this shape among what is idle or being released."""
        idle, releasing, want = self.idle[node], self.releasing[node], shape[0]
        if (
            idle[0] + releasing[0] < want[0]
            or idle[1] + releasing[1] < want[1]
            or idle[2] + releasing[2] < want[2]
            or idle[3] + releasing[3] < 1
        ):
            return False
        extra, soon = self.idle_extra[node], self.releasing_extra[node]
        return all(extra.get(name, 0.0) + soon.get(name, 0.0) >= amount for name, amount in shape[1])

    def fits_now(self, shape: Shape, node: int) -> bool:
        """Room among what is idle alone. Only meaningful where :meth:`fits` holds too: idle room may be promised already."""
        idle, want = self.idle[node], shape[0]
        if idle[0] < want[0] or idle[1] < want[1] or idle[2] < want[2] or idle[3] < 1:
            return False
        extra = self.idle_extra[node]
        return all(extra.get(name, 0.0) >= amount for name, amount in shape[1])

    def room(self, pod: int) -> Room:
        """How many pods just like this one the nodes could take. Cached."""
        kind = (self.shape_of[pod], self.pods[pod].constraints)
        found = self._rooms.get(kind)
        if found is None:
            found = self._rooms[kind] = Room(self, self.shapes[kind[0]], self.site(kind[1])[0])
        return found

    # -- changes ------------------------------------------------------------------------------------------------

    def place(self, pod: int, node: int, *, now: bool) -> None:
        """Put a pending (or evicted) pod onto a node: bound in this cycle, or pipelined onto what is being released."""
        if now:
            self._move(self.idle[node], self.idle_extra[node], pod, -1.0)
        else:
            self._move(self.releasing[node], self.releasing_extra[node], pod, -1.0)
        self.at[pod] = At.ALLOCATED if now else At.PIPELINED
        self.on[pod] = node
        self.journal.append(node)
        self.jobs[self.pods[pod].group].placed += 1
        self._charge(pod, 1.0)

    def unplace(self, pod: int, back: At = At.PENDING, node: int = -1) -> None:
        """The inverse of :meth:`place`; ``back`` and ``node`` are where the pod was before."""
        held = self.on[pod]
        if self.at[pod] is At.ALLOCATED:
            self._move(self.idle[held], self.idle_extra[held], pod, 1.0)
        else:
            self._move(self.releasing[held], self.releasing_extra[held], pod, 1.0)
        self.at[pod] = back
        self.on[pod] = node
        self.journal.append(held)
        job = self.jobs[self.pods[pod].group]
        job.first = 0
        job.placed -= 1
        self._charge(pod, -1.0)

    def defer(self, pod: int) -> None:
        """Turn a placement of this cycle into a pipelined one (ConvertAllAllocatedToPipelined)."""
        node = self.on[pod]
        self._move(self.idle[node], self.idle_extra[node], pod, 1.0)
        self._move(self.releasing[node], self.releasing_extra[node], pod, -1.0)
        self.at[pod] = At.PIPELINED
        self.journal.append(node)

    def evict(self, pod: int) -> None:
        """Make a held pod a victim: its resources are being released, its queue no longer holds them."""
        node = self.on[pod]
        self.at[pod] = At.EVICTED
        if node >= 0:
            self._move(self.releasing[node], self.releasing_extra[node], pod, 1.0)
            self.journal.append(node)
        self._charge(pod, -1.0)

    def unevict(self, pod: int) -> None:
        """The inverse of :meth:`evict`."""
        node = self.on[pod]
        self.at[pod] = At.HELD
        if node >= 0:
            self._move(self.releasing[node], self.releasing_extra[node], pod, -1.0)
            self.journal.append(node)
        self._charge(pod, 1.0)

    def _move(self, room: list[float], extra: dict[str, float], pod: int, sign: float) -> None:
        want, more = self.shapes[self.shape_of[pod]]
        room[0] += sign * want[0]
        room[1] += sign * want[1]
        room[2] += sign * want[2]
        room[3] += sign
        for name, amount in more:
            extra[name] = extra.get(name, 0.0) + sign * amount

    def _charge(self, pod: int, sign: float) -> None:
        job = self.jobs[self.pods[pod].group]
        job.active += int(sign)
        want = self.pods[pod].request
        for queue in job.path:
            self.version[queue] += 1
            held = self.allocated[queue]
            held[0] += sign * want[0]
            held[1] += sign * want[1]
            held[2] += sign * want[2]
            if not job.group.preemptible:
                held = self.non_preemptible[queue]
                held[0] += sign * want[0]
                held[1] += sign * want[1]
                held[2] += sign * want[2]

    # -- questions ----------------------------------------------------------------------------------------------

    def to_place(self, job: Job, *, evicted: bool = False) -> list[int]:
        """Pods to place next, in task order: what is missing to the minimum, then one at a time (GetTasksToAllocate).

        With ``evicted`` the victims of this cycle count as waiting again.
        """
        enough = max(1, job.group.min_member - job.active)
        at, pods = self.at, job.pods
        if evicted:
            return [pod for pod in pods if at[pod] is At.PENDING or at[pod] is At.EVICTED][:enough]
        while job.first < len(pods) and at[pods[job.first]] is not At.PENDING:
            job.first += 1
        found: list[int] = []
        for place in range(job.first, len(pods)):
            if at[pods[place]] is At.PENDING:
                found.append(pods[place])
                if len(found) == enough:
                    break
        return found

    def request(self, pods: list[int]) -> Amounts:
        """Sum of what pods ask for."""
        gpu = cpu = memory = 0.0
        for pod in pods:
            want = self.pods[pod].request
            gpu += want[0]
            cpu += want[1]
            memory += want[2]
        return Amounts(gpu, cpu, memory) if pods else ZERO


class Room:
    """Counts pods of one kind that fit, node by node, and follows the session's journal."""

    def __init__(self, session: Session, shape: Shape, nodes: list[int]) -> None:
        self._session = session
        self._shape = shape
        self._counts = {node: self._count(node) for node in nodes}
        self._sum = sum(self._counts.values())
        self._read = len(session.journal)

    def count(self) -> int:
        """Pods that fit now, idle room and room that is being released together."""
        journal = self._session.journal
        if self._read < len(journal):
            for node in set(journal[self._read :]):
                old = self._counts.get(node)
                if old is not None:
                    new = self._counts[node] = self._count(node)
                    self._sum += new - old
            self._read = len(journal)
        return self._sum

    def _count(self, node: int) -> int:
        session = self._session
        if not session.fits(self._shape, node):
            return 0
        idle, releasing = session.idle[node], session.releasing[node]
        want, extra = self._shape
        most = idle[3] + releasing[3]
        for r in range(3):
            if want[r] > 0:
                most = min(most, (idle[r] + releasing[r]) // want[r])
        for name, amount in extra:
            if amount > 0:
                most = min(
                    most, (session.idle_extra[node].get(name, 0.0) + session.releasing_extra[node].get(name, 0.0)) // amount
                )
        return int(most)


def _pod_order(pod: Pod) -> tuple[bool, int, float, str]:
    """Inside a group: labelled pods first, higher order first, then age (plugins/taskorder, Session.TaskOrderFn)."""
    return (pod.order is None, -(pod.order or 0), pod.created, pod.uid)

"""Who would lose pods for somebody else, in which order, and in which pieces.

A piece is what can go without breaking a gang: one pod above a minimum, a subgroup that is not needed, or all the rest of the
group. Sources: KAI api/podgroup_info/eviction_info.go, actions/utils/job_order_by_queue.go (VictimQueue).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedulers.policy.gang import PodSet, next_cut
from schedulers.policy.jobs import At, Job
from schedulers.policy.order import Key, job_key, queue_key
from schedulers.policy.resources import ZERO, Amounts
from schedulers.policy.session import Session

_Held = dict[PodSet, list[int]]


@dataclass(frozen=True, slots=True)
class Piece:
    """Pods of one group that go together.

    ``ends`` are the leaves of which nothing is left then; a ``core`` piece ends the group.
    """

    job: Job
    pods: tuple[int, ...]
    core: bool
    ends: tuple[PodSet, ...] = ()


class Book:
    """Candidates of every queue in the order in which they would be kept, remembered from one search to the next.

    What a search tries and takes back changes nothing here. Candidates are preemptible groups with pods to lose.
    A group that this very cycle gave something is left alone: its other
    pods are not there to complete the picture.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._jobs: dict[int, list[Job]] = {}
        self._keys: dict[int, Key] = {}
        self._gains: dict[int, dict[int, float]] = {}
        self._largest: dict[int, float] = {}

    def jobs(self, queue: int) -> list[Job]:
        """Candidates of a queue, the first to go last."""
        known = self._jobs.get(queue)
        if known is None:
            known = [j for j in self.session.members.get(queue, ()) if j.active and not j.placed and j.group.preemptible]
            known.sort(key=job_key)
            self._jobs[queue] = known
        return known

    def key(self, queue: int) -> Key:
        """The queue's place before anything of it is taken."""
        known = self._keys.get(queue)
        if known is None:
            job = self.jobs(queue)[-1]
            losing = self.session.request([pod for pod in job.pods if self.session.at[pod] is At.HELD])
            known = self._keys[queue] = queue_key(self.session, queue, victims=losing)
        return known

    def gains(self, queue: int) -> Mapping[int, float]:
        """GPUs that candidates of the queue hold, by node."""
        known = self._gains.get(queue)
        if known is None:
            known = self._gains[queue] = gains(self.session, self.jobs(queue))
        return known

    def largest(self, queue: int) -> float:
        """GPUs that the largest candidate of the queue holds."""
        known = self._largest.get(queue)
        if known is None:
            held = ([pod for pod in job.pods if self.session.at[pod] is At.HELD] for job in self.jobs(queue))
            known = self._largest[queue] = max((self.session.request(pods)[0] for pods in held), default=0.0)
        return known

    def update(self, solution: Iterable[Job]) -> None:
        """Groups of these queues gained or lost something for good."""
        for job in solution:
            for queue in job.path:
                for memory in (self._jobs, self._keys, self._gains, self._largest):
                    memory.pop(queue, None)


class Order:
    """Pieces in the order in which they are given up: from the queue that has most over its share, lowest priority first,
    surplus before whole groups, youngest first. The order is that of the moment it was made, not of evictions since.
    """

    def __init__(
        self,
        session: Session,
        jobs: Mapping[int, Sequence[Job]],
        *,
        spared: Callable[[Job], bool] | None = None,
        first_key: Callable[[int], Key] | None = None,
    ) -> None:
        """``jobs`` of each queue, the first to go last. ``spared`` groups give up surplus only.

        ``first_key`` knows the place of a leaf queue of which nothing has been taken.
        """
        self._session = session
        self._spared = spared
        self._first_key = first_key
        self._left: dict[int, list[Job]] = {}
        self._source = {queue: found for queue, found in jobs.items() if found}
        self._below: dict[int, set[int]] = {}
        self._held: dict[str, _Held] = {}
        self._given: dict[int, Amounts] = {}
        self._keys: dict[int, Key] = {}
        self._start: dict[int, tuple[float, ...]] = {}
        for queue in self._source:
            child = queue
            for parent in (*session.tree.paths[queue][1:], -1):
                siblings = self._below.setdefault(parent, set())
                if child in siblings:
                    break
                siblings.add(child)
                child = parent

    def drop(self, queue: int) -> None:
        """Nothing more of this queue."""
        if queue in self._source:
            del self._source[queue]
            self._remove(queue)

    def __iter__(self) -> Iterator[Piece]:
        while self._below.get(-1):
            queue = self._leaf(-1)
            jobs = self._open(queue)
            job = jobs[-1]
            held = self._holding(job)
            pods, ends, core = next_cut(job.root, held)
            if self._spared is not None and (core or len(pods) > 1) and self._spared(job):
                self._pop(queue, jobs)
                continue
            piece = Piece(job, tuple(pods), core, ends)
            for gone in pods:
                leaf = self._session.set_of[gone]
                assert leaf is not None
                held[leaf].remove(gone)
            self._given[queue] = self._given.get(queue, ZERO).plus(self._session.request(pods))
            self._change(queue)
            if not any(held.values()):
                self._pop(queue, jobs)
            elif len(jobs) > 1 and job.fullness(held) < 2:
                jobs.sort(key=self._job_key)  # its surplus is gone: groups that still have some come before it now
            yield piece

    def _open(self, queue: int) -> list[Job]:
        """The queue's own list, copied when something is first taken of it."""
        found = self._left.get(queue)
        if found is None:
            found = self._left[queue] = [*self._source[queue]]
            for above in self._session.tree.paths[queue]:
                if above not in self._start:
                    self._start[above] = tuple(self._session.allocated[above])
        return found

    def _pop(self, queue: int, jobs: list[Job]) -> None:
        jobs.pop()
        self._change(queue)
        if not jobs:
            self.drop(queue)

    def _change(self, queue: int) -> None:
        for above in self._session.tree.paths[queue]:
            self._keys.pop(above, None)

    def _holding(self, job: Job) -> _Held:
        """Pods that the group can still lose, by leaf, the last in task order first."""
        held = self._held.get(job.key)
        if held is None:
            at = self._session.at
            held = {leaf: [pod for pod in reversed(leaf.pods) if at[pod] is At.HELD] for leaf in job.sets.values()}
            self._held[job.key] = held
        return held

    def _job_key(self, job: Job) -> Key:
        return job_key(job, job.fullness(self._holding(job)))

    def _leaf(self, queue: int) -> int:
        while queue < 0 or queue not in self._source:
            level = self._below[queue]
            queue = max(level, key=self._key) if len(level) > 1 else next(iter(level))
        return queue

    def _key(self, queue: int) -> Key:
        known = self._keys.get(queue)
        if known is None:
            known = self._keys[queue] = self._find_key(queue)
        return known

    def _find_key(self, queue: int) -> Key:
        if self._first_key is not None and queue in self._source and queue not in self._left:
            return self._first_key(queue)
        leaf = self._leaf(queue)
        job = (self._left.get(leaf) or self._source[leaf])[-1]
        pods = [pod for left in self._holding(job).values() for pod in left]
        losing = self._given.get(leaf, ZERO).plus(self._session.request(pods))
        held = self._start.get(queue, self._session.allocated[queue])
        return queue_key(self._session, queue, victims=losing, held=held)

    def _remove(self, queue: int) -> None:
        child = queue
        for parent in (*self._session.tree.paths[queue][1:], -1):
            level = self._below[parent]
            level.discard(child)
            self._keys.pop(parent, None)
            if level:
                return
            del self._below[parent]
            child = parent


def by_queue(jobs: Iterable[Job]) -> dict[int, list[Job]]:
    """Groups by queue, in the order in which they would be kept."""
    found: dict[int, list[Job]] = {}
    for job in jobs:
        found.setdefault(job.queue, []).append(job)
    for members in found.values():
        members.sort(key=job_key)
    return found


def gains(session: Session, jobs: Iterable[Job]) -> dict[int, float]:
    """GPUs that groups hold, by node."""
    found: dict[int, float] = {}
    at, on, cost = session.at, session.on, session.cost
    for job in jobs:
        for pod in job.pods:
            if at[pod] is At.HELD and on[pod] >= 0:
                found[on[pod]] = found.get(on[pod], 0.0) + cost[pod][0]
    return found

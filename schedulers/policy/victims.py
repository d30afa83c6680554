"""Who would lose pods for somebody else, in which order, and in which pieces.

A piece is what can go without breaking a gang: one surplus pod of a group above its minimum, or all the rest of the group.
Sources: KAI api/podgroup_info/eviction_info.go, actions/utils/job_order_by_queue.go (VictimQueue).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schedulers.policy.order import Key, job_key, queue_key
from schedulers.policy.resources import ZERO, Amounts
from schedulers.policy.session import At, Job, Session


@dataclass(frozen=True, slots=True)
class Piece:
    """Pods of one group that go together. ``core`` pieces take a group below its minimum, so all its surplus goes too."""

    job: Job
    pods: tuple[int, ...]
    core: bool


def candidates(session: Session, queues: Iterable[int], *, below: int | None = None) -> list[Job]:
    """Preemptible groups of these queues with pods to lose; with ``below`` only those of lower priority than that.

    A group that this very cycle gave something is left alone: its other pods are not there to complete the picture.
    """
    return [
        job
        for queue in queues
        for job in session.members[queue]
        if job.active and not job.placed and job.group.preemptible and (below is None or job.group.priority < below)
    ]


def pieces(session: Session, jobs: Iterable[Job]) -> Iterator[Piece]:
    """Pieces in the order in which they are given up: from the queue that has most over its share, lowest priority first,
    surplus before whole groups, youngest first. The order is that of the moment of the call, not of evictions since.
    """
    return iter(_Order(session, jobs))


class _Order:
    def __init__(self, session: Session, jobs: Iterable[Job]) -> None:
        self._session = session
        self._left: dict[int, list[Job]] = {}
        self._below: dict[int, set[int]] = {}
        self._pods: dict[str, list[int]] = {}
        self._given: dict[int, Amounts] = {}
        self._keys: dict[int, Key] = {}
        self._paths: dict[int, tuple[int, ...]] = {}
        self._allocated: dict[int, tuple[float, ...]] = {}
        for job in jobs:
            queue = self._left.get(job.queue)
            if queue is None:
                queue = self._left[job.queue] = []
                self._enter(job)
            queue.append(job)
        for queue in self._left.values():
            queue.sort(key=job_key)

    def _enter(self, job: Job) -> None:
        self._paths[job.queue] = job.path
        child = job.queue
        for parent in (*job.path[1:], -1):
            self._below.setdefault(parent, set()).add(child)
            child = parent
        for queue in job.path:
            self._allocated[queue] = tuple(self._session.allocated[queue])

    def _held(self, job: Job) -> list[int]:
        """Pods that the group can still lose, the last in task order first."""
        pods = self._pods.get(job.key)
        if pods is None:
            at = self._session.at
            pods = self._pods[job.key] = [pod for pod in reversed(job.pods) if at[pod] is At.HELD]
        return pods

    def __iter__(self) -> Iterator[Piece]:
        while self._below.get(-1):
            queue = self._leaf(-1)
            job = self._left[queue][-1]
            piece = self._cut(job)
            self._given[queue] = self._given.get(queue, ZERO).plus(self._session.request(list(piece.pods)))
            for changed in self._paths[queue]:
                self._keys.pop(changed, None)
            left = self._left[queue]
            if not self._held(job):
                left.pop()
                if not left:
                    self._drop(queue)
            elif len(left) > 1 and len(self._held(job)) == job.group.min_member:
                left.sort(key=self._job_key)  # its surplus is gone: groups that still have some come before it now
            yield piece

    def _job_key(self, job: Job) -> Key:
        return job_key(job, active=len(self._held(job)))

    def _cut(self, job: Job) -> Piece:
        pods = self._held(job)
        if len(pods) > job.group.min_member:
            return Piece(job, (pods.pop(0),), core=False)
        self._pods[job.key] = []
        return Piece(job, tuple(pods), core=True)

    def _leaf(self, queue: int) -> int:
        while queue < 0 or queue not in self._left:
            level = self._below[queue]
            queue = max(level, key=self._key) if len(level) > 1 else next(iter(level))
        return queue

    def _key(self, queue: int) -> Key:
        known = self._keys.get(queue)
        if known is None:
            leaf = self._leaf(queue)
            job = self._left[leaf][-1]
            losing = self._given.get(leaf, ZERO).plus(self._session.request(self._held(job)))
            known = self._keys[queue] = queue_key(self._session, queue, victims=losing, held=self._allocated[queue])
        return known

    def _drop(self, queue: int) -> None:
        del self._left[queue]
        child = queue
        for parent in (*self._paths[queue][1:], -1):
            level = self._below[parent]
            level.discard(child)
            if level:
                return
            del self._below[parent]
            child = parent

"""Groups with waiting pods, taken out in the order in which queues deserve it. An n-level tree of queues.

Source: KAI pkg/scheduler/actions/utils/job_order_by_queue.go.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from schedulers.policy.jobs import Job
from schedulers.policy.order import Key, job_key, queue_key
from schedulers.policy.session import Session


class Agenda:
    """Pops the next group of the queue whose turn it is, level by level.

    What was found out about a queue stays valid until a group below it is added or taken, or its allocation changes.
    """

    def __init__(self, session: Session, jobs: Iterable[Job], *, evicted: bool = False) -> None:
        self._session = session
        self._evicted = evicted
        self._heaps: dict[int, list[tuple[Key, Job]]] = {}
        self._below: dict[int, set[int]] = {}
        self._edits = [0] * len(session.version)
        self._keys: dict[int, tuple[int, int, Key]] = {}
        self._firsts: dict[int, tuple[int, int, int]] = {}
        for job in jobs:
            if job.queue >= 0:
                self._heaps.setdefault(job.queue, []).append((job_key(job), job))
        for heap in self._heaps.values():
            heapq.heapify(heap)
            self._link(heap[0][1])

    def push(self, job: Job) -> None:
        """Add a group, or put back one that has more pods to place."""
        if job.queue < 0:
            return
        heapq.heappush(self._heaps.setdefault(job.queue, []), (job_key(job), job))
        self._touch(job)
        self._link(job)

    def _link(self, job: Job) -> None:
        """Make the queue of a group known to all queues above it."""
        child = job.queue
        for parent in (*job.path[1:], -1):
            siblings = self._below.setdefault(parent, set())
            if child in siblings:
                break
            siblings.add(child)
            child = parent

    def pop(self) -> Job | None:
        """The next group, or None when nothing is left."""
        level = self._below.get(-1)
        if not level:
            return None
        queue = min(level, key=self._key) if len(level) > 1 else next(iter(level))
        queue = self._leaf(queue)
        heap = self._heaps[queue]
        _, job = heapq.heappop(heap)
        self._touch(job)
        if not heap:
            del self._heaps[queue]
            self._remove(job)
        return job

    def _touch(self, job: Job) -> None:
        for queue in job.path:
            self._edits[queue] += 1

    def _remove(self, job: Job) -> None:
        child = job.queue
        for parent in (*job.path[1:], -1):
            level = self._below[parent]
            level.discard(child)
            if level:
                return
            del self._below[parent]
            child = parent

    def _leaf(self, queue: int) -> int:
        """The leaf queue at or below this one whose turn it is."""
        while queue not in self._heaps:
            version, edits = self._session.version[queue], self._edits[queue]
            known = self._firsts.get(queue)
            if known is None or known[0] != version or known[1] != edits:
                known = self._firsts[queue] = (version, edits, min(self._below[queue], key=self._key))
            queue = known[2]
        return queue

    def _key(self, queue: int) -> Key:
        version, edits = self._session.version[queue], self._edits[queue]
        known = self._keys.get(queue)
        if known is not None and known[0] == version and known[1] == edits:
            return known[2]
        job = self._heaps[self._leaf(queue)][0][1]
        request = self._session.request(self._session.to_place(job, evicted=self._evicted))
        key = queue_key(self._session, queue, job=request)
        self._keys[queue] = (version, edits, key)
        return key

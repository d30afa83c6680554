"""Would fairness let the victims take their room back? Then evicting them would only begin a circle.

Source: KAI actions/common/action.go (TryToVirtuallyAllocatePreemptorAndGetVictims), actions/utils (GetJobsToAllocate).
"""

from __future__ import annotations

from collections.abc import Sequence

from schedulers.policy import limits
from schedulers.policy.agenda import Agenda
from schedulers.policy.jobs import Job
from schedulers.policy.putting import Putter, Undo
from schedulers.policy.session import Session
from schedulers.policy.victims import Piece


class Turn:
    """Trials for one action. ``backlog`` are the groups that waited when it began: who is served next depends on them too."""

    def __init__(self, session: Session, putter: Putter, backlog: Sequence[Job]) -> None:
        self._session = session
        self._putter = putter
        self._by_queue: dict[int, list[Job]] = {}
        for job in backlog:
            self._by_queue.setdefault(job.queue, []).append(job)

    def keeps(self, taker: Job, pods: list[int], kept: Sequence[Piece]) -> bool:
        """With the victims waiting again, fairness still serves the taker before room is short.

        Other waiting groups count in the order, because a queue's turn depends on the first group in it, but only the victims
        and the taker are placed. KAI gives each victim one turn here and as many as it likes when it allocates, so that it can
        evict the same surplus pod again and again; here both count alike.
        """
        session = self._session
        near = {queue for job in (taker, *(piece.job for piece in kept)) for queue in job.path}
        rivals = {piece.job.key: piece.job for piece in kept}
        others = [
            job
            for queue, jobs in self._by_queue.items()
            if not near.isdisjoint(session.tree.paths[queue])
            for job in jobs
            if job.key not in rivals and job is not taker and (not job.placed or session.to_place(job))
        ]
        agenda = Agenda(session, [*others, *rivals.values(), taker], evicted=True)
        request = session.least_request(pods)
        placed: list[Undo] = []
        good = False
        while (job := agenda.pop()) is not None:
            if job is taker:
                good = not limits.blocked(session, job, request) and self._putter.put(job, pods, now=False, later=True)
                if good:
                    self._putter.take_back(pods)
                break
            if job.key in rivals and self._replace(job, placed) and session.to_place(job, evicted=True):
                agenda.push(job)
        undo(session, placed)
        return good

    def _replace(self, job: Job, placed: list[Undo]) -> bool:
        found = replace(self._session, self._putter, job, later=True)
        placed.extend(found or ())
        return found is not None


def replace(session: Session, putter: Putter, job: Job, *, later: bool = False) -> list[Undo] | None:
    """A victim takes room again, wherever its next pods fit; None where they do not. ``later`` as in :meth:`Placer.place`."""
    pods = session.to_place(job, evicted=True)
    if not pods or limits.blocked(session, job, session.least_request(pods)):
        return None
    before = [(pod, session.at[pod], session.on[pod]) for pod in pods]
    return before if putter.put(job, pods, now=False, later=later) else None


def undo(session: Session, placed: list[Undo]) -> None:
    """The inverse of :func:`replace`."""
    for pod, at, node in reversed(placed):
        session.unplace(pod, at, node)

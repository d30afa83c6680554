"""Moving running work together: only when all that moves finds a place again in the same plan.

Source: KAI actions/consolidation/consolidation.go; reference 2.5, T52, T53.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedulers.policy.jobs import At, Job
from schedulers.policy.putting import Putter, Undo
from schedulers.policy.resources import Amounts
from schedulers.policy.session import Session
from schedulers.policy.turn import replace, undo
from schedulers.policy.victims import Piece


class Moves:
    """Plans moves in one session."""

    def __init__(self, session: Session, putter: Putter) -> None:
        self._session = session
        self._putter = putter
        self._read = -1
        self._free = 0.0

    def enough_gpus(self, request: Amounts) -> bool:
        """What is free all over the pool, whole and in parts, would do if it were together (IsEnoughGPUsAllocatableForJob)."""
        session = self._session
        if self._read != len(session.journal):
            whole = (session.idle[n][0] + session.releasing[n][0] for n, node in enumerate(session.nodes) if node.ready)
            self._free = sum(whole) + sum(gpus.free() for gpus in session.gpus.values())
            self._read = len(session.journal)
        return self._free >= request.gpu

    def possible(self, job: Job, pods: list[int], taken: Sequence[Piece]) -> bool:
        """With the waiting pods in place, everything that moves finds room too. Few enough groups move."""
        most = self._session.settings.max_consolidated
        if most >= 0 and len({piece.job.key for piece in taken}) > most + 1:
            return False
        if not self._putter.put(job, pods, now=False):
            return False
        placed: list[Undo] = []
        good = self._replace_all(taken, placed)
        undo(self._session, placed)
        self._putter.take_back(pods)
        return good

    def carry_out(self, taken: Sequence[Piece]) -> None:
        """Put what moves where it goes; the waiting pods are in place already."""
        if not self._replace_all(taken, []):
            raise AssertionError("what was possible a moment ago is not any more")

    def _replace_all(self, taken: Sequence[Piece], placed: list[Undo]) -> bool:
        session = self._session
        jobs = {piece.job.key: piece.job for piece in taken}
        for job in jobs.values():
            while any(session.at[pod] is At.EVICTED for pod in job.pods):
                found = replace(session, self._putter, job)
                if found is None:
                    return False
                placed.extend(found)
        return True

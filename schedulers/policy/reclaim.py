"""May this group take back from that queue? The gates and strategies of the reclaim action.

Sources: KAI docs/fairness (reclaim strategies); plugins/proportion/reclaimable/{reclaimable.go,strategies/strategies.go}.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedulers.policy.resources import UNLIMITED, Amounts, exceeds, within
from schedulers.policy.session import Job, Session
from schedulers.policy.victims import Piece

#: How much fuller than a sibling a reclaimer may become (relcaimerSaturationMultiplier, KAI's spelling and default).
_SATURATION = 1.0


def may_reclaim(session: Session, job: Job, request: Amounts) -> bool:
    """The gate: with the request the queue stays within its fair share, and its non-preemptible work within quota
    (CanReclaimResources).
    """
    queue = job.queue
    if not within(Amounts(*session.allocated[queue]).plus(request), session.fair[queue]):
        return False
    if job.group.preemptible:
        return True
    return within(Amounts(*session.non_preemptible[queue]).plus(request), session.tree.queues[queue].deserved)


def level(reclaimer: tuple[int, ...], victim: tuple[int, ...]) -> tuple[int, int]:
    """The two queues that are compared: children of the lowest common ancestor on either side (getLeveledQueues).

    Paths go from a queue to its top-level ancestor.
    """
    mine, theirs = reclaimer[::-1], victim[::-1]
    left, right = mine[0], theirs[0]
    for left, right in zip(mine, theirs, strict=False):
        if left != right:
            break
    return left, right


class Ledger:
    """Keeps what queues still hold while victims are collected, and says whether the next piece may be taken.

    All comparisons are with what queues held when the search began.
    """

    def __init__(self, session: Session, reclaimer: Job, request: Amounts) -> None:
        self._session = session
        self._reclaimer = reclaimer
        self._request = request
        self._start = [Amounts(*amounts) for amounts in session.allocated]
        self._left: dict[int, Amounts] = {}
        self._levels: dict[int, tuple[int, int]] = {}

    def accepts(self, victim: int) -> bool:
        """True when a strategy lets something of a group in this queue be taken now.

        Maintain fair share: the victim's queue still holds more than is its own. Guarantee deserved quota: the reclaimer's
        queue stays within quota in every resource and the victim's still exceeds its quota in one.
        """
        mine, theirs = self._level(victim)
        left = self._left.get(theirs, self._start[theirs])
        values = self._session.tree.queues
        if not within(left, self._session.own[theirs]):
            return True
        if within(left, values[theirs].deserved):
            return False
        return within(self._start[mine].plus(self._request), values[mine].deserved)

    def take(self, piece: Piece) -> None:
        """Book a piece as taken, in its queue and all queues above."""
        amount = self._session.request(list(piece.pods))
        for queue in piece.job.path:
            self._left[queue] = self._left.get(queue, self._start[queue]).minus(amount)

    def balanced(self, taken: Sequence[Piece]) -> bool:
        """With these pieces taken and the request granted, no queue on the reclaimer's path becomes fuller than a sibling that
        lost something, and non-preemptible work stays within quota (reclaimingQueuesRemainWithinBoundaries).
        """
        session, request = self._session, self._request
        lost: dict[int, Amounts] = {}
        involved: dict[int, set[int]] = {}
        for piece in taken:
            amount = session.request(list(piece.pods))
            for queue in piece.job.path:
                lost[queue] = lost.get(queue, Amounts()).plus(amount)
                involved.setdefault(queue, set()).update(r for r in range(3) if amount[r] > 0)
        mine = {r for r in range(3) if request[r] > 0}
        for queue in self._reclaimer.path:
            after = self._start[queue].minus(lost.get(queue, Amounts())).plus(request)
            parent = session.tree.queues[queue].parent
            for sibling in lost:
                if sibling == queue or session.tree.queues[sibling].parent != parent:
                    continue
                rest = self._start[sibling].minus(lost[sibling])
                if any(self._fuller(r, after, queue, rest, sibling) for r in involved[sibling] | mine):
                    return False
            if not self._reclaimer.group.preemptible:
                held = Amounts(*session.non_preemptible[queue]).plus(request)
                if any(exceeds(held[r], session.tree.queues[queue].deserved[r]) for r in range(3)):
                    return False
        return True

    def _fuller(self, r: int, mine: Amounts, queue: int, theirs: Amounts, sibling: int) -> bool:
        fair, other = self._session.fair[queue][r], self._session.fair[sibling][r]
        if fair == UNLIMITED and other == UNLIMITED:
            return False
        ratio = _saturation(mine[r], fair)
        return ratio > 1 and other > 0 and ratio * _SATURATION >= _saturation(theirs[r], other)

    def _level(self, victim: int) -> tuple[int, int]:
        found = self._levels.get(victim)
        if found is None:
            found = self._levels[victim] = level(self._reclaimer.path, self._session.tree.paths[victim])
        return found


def _saturation(held: float, fair: float) -> float:
    if fair == 0:
        return float("inf") if held > 0 else 0.0
    return 0.0 if fair == UNLIMITED else held / fair

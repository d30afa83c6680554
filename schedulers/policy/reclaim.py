"""May this group take back from that queue? The gates and strategies of the reclaim action.

Sources: KAI docs/fairness (reclaim strategies); plugins/proportion/reclaimable/{reclaimable.go,strategies/strategies.go}.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schedulers.policy.jobs import Job
from schedulers.policy.resources import UNLIMITED, Amounts, exceeds, within
from schedulers.policy.session import Session
from schedulers.policy.victims import Book, Piece


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

    Pieces are booked before their pods are evicted, so that what a queue holds when it first occurs is what it held when the
    search began.
    """

    def __init__(self, session: Session, reclaimer: Job, request: Amounts) -> None:
        self._session = session
        self._reclaimer = reclaimer
        self._request = request
        self._left: dict[int, Amounts] = {}
        self._levels: dict[int, tuple[int, int]] = {}
        self._granted: dict[int, bool] = {}

    def accepts(self, victim: int) -> bool:
        """True when a strategy lets something of a group in this queue be taken now.

        Maintain fair share: the victim's queue still holds more than is its own. Guarantee deserved quota: the reclaimer's
        queue stays within quota in every resource and the victim's still exceeds its quota in one.
        Once it is False it stays so, because what is taken only grows.
        """
        mine, theirs = self._level(victim)
        left = self._left.get(theirs) or Amounts(*self._session.allocated[theirs])
        if not within(left, self._session.own[theirs]):
            return True
        if within(left, self._session.tree.queues[theirs].deserved):
            return False
        granted = self._granted.get(mine)
        if granted is None:
            held = self._left.get(mine) or Amounts(*self._session.allocated[mine])
            granted = within(held.plus(self._request), self._session.tree.queues[mine].deserved)
            self._granted[mine] = granted
        return granted

    def most_gpus(self, book: Book, queues: Iterable[int]) -> float:
        """No more GPUs than these can be taken from the queues: of each compared queue what it holds above what is its own,
        and the last piece may go below.
        """
        largest: dict[int, float] = {}
        for queue in queues:
            theirs = self._level(queue)[1]
            largest[theirs] = max(largest.get(theirs, 0.0), book.largest(queue))
        whole = 0.0
        for theirs, piece in largest.items():
            held, own, deserved = (
                self._session.allocated[theirs],
                self._session.own[theirs],
                self._session.tree.queues[theirs].deserved,
            )
            if any(exceeds(held[r], own[r]) or exceeds(held[r], deserved[r]) for r in (1, 2)):
                return float("inf")
            floors = [bound for bound in (own[0], deserved[0]) if bound != UNLIMITED]
            whole += max(0.0, held[0] - min(floors, default=held[0])) + piece
        return whole

    def take(self, piece: Piece) -> None:
        """Book a piece as taken, in its queue and all queues above."""
        amount = self._session.request(piece.pods)
        for queue in piece.job.path:
            left = self._left.get(queue) or Amounts(*self._session.allocated[queue])
            self._left[queue] = left.minus(amount)

    def balanced(self, taken: Sequence[Piece]) -> bool:
        """With these pieces evicted and the request granted, no queue on the reclaimer's path becomes fuller than a sibling that
        lost something, and non-preemptible work stays within quota (reclaimingQueuesRemainWithinBoundaries).
        """
        session, request = self._session, self._request
        involved: dict[int, set[int]] = {}
        for piece in taken:
            amount = session.request(piece.pods)
            for queue in piece.job.path:
                involved.setdefault(queue, set()).update(r for r in range(3) if amount[r] > 0)
        mine = {r for r in range(3) if request[r] > 0}
        for queue in self._reclaimer.path:
            after = Amounts(*session.allocated[queue]).plus(request)
            parent = session.tree.queues[queue].parent
            for sibling, touched in involved.items():
                if sibling == queue or session.tree.queues[sibling].parent != parent:
                    continue
                rest = Amounts(*session.allocated[sibling])
                if any(self._fuller(r, after, queue, rest, sibling) for r in touched | mine):
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
        return ratio > 1 and other > 0 and ratio * self._session.settings.saturation_multiplier >= _saturation(theirs[r], other)

    def _level(self, victim: int) -> tuple[int, int]:
        found = self._levels.get(victim)
        if found is None:
            found = self._levels[victim] = level(self._reclaimer.path, self._session.tree.paths[victim])
        return found


def _saturation(held: float, fair: float) -> float:
    if fair == 0:
        return float("inf") if held > 0 else 0.0
    return 0.0 if fair == UNLIMITED else held / fair

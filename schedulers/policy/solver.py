"""The search for victims: the fewest that make room, taken in the order in which they would be given up.

Source: KAI actions/common/solvers, plugins/nodelocalgreedy, plugins/multinodegang. KAI tries growing scenarios and evicts what a
scenario holds, for as long as its time allows; this search is bounded by counts, so that it always ends alike, and drops
every victim without which the placement still works, so that nobody is evicted in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedulers.policy import limits
from schedulers.policy.gang import PodSet
from schedulers.policy.jobs import Job
from schedulers.policy.placement import Placer
from schedulers.policy.putting import Putter
from schedulers.policy.reclaim import Ledger
from schedulers.policy.rooms import Room
from schedulers.policy.victims import Book, Order, Piece, by_queue, gains

#: Pieces that are taken in order over all nodes before single nodes are looked at: some, and more for larger requests.
_FIRST_PIECES = 16
_PIECES_PER_POD = 4
#: The same when nothing else has helped a gang.
_LAST_PIECES = 256
_LAST_PIECES_PER_POD = 16
#: Sets of nodes that are looked at for a gang, each twice as large as the one before.
_DOUBLINGS = 3
#: Single nodes that are looked at for one group.
_NODES = 64
#: Sets of victims that make room and that fairness refuses, before one group is given up.
_REFUSALS = 6


@dataclass(frozen=True, slots=True)
class Solution:
    """``victims`` are to be evicted so that ``pods`` find room; both are in effect in the session."""

    victims: tuple[Piece, ...]
    pods: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Terms:
    """What one action asks of a search. ``ledger`` (reclaim): every victim must be one that fairness gives up. ``agrees`` has the
    last word over a set of victims that makes room, while all of it is in effect. ``spared`` groups give up surplus only.
    With ``all_of_them`` the victims to choose from are all that the book has of their queues.
    No more than ``most_gpus`` can be had from all victims together.
    """

    ledger: Callable[[], Ledger] | None = None
    agrees: Callable[[Sequence[Piece]], bool] | None = None
    spared: Callable[[Job], bool] | None = None
    all_of_them: bool = False
    most_gpus: float = float("inf")


class Solver:
    """Searches for one group."""

    def __init__(self, book: Book, placer: Placer, putter: Putter, job: Job, pods: list[int], terms: Terms) -> None:
        self._book = book
        session = self._session = book.session
        self._putter = putter
        self._job = job
        self._pods = pods
        self._terms = terms
        self._request = session.least_request(pods)
        kinds: dict[int, tuple[Room, int]] = {}
        self._counted = job.simple
        for pod in pods:
            room = placer.room(pod)
            if room is None:
                self._counted = False
                continue
            kinds[id(room)] = (room, kinds.get(id(room), (room, 0))[1] + 1)
        self._kinds = tuple(kinds.values())
        self._counted = self._counted and len(self._kinds) == 1
        self._refused = 0
        self._allowed = placer.allowed(pods[0])

    def solve(self, jobs: Mapping[int, Sequence[Job]]) -> Solution | None:
        """Make room by victims among ``jobs`` of queues (the first to go last), or change nothing and return None.

        First over all candidates in their order; when some of them are not enough, over the candidates of one node after another,
        because what fairness allows to be taken may be spent on nodes where it does not help; then, for several pods, over all.
        """
        self._refused = 0
        some = max(_FIRST_PIECES, _PIECES_PER_POD * len(self._pods))
        order = self._order(jobs)
        found, exhausted = self._try(order, order.drop, some)
        if found is not None:
            return found
        eligible = {job.key: job for found in jobs.values() for job in found}
        for nodes in self._regions(jobs):
            residents = {self._session.pods[pod].group for node in nodes for pod in self._session.residents[node]}
            here = by_queue(eligible[key] for key in residents if key in eligible)
            order = Order(self._session, here, spared=self._terms.spared)
            found, _ = self._try(self._inside(order, nodes), order.drop, None)
            if found is not None or self._refused >= _REFUSALS:
                return found
        if exhausted or len(self._pods) == 1:
            return None
        order = self._order(jobs)
        return self._try(order, order.drop, _LAST_PIECES + _LAST_PIECES_PER_POD * len(self._pods))[0]

    def _order(self, jobs: Mapping[int, Sequence[Job]]) -> Order:
        return Order(
            self._session, jobs, spared=self._terms.spared, first_key=self._book.key if self._terms.all_of_them else None
        )

    def _inside(self, order: Iterable[Piece], nodes: set[int]) -> Iterator[Piece]:
        """Pieces with a pod on one of the nodes. A group that goes takes its surplus elsewhere with it."""
        elsewhere: dict[str, tuple[int, ...]] = {}
        for piece in order:
            key = piece.job.key
            if any(self._session.on[pod] in nodes for pod in piece.pods):
                spare = elsewhere.pop(key, ())
                before = tuple(pod for pod in spare if piece.core or self._session.set_of[pod] in piece.ends)
                if spare and not piece.core:
                    elsewhere[key] = tuple(pod for pod in spare if pod not in before)
                yield Piece(piece.job, before + piece.pods, piece.core, piece.ends)
            else:
                elsewhere[key] = elsewhere.get(key, ()) + piece.pods

    def _regions(self, jobs: Mapping[int, Sequence[Job]]) -> Iterator[set[int]]:
        """Sets of nodes to look at alone, least room first: each node for a single pod, growing prefixes for a gang."""
        session = self._session
        gain: dict[int, float] = {}
        for queue in jobs:
            held = self._book.gains(queue) if self._terms.all_of_them else gains(session, jobs[queue])
            for node, amount in held.items():
                gain[node] = gain.get(node, 0.0) + amount
        want = min(session.cost[pod][0] for pod in self._pods)
        bound = self._terms.most_gpus if len(self._pods) == 1 else float("inf")
        rooms = []
        for node, amount in gain.items():
            free = session.idle[node][0] + session.releasing[node][0]
            if node in self._allowed and free + amount >= want and free + bound >= want:
                rooms.append((free + amount, node))
        nodes = [node for _, node in sorted(rooms)]
        if len(self._pods) == 1:
            for node in nodes[:_NODES]:
                yield {node}
            return
        size = self._enough(sorted(rooms), want)
        for _ in range(_DOUBLINGS):
            if size < len(nodes):
                yield set(nodes[:size])
            size *= 2

    def _enough(self, rooms: Sequence[tuple[float, int]], want: float) -> int:
        """How many of the nodes could hold all pods if everything on them went."""
        missing = len(self._pods)
        for size, (room, _) in enumerate(rooms, 1):
            missing -= int(room // want) if want else missing
            if missing <= 0:
                return size
        return len(rooms)

    def _try(self, order: Iterable[Piece], drop: Callable[[int], None], most: int | None) -> tuple[Solution | None, bool]:
        """Take pieces until there is room. Also says whether all pieces were tried."""
        ledger = self._terms.ledger() if self._terms.ledger else None
        taken: list[Piece] = []
        exhausted = True
        for piece in order:
            if ledger is not None:
                if not ledger.accepts(piece.job.queue):
                    drop(piece.job.queue)
                    continue
                ledger.take(piece)
            taken.append(piece)
            self._evict(piece)
            if self._feasible():
                kept = self._minimal(taken)
                if self._accepted(kept, ledger) and self._putter.put(self._job, self._pods, now=False):
                    return Solution(tuple(kept), tuple(self._pods)), False
                self._refused += 1
                taken = kept
                break
            if most is not None and len(taken) >= most:
                exhausted = False
                break
        for piece in reversed(taken):
            self._restore(piece)
        return None, exhausted

    def _accepted(self, kept: Sequence[Piece], ledger: Ledger | None) -> bool:
        if ledger is not None and not ledger.balanced(kept):
            return False
        return self._terms.agrees is None or self._terms.agrees(kept)

    def _evict(self, piece: Piece) -> None:
        for pod in piece.pods:
            self._session.evict(pod)

    def _restore(self, piece: Piece) -> None:
        for pod in piece.pods:
            self._session.unevict(pod)

    def _feasible(self) -> bool:
        """Within limits, and room for all pods. Counting decides for pods that are all alike; others are really placed."""
        if any(room.count() < wanted for room, wanted in self._kinds) or limits.blocked(self._session, self._job, self._request):
            return False
        if self._counted:
            return True
        if not self._putter.put(self._job, self._pods, now=False):
            return False
        self._putter.take_back(self._pods)
        return True

    def _minimal(self, taken: list[Piece]) -> list[Piece]:
        """Give back, last taken first, whatever is not needed. What went of a leaf before it ended stays with it."""
        kept: list[Piece] = []
        ended: set[PodSet] = set()
        for piece in reversed(taken):
            leaves = {self._session.set_of[pod] for pod in piece.pods}
            if leaves & ended:
                kept.append(piece)
                continue
            self._restore(piece)
            if self._feasible():
                continue
            self._evict(piece)
            kept.append(piece)
            ended.update(piece.job.sets.values() if piece.core else piece.ends)
        kept.reverse()
        return kept

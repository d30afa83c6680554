"""The search for victims: the fewest that make room, taken in the order in which they would be given up.

Source: KAI actions/common/solvers. KAI tries growing scenarios and evicts what a scenario holds; this search ends by
dropping every victim without which the placement still works, so that nobody is evicted in vain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from schedulers.policy import limits
from schedulers.policy.agenda import Agenda
from schedulers.policy.placement import Placer
from schedulers.policy.reclaim import Ledger
from schedulers.policy.session import At, Job, Room, Session
from schedulers.policy.victims import Piece, pieces

#: A pod that was placed for a trial, and where it was before.
_Undo = tuple[int, At, int]


@dataclass(frozen=True, slots=True)
class Solution:
    """``victims`` are to be evicted so that ``pods`` find room; both are in effect in the session."""

    victims: tuple[Piece, ...]
    pods: tuple[int, ...]


class Solver:
    """Searches for one group. With a ledger (reclaim) every victim must be one that fairness gives up."""

    def __init__(
        self,
        session: Session,
        placer: Placer,
        job: Job,
        pods: list[int],
        *,
        ledger: Callable[[], Ledger] | None = None,
        backlog: Iterable[Job] = (),
    ) -> None:
        """``backlog`` are the groups that waited when the action began; who is served next depends on them too."""
        self._session = session
        self._backlog = backlog
        self._placer = placer
        self._job = job
        self._pods = pods
        self._ledger = ledger
        self._request = session.request(pods)
        kinds: dict[int, tuple[Room, int]] = {}
        for pod in pods:
            room = session.room(pod)
            kinds[id(room)] = (room, kinds.get(id(room), (room, 0))[1] + 1)
        self._kinds = tuple(kinds.values())

    def solve(self, jobs: list[Job]) -> Solution | None:
        """Make room by victims among ``jobs``, or change nothing and return None.

        First over all candidates in their order; when that fails, over the candidates of one node after another, because
        what fairness allows to be taken may be spent on nodes where it does not help.
        """
        found = self._try(pieces(self._session, jobs))
        if found is not None:
            return found
        for nodes in self._regions(jobs):
            found = self._try(self._inside(pieces(self._session, jobs), nodes))
            if found is not None:
                return found
        return None

    def _inside(self, order: Iterable[Piece], nodes: set[int]) -> Iterator[Piece]:
        """Pieces with a pod on one of the nodes. A group that goes takes its surplus elsewhere with it."""
        elsewhere: dict[str, tuple[int, ...]] = {}
        for piece in order:
            key = piece.job.key
            if any(self._session.on[pod] in nodes for pod in piece.pods):
                yield Piece(piece.job, elsewhere.pop(key, ()) + piece.pods, core=True) if piece.core else piece
            elif not piece.core:
                elsewhere[key] = elsewhere.get(key, ()) + piece.pods

    def _regions(self, jobs: list[Job]) -> Iterator[set[int]]:
        """Sets of nodes to look at alone, least room first: each node for a single pod, growing prefixes for a gang."""
        session = self._session
        gain: dict[int, float] = {}
        for job in jobs:
            for pod in job.pods:
                if session.at[pod] is At.HELD and session.on[pod] >= 0:
                    gain[session.on[pod]] = gain.get(session.on[pod], 0.0) + session.pods[pod].request[0]
        nodes = sorted(gain, key=lambda n: (gain[n] + session.idle[n][0] + session.releasing[n][0], n))
        if len(self._pods) == 1:
            shape = session.shapes[session.shape_of[self._pods[0]]][0]
            for node in nodes:
                if gain[node] + session.idle[node][0] + session.releasing[node][0] >= shape[0]:
                    yield {node}
            return
        size = 1
        while size < len(nodes):
            yield set(nodes[:size])
            size *= 2

    def _try(self, order: Iterable[Piece]) -> Solution | None:
        ledger = self._ledger() if self._ledger else None
        taken: list[Piece] = []
        for piece in order:
            if ledger is not None:
                if not ledger.accepts(piece.job.queue):
                    continue
                ledger.take(piece)
            taken.append(piece)
            self._evict(piece)
            if self._feasible():
                kept = self._minimal(taken)
                if (ledger is None or (ledger.balanced(kept) and self._keeps_its_turn(kept))) and self._place():
                    return Solution(tuple(kept), tuple(self._pods))
                taken = kept
                break
        for piece in reversed(taken):
            self._restore(piece)
        return None

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
        if len(self._kinds) == 1:
            return True
        if not self._place():
            return False
        self._unplace(self._pods)
        return True

    def _place(self) -> bool:
        for count, pod in enumerate(self._pods):
            if not self._placer.place(pod, now=False):
                self._unplace(self._pods[:count])
                return False
        return True

    def _unplace(self, pods: list[int]) -> None:
        for pod in reversed(pods):
            self._session.unplace(pod)

    def _minimal(self, taken: list[Piece]) -> list[Piece]:
        """Give back, last taken first, whatever is not needed. Surplus of a group that goes entirely goes with it."""
        kept: list[Piece] = []
        whole: set[str] = set()
        for piece in reversed(taken):
            if not piece.core and piece.job.key in whole:
                kept.append(piece)
                continue
            self._restore(piece)
            if self._feasible():
                continue
            self._evict(piece)
            kept.append(piece)
            if piece.core:
                whole.add(piece.job.key)
        kept.reverse()
        return kept

    def _keeps_its_turn(self, kept: list[Piece]) -> bool:
        """With the victims waiting again, fairness still serves this group: otherwise they would take the room back, and so on
        for ever. Other waiting groups count in the order, because a queue's turn depends on the first group in it, but only
        the victims and this group are placed (GetJobsToAllocate, TryToVirtuallyAllocatePreemptorAndGetVictims). KAI gives each
        victim one turn here and as many as it likes when it allocates, so that it can evict the same surplus pod
        again and again; here both count alike.
        """
        session = self._session
        near = {queue for job in (self._job, *(piece.job for piece in kept)) for queue in job.path}
        rivals = {piece.job.key: piece.job for piece in kept}
        others = [
            job
            for job in self._backlog
            if job.key not in rivals
            and job is not self._job
            and not near.isdisjoint(job.path)
            and (not job.placed or session.to_place(job))
        ]
        agenda = Agenda(session, [*others, *rivals.values(), self._job], evicted=True)
        placed: list[_Undo] = []
        good = False
        while (job := agenda.pop()) is not None:
            if job is self._job:
                good = not limits.blocked(session, job, self._request) and self._place()
                if good:
                    self._unplace(self._pods)
                break
            if job.key in rivals and self._replace(job, placed) and session.to_place(job, evicted=True):
                agenda.push(job)
        for pod, at, node in reversed(placed):
            session.unplace(pod, at, node)
        return good

    def _replace(self, job: Job, placed: list[_Undo]) -> bool:
        """A victim whose turn comes first takes room again, wherever it fits; True when it found some."""
        session = self._session
        pods = session.to_place(job, evicted=True)
        if limits.blocked(session, job, session.request(pods)):
            return False
        done: list[_Undo] = []
        for pod in pods:
            before = (pod, session.at[pod], session.on[pod])
            if not self._placer.place(pod, now=False):
                for back, at, node in reversed(done):
                    session.unplace(back, at, node)
                return False
            done.append(before)
        placed.extend(done)
        return True

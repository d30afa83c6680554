"""The best node for a pod, found fast: pods that are alike share what was learnt.

Order of nodes (KAI plugins topology, gpusharingorder, nodeavailability, resourcetype, nodeplacement, by their scores):
domains of the preferred topology level; with bin-packing, nodes with a shared GPU that has room, which KAI also gives to
pods without GPUs;
idle room before room that is being released; CPU-only nodes for pods without GPU; then bin-pack (least free GPUs, or CPU
for pods without GPU) or spread; then name.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

from schedulers.policy import limits, messages
from schedulers.policy.devices import Kind, cpu_only
from schedulers.policy.rooms import Room, Tally
from schedulers.policy.session import Session
from schedulers.policy.workload import GpuShare

_Key = tuple[int, bool, bool, bool, float, int]

#: Stands for what a pod without GPUs asks of a shared GPU: nothing, which any of them has.
_NOTHING = GpuShare()


class Area:
    """A set of nodes to choose from, and how their topology domains are ranked (higher first). It remembers what was learnt."""

    __slots__ = ("memory", "nodes", "ranks")

    def __init__(self, nodes: Iterable[int], ranks: Mapping[int, int] | None = None) -> None:
        self.nodes = frozenset(nodes)
        self.ranks = ranks or {}
        self.memory: dict[int, _Memory] = {}


class _Memory:
    """Nodes with room for one likeness of pods in a heap by key. Entries whose key is no longer true are passed over."""

    __slots__ = ("heap", "keys", "read")

    def __init__(self) -> None:
        self.heap: list[_Key] = []
        self.keys: dict[int, _Key] = {}
        self.read = -1


class Placer:
    """Finds nodes in one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._everywhere: dict[int, _Memory] = {}
        #: The same for trials of what happens once everything is gone that is leaving.
        self._later: dict[int, _Memory] = {}
        self._likeness_of: dict[int, int] = {}
        self._likenesses: dict[object, int] = {}
        self._allowed: dict[int, frozenset[int]] = {}
        self._tallies: dict[int, Tally] = {}
        self._rooms: dict[int, Room] = {}
        self._plain = [cpu_only(node) for node in session.nodes]
        self._packs = session.settings.gpu_strategy == "binpack"

    def likeness(self, pod: int) -> int:
        """A number that pods have in common which ask for the same and may run on the same nodes."""
        found = self._likeness_of.get(pod)
        if found is None:
            session = self._session
            what = (session.pods[pod].constraints, session.shape_of[pod])
            found = self._likeness_of[pod] = self._likenesses.setdefault(what, len(self._likenesses))
        return found

    def place(self, pod: int, *, now: bool = True, area: Area | None = None, later: bool = False) -> bool:
        """Put the pod onto its best node (of the area); False where none has room.

        ``now`` False pipelines it even onto idle room, where what victims leave is as good as idle. ``later`` also chooses the
        node as it would be chosen once everything is gone that is leaving.
        """
        node = self._find(pod, area, later)
        if node < 0:
            return False
        session = self._session
        session.place(pod, node, now=now and session.fits_now(session.shapes[session.shape_of[pod]], node))
        return True

    def room(self, pod: int) -> Room | None:
        """How many pods like this one the nodes could take; None where counting cannot say it."""
        session = self._session
        if session.pods[pod].share is not None:
            return None
        like = self.likeness(pod)
        found = self._rooms.get(like)
        if found is None:
            found = self._rooms[like] = Room(session, session.shapes[session.shape_of[pod]], session.site(pod)[0])
        return found

    def allowed(self, pod: int) -> frozenset[int]:
        """Nodes that may take pods like this one, whatever is free on them."""
        like = self.likeness(pod)
        found = self._allowed.get(like)
        if found is None:
            found = self._allowed[like] = frozenset(self._session.site(pod)[0])
        return found

    def _find(self, pod: int, area: Area | None, later: bool) -> int:
        memories = area.memory if area is not None else self._later if later else self._everywhere
        like = self.likeness(pod)
        memory = memories.get(like)
        if memory is None:
            memory = memories[like] = _Memory()
        ranks = area.ranks if area is not None else {}
        journal = self._session.journal
        if memory.read < 0:
            may: Iterable[int] = self._session.site(pod)[0]
            if area is not None:
                may = [node for node in may if node in area.nodes]
            for node in may:
                key = self._key(pod, node, ranks, later)
                if key is not None:
                    memory.keys[node] = key
            memory.heap = list(memory.keys.values())
            heapq.heapify(memory.heap)
        elif memory.read < len(journal):
            self._update(pod, memory, set(journal[memory.read :]), area, later)
        memory.read = len(journal)
        return self._best(pod, memory)

    def _update(self, pod: int, memory: _Memory, changed: set[int], area: Area | None, later: bool) -> None:
        may, ranks = self.allowed(pod), area.ranks if area is not None else {}
        for node in changed:
            if node not in may or (area is not None and node not in area.nodes):
                continue
            key = self._key(pod, node, ranks, later)
            if key is None:
                memory.keys.pop(node, None)
            elif memory.keys.get(node) != key:
                memory.keys[node] = key
                heapq.heappush(memory.heap, key)
        if len(memory.heap) > 4 * len(memory.keys) + 64:
            memory.heap = list(memory.keys.values())
            heapq.heapify(memory.heap)

    def _best(self, pod: int, memory: _Memory) -> int:
        """The first node of the heap whose key is true. A share that is asked for in memory costs more on nodes with small GPUs,
        so that the queue's bounds are looked at for each node (IsTaskAllocationOnNodeOverCapacity).
        """
        heap, keys = memory.heap, memory.keys
        passed: list[_Key] = []
        found = -1
        while heap:
            key = heap[0]
            if keys.get(key[-1]) != key:
                heapq.heappop(heap)
                continue
            if self._affordable(pod, key[-1]):
                found = key[-1]
                break
            passed.append(heapq.heappop(heap))
        for key in passed:
            heapq.heappush(heap, key)
        return found

    def _affordable(self, pod: int, node: int) -> bool:
        session = self._session
        if session.kinds[session.shape_of[pod]] is not Kind.MEMORY:
            return True
        return not limits.blocked(session, session.jobs[session.pods[pod].group], session.cost_on(pod, node))

    def _key(self, pod: int, node: int, ranks: Mapping[int, int], later: bool) -> _Key | None:
        session = self._session
        number = session.shape_of[pod]
        shape, kind = session.shapes[number], session.kinds[number]
        if not session.fits(shape, node):
            return None
        with_gpu = kind is not Kind.NONE
        r = 0 if with_gpu else 1
        settings = session.settings
        free = session.idle[node][r] + session.releasing[node][r]
        if (settings.gpu_strategy if with_gpu else settings.cpu_strategy) == "spread":
            whole = session.nodes[node].allocatable[r]
            free = -free / whole if whole else 0.0
        shares = False
        if self._packs and session.gpus and (shape[2] is not None or not with_gpu) and node in session.gpus:
            shares = bool(session.gpus[node].joinable(shape[2] or _NOTHING))
        plain = not with_gpu and self._plain[node]
        waits = not later and not session.fits_now(shape, node)
        return (-ranks.get(node, 0), not shares, waits, not plain, free, node)

    def explain(self, pod: int) -> str:
        """Why the pod fits on no node: how many nodes for each reason."""
        session = self._session
        like = self.likeness(pod)
        tally = self._tallies.get(like)
        if tally is None:
            may, refused = session.site(pod)
            tally = self._tallies[like] = Tally(session, session.shapes[session.shape_of[pod]], may, refused)
        return messages.fit(tally.counts())

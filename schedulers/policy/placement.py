"""The best node for a pod, found fast: pods of the same shape and constraints share what was learnt.

Order of nodes (KAI plugins nodeavailability, resourcetype, nodeplacement): idle room before room that is being released;
CPU-only nodes first for pods without GPU; then bin-pack (least free GPUs, or CPU for pods without GPU) or spread; then name.
"""

from __future__ import annotations

from schedulers.policy import messages
from schedulers.policy.session import Session
from schedulers.policy.snapshot import Constraints

_Key = tuple[bool, bool, float, int]


class _Memory:
    """What is known about one (constraints, shape): the best node when the journal was last read up to ``read``."""

    __slots__ = ("best", "key", "read")

    def __init__(self) -> None:
        self.best = -1
        self.key: _Key | None = None
        self.read = -1


class Placer:
    """Finds nodes in one session. ``now`` False ignores whether room is idle (victims' room is as good as idle)."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._memory: dict[tuple[int, int], _Memory] = {}
        self._number_of: dict[int, int] = {}
        self._numbers: dict[Constraints, int] = {}
        self._nodes_of: dict[int, frozenset[int]] = {}
        self._errors: dict[tuple[int, int], tuple[int, str]] = {}

    def place(self, pod: int, *, now: bool = True) -> bool:
        """Put the pod onto its best node; False where none has room. ``now`` False pipelines it even onto idle room."""
        node = self._find(pod)
        if node < 0:
            return False
        session = self._session
        session.place(pod, node, now=now and session.fits_now(session.shapes[session.shape_of[pod]], node))
        return True

    def _find(self, pod: int) -> int:
        session = self._session
        what = (self._number(pod), session.shape_of[pod])
        memory = self._memory.get(what)
        if memory is None:
            memory = self._memory[what] = _Memory()
        journal = session.journal
        if memory.read < 0:
            self._scan(pod, memory)
        elif memory.read < len(journal):
            changed = set(journal[memory.read :])
            memory.read = len(journal)
            self._update(pod, memory, changed)
        return memory.best

    def _scan(self, pod: int, memory: _Memory) -> None:
        """Look at every node."""
        session = self._session
        memory.read = len(session.journal)
        memory.best, memory.key = -1, None
        for node in session.site(session.pods[pod].constraints)[0]:
            key = self._key(pod, node)
            if key is not None and (memory.key is None or key < memory.key):
                memory.best, memory.key = node, key

    def _update(self, pod: int, memory: _Memory, changed: set[int]) -> None:
        """Look at changed nodes only: enough unless the best one became worse than it was."""
        if memory.best in changed:
            key = self._key(pod, memory.best)
            if key is None or memory.key is None or key > memory.key:
                self._scan(pod, memory)
                return
            memory.key = key
        may = self._allowed(pod)
        for node in changed:
            if node in may:
                key = self._key(pod, node)
                if key is not None and (memory.key is None or key < memory.key):
                    memory.best, memory.key = node, key

    def _key(self, pod: int, node: int) -> _Key | None:
        session = self._session
        shape = session.shapes[session.shape_of[pod]]
        if not session.fits(shape, node):
            return None
        with_gpu = shape[0][0] > 0
        r = 0 if with_gpu else 1
        free = session.idle[node][r] + session.releasing[node][r]
        strategy = session.snapshot.gpu_strategy if with_gpu else session.snapshot.cpu_strategy
        whole = session.nodes[node].allocatable
        if strategy == "spread":
            free = -free / whole[r] if whole[r] else 0.0
        return (not session.fits_now(shape, node), not with_gpu and whole[0] > 0, free, node)

    def _number(self, pod: int) -> int:
        """A number for the pod's constraints."""
        number = self._number_of.get(pod)
        if number is None:
            constraints = self._session.pods[pod].constraints
            number = self._number_of[pod] = self._numbers.setdefault(constraints, len(self._numbers))
        return number

    def _allowed(self, pod: int) -> frozenset[int]:
        """Nodes that may take the pod, as a set."""
        number = self._number(pod)
        found = self._nodes_of.get(number)
        if found is None:
            found = self._nodes_of[number] = frozenset(self._session.site(self._session.pods[pod].constraints)[0])
        return found

    # -- explanation --------------------------------------------------------------------------------------------

    def explain(self, pod: int) -> str:
        """Why the pod fits on no node: how many nodes for each reason."""
        session = self._session
        what = (self._number(pod), session.shape_of[pod])
        known = self._errors.get(what)
        if known is not None and known[0] == len(session.journal):
            return known[1]
        may, refused = session.site(session.pods[pod].constraints)
        counts = dict(refused)
        for node in may:
            for reason in self._short_of(pod, node):
                counts[reason] = counts.get(reason, 0) + 1
        text = messages.fit(counts)
        self._errors[what] = (len(session.journal), text)
        return text

    def _short_of(self, pod: int, node: int) -> list[str]:
        session = self._session
        want, extra = session.shapes[session.shape_of[pod]]
        idle, releasing = session.idle[node], session.releasing[node]
        reasons = [messages.lacks(messages.resource_name(r)) for r in range(3) if idle[r] + releasing[r] < want[r]]
        for name, amount in extra:
            if session.idle_extra[node].get(name, 0.0) + session.releasing_extra[node].get(name, 0.0) < amount:
                reasons.append(messages.lacks(name))
        if not reasons and idle[3] + releasing[3] < 1:
            reasons.append(messages.PODS_EXCEEDED)
        return reasons

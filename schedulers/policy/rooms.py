"""Counts over all nodes that follow the session's changes: how many pods of a kind fit, and why nodes have no room for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schedulers.policy import messages
from schedulers.policy.session import Session, Shape


class Room:
    """How many pods of one shape fit on some nodes, idle room and room that is being released together."""

    __slots__ = ("_counts", "_read", "_session", "_shape", "_sum")

    def __init__(self, session: Session, shape: Shape, nodes: Iterable[int]) -> None:
        self._session = session
        self._shape = shape
        self._counts = {node: session.count(shape, node) for node in nodes}
        self._sum = sum(self._counts.values())
        self._read = len(session.journal)

    def count(self) -> int:
        """Pods that fit now."""
        journal = self._session.journal
        if self._read < len(journal):
            for node in set(journal[self._read :]):
                old = self._counts.get(node)
                if old is not None:
                    new = self._counts[node] = self._session.count(self._shape, node)
                    self._sum += new - old
            self._read = len(journal)
        return self._sum


class Tally:
    """What each node is short of for one shape, counted by reason."""

    __slots__ = ("_counts", "_read", "_reasons", "_session", "_shape")

    def __init__(self, session: Session, shape: Shape, nodes: Iterable[int], refused: Mapping[str, int]) -> None:
        self._session = session
        self._shape = shape
        self._counts = dict(refused)
        self._reasons: dict[int, tuple[str, ...]] = {}
        self._read = len(session.journal)
        for node in nodes:
            self._reasons[node] = ()
            self._look(node)

    def counts(self) -> Mapping[str, int]:
        """Nodes for each reason, as of now."""
        journal = self._session.journal
        if self._read < len(journal):
            for node in set(journal[self._read :]):
                if node in self._reasons:
                    self._look(node)
            self._read = len(journal)
        return {reason: count for reason, count in self._counts.items() if count}

    def _look(self, node: int) -> None:
        for reason in self._reasons[node]:
            self._counts[reason] -= 1
        reasons = self._reasons[node] = _short_of(self._session, self._shape, node)
        for reason in reasons:
            self._counts[reason] = self._counts.get(reason, 0) + 1


def _short_of(session: Session, shape: Shape, node: int) -> tuple[str, ...]:
    want, extra, share = shape
    idle, releasing = session.idle[node], session.releasing[node]
    reasons = [messages.lacks(messages.resource_name(r)) for r in range(3) if idle[r] + releasing[r] < want[r]]
    for name, amount in extra:
        if session.idle_extra[node].get(name, 0.0) + session.releasing_extra[node].get(name, 0.0) < amount:
            reasons.append(messages.lacks(name))
    if not reasons and share is not None and not session.has_gpus_for(share, node):
        reasons.append(messages.lacks(messages.resource_name(0)))
    if not reasons and idle[3] + releasing[3] < (1 if share is None else 2):
        reasons.append(messages.PODS_EXCEEDED)
    return tuple(reasons)

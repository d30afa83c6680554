"""A live picture of the objects that a check looks at, kept by watches, and the two waits on it.

Waiting on one picture instead of many single watches lets a condition speak about several kinds at once, and makes sure
that whatever a check decides on also stands in its timeline.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from base.deadlines import Deadline
from base.errors import CheckFailed, DeadlineExceeded
from base.kube import Cluster, Kind, Object, watch
from validation.harness.timeline import Timeline, tell
from validation.outcomes import Unknown

__all__ = ["Board", "Mirror"]

T = TypeVar("T")

#: A first list takes a fraction of a second; this long only when the API server is in trouble.
_FIRST_LIST = 20.0
_LIFETIME = 3600.0


class Mirror:
    """All live objects of one kind and scope by name. ``past`` keeps the last state of those that are gone."""

    def __init__(self, board: Board, kind: Kind, namespace: str | None, labels: str) -> None:
        self.kind, self.namespace, self.labels = kind, namespace, labels
        self.live: dict[str, Object] = {}
        self.past: dict[str, Object] = {}
        self.error: Exception | None = None
        self.listed = False
        self._board = board
        self._thread = threading.Thread(target=self._follow, name=f"watch {kind.plural}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join(timeout=15.0)

    def refresh(self) -> None:
        """Take the state from a fresh list, for the case that the watch has fallen behind."""
        items, _ = self._board.cluster.list(self.kind, self.namespace, labels=self.labels)
        with self._board.changed:
            fresh = {item["metadata"]["name"]: item for item in items}
            for name in [name for name in self.live if name not in fresh]:
                self._take("DELETED", self.live[name])
            for item in fresh.values():
                self._take("MODIFIED", item)

    def _follow(self) -> None:
        board = self._board
        try:
            for change in watch(
                board.cluster, self.kind, Deadline.after(_LIFETIME), self.namespace, labels=self.labels, stop=board.closed
            ):
                with board.changed:
                    if board.closed():
                        return
                    if change is None:
                        self.listed = True
                    else:
                        self._take(change.type, change.object)
                    board.changed.notify_all()
        except Exception as error:
            # handed to whoever waits on the board: a thread has nobody to raise to
            with board.changed:
                self.error = error
                board.changed.notify_all()

    def _take(self, change: str, item: Object) -> None:
        item.setdefault("kind", self.kind.kind)
        item.setdefault("apiVersion", self.kind.api_version)
        name = item["metadata"]["name"]
        old = self.live.get(name)
        if old and change != "DELETED" and _version(item) <= _version(old):
            return  # seen already, or older than what a fresh list showed
        if change == "DELETED":
            if self.live.pop(name, None) is None:
                return
            self.past[name] = item
        else:
            self.live[name] = item
        for line in tell(old, None if change == "DELETED" else item):
            self._board.timeline.add(line)


class Board:
    """Mirrors over one cluster that share a lock, a timeline and an end."""

    def __init__(self, cluster: Cluster, timeline: Timeline) -> None:
        self.cluster = cluster
        self.timeline = timeline
        self.changed = threading.Condition(threading.RLock())
        self._closed = threading.Event()
        self._mirrors: list[Mirror] = []

    def closed(self) -> bool:
        return self._closed.is_set()

    def mirror(self, kind: Kind, namespace: str | None = None, *, labels: str = "") -> Mirror:
        """Start to follow a kind; returns after the first complete list."""
        mirror = Mirror(self, kind, namespace, labels)
        self._mirrors.append(mirror)
        mirror.start()
        self._wait(lambda: mirror.listed or None, Deadline.after(_FIRST_LIST), f"first list of {kind.plural}")
        return mirror

    def until(self, decide: Callable[[], T | None], what: str, *, within: float, now: Callable[[], str] | None = None) -> T:
        """Wait until ``decide`` returns something true (so an empty name or list means: not yet).

        DeadlineExceeded names ``what`` and, through ``now``, how things stand. Before giving up, the state is read afresh,
        so that a slow watch is never taken for a slow scheduler; Unavailable when that cannot be done.
        """
        try:
            return self._wait(decide, Deadline.after(within), what)
        except DeadlineExceeded as late:
            self._refresh()
            with self.changed:
                found = decide()
                if found:
                    return found
                stand = f"; {now()}" if now else ""
            raise DeadlineExceeded(f"{late.message}{stand}") from None

    def hold(self, broken: Callable[[], str | None], *, seconds: float) -> None:
        """Watch for ``seconds`` that ``broken`` keeps returning None; CheckFailed with what it returns otherwise."""
        self.timeline.add(f"quiet window of {seconds:g} s begins")
        started = time.monotonic()
        with contextlib.suppress(DeadlineExceeded):
            said = self._wait(broken, Deadline.after(seconds), "nothing")
            raise CheckFailed(f"{time.monotonic() - started:.1f} s into a quiet window of {seconds:g} s: {said}")
        self._refresh()
        with self.changed:
            said_late = broken()
        if said_late:
            raise CheckFailed(f"at the end of a quiet window of {seconds:g} s: {said_late}")
        self.timeline.add(f"quiet window of {seconds:g} s ends, nothing happened")

    @contextlib.contextmanager
    def steady(self) -> Iterator[None]:
        """Hold the picture still while it is read."""
        with self.changed:
            yield

    def freeze(self) -> None:
        """Take nothing in any more: what comes now is the check's own clean-up. The watches end with their next change."""
        self._closed.set()

    def close(self) -> None:
        """Stop all watches; returns when their threads have ended."""
        self.freeze()
        for mirror in self._mirrors:
            mirror.join()

    def _refresh(self) -> None:
        for mirror in self._mirrors:
            mirror.refresh()

    def _wait(self, decide: Callable[[], T | None], deadline: Deadline, what: str) -> T:
        with self.changed:
            while True:
                for mirror in self._mirrors:
                    if mirror.error is not None:
                        raise Unknown(f"the watch of {mirror.kind.plural} broke: {mirror.error}") from mirror.error
                found = decide()
                if found:
                    return found
                deadline.check(what)
                # woken by every change; once a second besides, because time itself may be part of the question
                self.changed.wait(timeout=min(1.0, deadline.remaining() + 0.01))


def _version(item: Object) -> int:
    """Resource versions of one kind are ordered numbers (KEP-5504, and so in every release of etcd storage before it)."""
    return int(item["metadata"].get("resourceVersion") or 0)

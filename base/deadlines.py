"""Deadlines, and the one polling wait for things that offer no watch (a port, a process, a file).

Waits on the Kubernetes API go through :mod:`base.kube`, which watches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from base.errors import DeadlineExceeded

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on the monotonic clock after which a wait gives up."""

    at: float
    total: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        return cls(at=time.monotonic() + seconds, total=seconds)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - time.monotonic())

    def passed(self) -> bool:
        return self.remaining() <= 0.0

    def check(self, what: str, *, where: str = "", todo: str = "") -> None:
        """Raise DeadlineExceeded when the moment has passed."""
        if self.passed():
            raise DeadlineExceeded(f"{what} did not happen within {self.total:g} s", where=where, todo=todo)


def poll(probe: Callable[[], T | None], deadline: Deadline, what: str, *, every: float = 0.05, todo: str = "") -> T:
    """Call ``probe`` until it returns something other than None or False; DeadlineExceeded otherwise."""
    while True:
        found = probe()
        if found is not None and found is not False:
            return found
        deadline.check(what, todo=todo)
        time.sleep(min(every, max(0.001, deadline.remaining())))

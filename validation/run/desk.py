"""Who runs which check next. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

__all__ = ["Answer", "Desk"]


class Answer(Enum):
    """What a worker that asks for work is told when there is no check for it."""

    WAIT = "wait"
    STOP = "stop"


@dataclass(slots=True)
class Desk:
    """Checks in the order in which they are handed out. Those in ``alone`` run last, and one at a time."""

    todo: list[str]
    alone: list[str]
    running: dict[int, str] = field(default_factory=dict)
    closed: bool = False

    def ask(self, worker: int) -> str | Answer:
        """The next check for a worker that has nothing to do."""
        if self.closed:
            return Answer.STOP
        if self.todo:
            return self._give(worker, self.todo.pop(0))
        if not self.alone:
            return Answer.STOP
        if self.running:
            return Answer.WAIT
        return self._give(worker, self.alone.pop(0))

    def done(self, worker: int) -> None:
        """The worker's check has come to its end, or the worker has."""
        self.running.pop(worker, None)

    def close(self) -> None:
        """Hand out nothing more."""
        self.closed = True

    def _give(self, worker: int, name: str) -> str:
        self.running[worker] = name
        return name

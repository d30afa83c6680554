"""The child processes of a run: started together, fed one check at a time, followed, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from base.deadlines import Deadline
from validation.run.desk import Answer, Desk

__all__ = ["Crew", "Worker", "muster"]

_ROOT = Path(__file__).resolve().parents[2]

Take = Callable[["Worker", dict[str, Any]], None]


class Worker:
    """One child. ``ready`` while it waits for work, ``planned`` once it has said which checks there are."""

    def __init__(self, number: int, order: Path, errors: IO[bytes]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONUNBUFFERED": "1"}
        environment.pop("PYTEST_ADDOPTS", None)
        self.number = number
        self.ready = self.ended = self.gone = False
        self._pending = b""
        self._child = subprocess.Popen(
            [sys.executable, "-m", "validation.run.worker", str(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            cwd=_ROOT,
            start_new_session=True,  # the terminal's Ctrl-C goes to the parent alone, which passes it on once
        )

    @property
    def channel(self) -> int:
        assert self._child.stdout is not None
        return self._child.stdout.fileno()

    def tell(self, line: str) -> None:
        """One line to the child; a child that is gone does not hear it."""
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(line.encode() + b"\n")
            self._child.stdin.flush()

    def hear(self) -> list[dict[str, Any]]:
        """The messages that have come; marks the worker ``gone`` at the end of its channel."""
        piece = os.read(self.channel, 1 << 16)
        if not piece:
            self._child.wait()
            self.gone = True
            return []
        *lines, self._pending = (self._pending + piece).split(b"\n")
        return [json.loads(line) for line in lines]

    def interrupt(self) -> None:
        if not self.gone:
            self._child.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Kill it if need be, and close its pipes."""
        if self._child.poll() is None:
            self._child.kill()
        self._child.wait()
        self.gone = True
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    @property
    def fault(self) -> str:
        """How it ended when it did not end well: ``signal 9``, ``exit 3``; empty otherwise."""
        code = self._child.returncode
        if code == 0 and self.ended:
            return ""
        return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


class Crew:
    """All workers of a run and the desk that feeds them; the desk comes with the first worker's plan."""

    def __init__(self, workers: list[Worker]) -> None:
        self.workers = workers
        self.desk: Desk | None = None

    @property
    def at_work(self) -> list[Worker]:
        return [worker for worker in self.workers if not worker.gone]

    def follow(self, take: Take, deadline: Deadline) -> bool:
        """Feed the workers and hand their messages to ``take`` until all have ended; False when the deadline came first."""
        with selectors.DefaultSelector() as selector:
            for worker in self.at_work:
                selector.register(worker.channel, selectors.EVENT_READ, worker)
            while self.at_work:
                if deadline.passed():
                    return False
                for key, _ in selector.select(timeout=min(1.0, deadline.remaining())):
                    worker = key.data
                    for message in worker.hear():
                        take(worker, message)
                    if worker.gone:
                        selector.unregister(key.fileobj)
                        if self.desk:
                            self.desk.done(worker.number)
                self._feed()
        return True

    def interrupt(self) -> None:
        """Ask all to break off, to clean up and to end."""
        if self.desk:
            self.desk.close()
        for worker in self.workers:
            worker.interrupt()

    def _feed(self) -> None:
        if self.desk is None:
            return
        for worker in self.at_work:
            if not worker.ready:
                continue
            answer = self.desk.ask(worker.number)
            if answer is Answer.WAIT:
                continue
            worker.ready = False
            worker.tell("stop" if answer is Answer.STOP else f"run {answer}")


@contextlib.contextmanager
def muster(count: int, order: Path, log: Path) -> Iterator[Crew]:
    """Start ``count`` workers; none of them outlives the block."""
    log.parent.mkdir(parents=True, exist_ok=True)
    workers: list[Worker] = []
    try:
        with log.open("ab") as errors:
            for number in range(count):
                workers.append(Worker(number, order, errors))
        yield Crew(workers)
    finally:
        for worker in workers:
            worker.end()

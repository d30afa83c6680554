"""Progress that people can read and events that programs can read, from the same calls.

One :class:`Reporter` is made by the command line and handed down; rooms never print. On a terminal a step is one
line with its elapsed time; elsewhere it is one line at its end; with ``--json`` each event is one JSON object a line
on standard error, so that standard output stays the result.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Protocol, TextIO

__all__ = ["JsonReporter", "QuietReporter", "Reporter", "Step", "TextReporter"]


class Step:
    """A running step. ``note`` replaces the detail shown beside the elapsed time."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.detail = ""
        self.started = time.monotonic()

    def note(self, detail: str) -> None:
        self.detail = detail

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self.started


class Reporter(Protocol):
    """What a room may tell its user while it works."""

    def step(self, name: str) -> contextlib.AbstractContextManager[Step]:
        """A step with a beginning and an end; an exception inside marks it failed and goes on."""
        ...

    def event(self, kind: str, message: str, **fields: Any) -> None:
        """One thing that happened. ``kind`` is a stable word for programs, ``message`` is for people."""
        ...


class QuietReporter:
    """Says nothing; for tests and for library use."""

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[Step]:
        yield Step(name)

    def event(self, kind: str, message: str, **fields: Any) -> None:
        del kind, message, fields


class JsonReporter:
    """One JSON object a line: ``{"time", "event", "message", ...}``; steps have ``elapsed_s``."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._lock = threading.Lock()

    def event(self, kind: str, message: str, **fields: Any) -> None:
        record = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "event": kind, "message": message, **fields}
        with self._lock:
            print(json.dumps(record, default=str), file=self._stream, flush=True)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[Step]:
        step = Step(name)
        self.event("step-started", name)
        try:
            yield step
        except BaseException as error:
            self.event("step-failed", name, elapsed_s=round(step.elapsed, 3), error=type(error).__name__)
            raise
        self.event("step-done", name, elapsed_s=round(step.elapsed, 3), detail=step.detail)


class TextReporter:
    """Lines for people. On a terminal the running step's line is redrawn each second with its elapsed time."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._tty = self._stream.isatty()
        self._lock = threading.Lock()

    def event(self, kind: str, message: str, **fields: Any) -> None:
        del kind, fields
        with self._lock:
            self._clear()
            print(f"  {message}", file=self._stream, flush=True)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[Step]:
        step = Step(name)
        stop = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(step, stop), daemon=True)
        if self._tty:
            ticker.start()
        mark = "failed"
        try:
            yield step
            mark = "ok"
        except KeyboardInterrupt:
            mark = "interrupted"
            raise
        finally:
            stop.set()
            if self._tty:
                ticker.join()
            with self._lock:
                self._clear()
                detail = f"  {step.detail}" if step.detail else ""
                print(f"{mark:>11}  {name}  {step.elapsed:.1f} s{detail}", file=self._stream, flush=True)

    def _tick(self, step: Step, stop: threading.Event) -> None:
        while not stop.wait(1.0):
            with self._lock:
                self._clear()
                detail = f"  {step.detail}" if step.detail else ""
                print(f"{'...':>11}  {step.name}  {step.elapsed:.0f} s{detail}"[:118], end="", file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._tty:
            print("\r\033[K", end="", file=self._stream)

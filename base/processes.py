"""Processes that outlive the command that started them, known by process id and start time.

A bare process id is not an identity: after a reboot or a wrap-around it may belong to anybody. Every record keeps
the kernel's start time of the process beside its id, and nothing is signalled unless both still match.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from base.deadlines import Deadline, poll
from base.errors import DeadlineExceeded, Unavailable
from base.files import room_errors, write_json

__all__ = ["Process", "alive", "identity", "load", "spawn", "stop"]


@dataclass(frozen=True, slots=True)
class Process:
    """A recorded process: ``start`` is field 22 of /proc/PID/stat (clock ticks since boot), ``boot`` the boot id."""

    name: str
    pid: int
    start: int
    boot: str
    command: tuple[str, ...]


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identity(pid: int) -> int | None:
    """Start time of a live, non-zombie process, else None."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def alive(process: Process) -> bool:
    """True when that very process (not just its id) still runs."""
    return process.boot == _boot() and identity(process.pid) == process.start


def spawn(
    name: str, command: Sequence[str], *, record: Path, log: Path, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Process:
    """Start ``command`` in a session of its own, output appended to ``log``, and write its record before returning."""
    with room_errors(log.parent):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            try:
                child = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    cwd=cwd,
                    start_new_session=True,
                )
            except OSError as error:
                raise Unavailable(f"cannot start {name}: {error.strerror}", where=command[0]) from error
    process = Process(name, child.pid, identity(child.pid) or 0, _boot(), tuple(command))
    try:
        write_json(record, asdict(process))
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        child.wait()
        raise
    child.returncode = 0  # the child is meant to outlive this object; its record, not Popen, looks after it
    return process


def load(record: Path) -> Process | None:
    """The process that a record names, or None when there is no readable record."""
    try:
        raw = json.loads(record.read_text())
        return Process(raw["name"], raw["pid"], raw["start"], raw["boot"], tuple(raw["command"]))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def stop(process: Process, *, grace: float = 10.0) -> None:
    """SIGTERM, then SIGKILL after ``grace`` seconds; returns once the process is gone. A stranger is left alone."""
    if not alive(process):
        _reap(process.pid)
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGTERM)
    try:
        poll(lambda: _gone(process), Deadline.after(grace), f"stop of {process.name}")
    except DeadlineExceeded:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        poll(lambda: _gone(process), Deadline.after(10), f"kill of {process.name}")


def _gone(process: Process) -> bool:
    _reap(process.pid)
    return not alive(process)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)

"""Processes that outlive the command that started them, known by process id and start time.

A bare process id is not an identity: after a reboot or a wrap-around it may belong to anybody. Every record keeps
the kernel's start time of the process beside its id, and nothing is signalled unless both still match.

No program runs without a record: it is born as a gate that becomes the program only once its record is on the disk,
and goes away by itself when whoever wanted to start it was killed in between.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from base.deadlines import Deadline, poll
from base.errors import DeadlineExceeded, Unavailable
from base.files import room_errors, write_json

__all__ = ["Process", "alive", "describe", "identity", "interrupt", "load", "spawn", "stop"]


#: Waits for one line on its input, then becomes the program; ends when the input closes without one.
_GATE = 'read -r go || exit 125; exec "$0" "$@" </dev/null'


@dataclass(frozen=True, slots=True)
class Process:
    """A recorded process: ``start`` is field 22 of /proc/PID/stat (clock ticks since boot), ``boot`` the boot id.

    ``digest`` is whatever the caller gave for what the command line does not show (the content of its files).
    """

    name: str
    pid: int
    start: int
    boot: str
    command: tuple[str, ...]
    digest: str = ""


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def identity(pid: int) -> int | None:
    """Start time of a live, non-zombie process, else None.

    A process whose first thread has ended while others still do shows as a zombie and holds its files and ports: it lives.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} and int(fields[17]) <= 1 else int(fields[19])


def describe(name: str, pid: int, command: Sequence[str]) -> Process:
    """The identity of a process that was started in another way than :func:`spawn`, for a record of it."""
    return Process(name, pid, identity(pid) or 0, _boot(), tuple(command))


def alive(process: Process) -> bool:
    """True when that very process (not just its id) still runs."""
    return process.boot == _boot() and identity(process.pid) == process.start


def spawn(
    name: str,
    command: Sequence[str],
    *,
    record: Path,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    digest: str = "",
) -> Process:
    """Start ``command`` in a session of its own, output appended to ``log``, and write its record before it runs.

    Unavailable where the program cannot be run or the disk is full; nothing is left running then.
    """
    program = shutil.which(command[0])
    if program is None:
        raise Unavailable(f"cannot start {name}: no such program", where=command[0])
    with room_errors(log.parent):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            try:
                child = subprocess.Popen(
                    ["/bin/sh", "-c", _GATE, program, *command[1:]],
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    cwd=cwd,
                    start_new_session=True,
                )
            except OSError as error:
                raise Unavailable(f"cannot start {name}: {error.strerror}", where=command[0]) from error
    gate = child.stdin
    assert gate is not None
    process = Process(name, child.pid, identity(child.pid) or 0, _boot(), tuple(command), digest)
    try:
        write_json(record, asdict(process))
        gate.write(b"go\n")
        gate.close()
    except BaseException:
        with contextlib.suppress(OSError):
            gate.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(child.pid, signal.SIGKILL)
        child.wait()
        record.unlink(missing_ok=True)
        raise
    child.returncode = 0  # the child is meant to outlive this object; its record, not Popen, looks after it
    return process


def load(record: Path) -> Process | None:
    """The process that a record names, or None when there is no readable record."""
    try:
        raw = json.loads(record.read_text())
        return Process(raw["name"], raw["pid"], raw["start"], raw["boot"], tuple(raw["command"]), str(raw.get("digest", "")))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def interrupt(process: Process) -> None:
    """SIGINT to that very process, if it still runs; does not wait."""
    if alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGINT)


def stop(process: Process, *, grace: float = 10.0) -> None:
    """SIGTERM, then SIGKILL after ``grace`` seconds; returns once the process is gone. A stranger is left alone.

    What the process started and did not put into a session of its own goes with it.
    """
    others = {pid: start for pid, start in session(process).items() if pid != process.pid}
    if alive(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        try:
            poll(lambda: _gone(process), Deadline.after(grace), f"stop of {process.name}")
        except DeadlineExceeded:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            poll(lambda: _gone(process), Deadline.after(10), f"kill of {process.name}")
    else:
        _reap(process.pid)
    for pid, start in others.items():
        if identity(pid) == start:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    poll(lambda: all(identity(p) != s for p, s in others.items()), Deadline.after(10), f"kill of what {process.name} started")


def session(process: Process) -> dict[int, int]:
    """Process ids and start times of all live processes in the session of ``process``, itself among them while it lives.

    Empty where its id belongs to a stranger by now. As long as one member lives, the kernel gives the id to nobody else.
    """
    if process.boot != _boot() or identity(process.pid) not in {None, process.start}:
        return {}
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == process.pid and fields[0] not in {"Z", "X"}:
                    found[int(entry.name)] = int(fields[19])
    return found


def _gone(process: Process) -> bool:
    _reap(process.pid)
    return not alive(process)


def _reap(pid: int) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)

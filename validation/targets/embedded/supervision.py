"""Starting, finding and stopping a cluster's programs. There is no supervisor: ``up`` is what repairs.

A process that restarts others would itself need one, and would hide from a check that a program keeps dying. So what died
stays dead until the next ``up``, which starts just that. Programs of pods are the exception: the host agent restarts
them as a kubelet does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from base import processes
from base.deadlines import Deadline
from base.errors import DeadlineExceeded, Unavailable
from base.files import room_errors
from validation.targets.embedded import sockets
from validation.targets.embedded.control_plane import Component, environment
from validation.targets.embedded.layout import PROGRAMS, Layout
from validation.targets.embedded.logs import tail, turn

#: etcd lays out two 64 MiB log segments ahead, and wants room to grow.
NEW_CLUSTER_MIB, OLD_CLUSTER_MIB = 300, 48
_STOP_SECONDS = 10.0


def enough_room(layout: Layout) -> None:
    """Unavailable where the state directory's disk is too full for the programs to work."""
    needed = OLD_CLUSTER_MIB if (layout.etcd / "member").exists() else NEW_CLUSTER_MIB
    disk = os.statvfs(next(path for path in (layout.directory, *layout.directory.parents) if path.exists()))
    free = disk.f_bavail * disk.f_frsize // (1024 * 1024)
    if free < needed and disk.f_blocks == 0:
        raise Unavailable("nothing can be written there", where=str(layout.directory), todo="choose another --state directory")
    if free < needed:
        raise Unavailable(
            f"no space left on the disk: {free} MiB are free, {needed} MiB are needed",
            where=str(layout.directory),
            todo="free space there and run the same command again",
        )
    with room_errors(layout.directory):
        layout.directory.mkdir(parents=True, exist_ok=True, mode=0o700)


def running(layout: Layout, name: str) -> processes.Process | None:
    """The recorded process of a program, when it still runs."""
    process = processes.load(layout.record(name))
    return process if process is not None and processes.alive(process) else None


def ensure(layout: Layout, component: Component, before: Callable[[], None] | None = None) -> str:
    """Have the program run just as it should; ``kept``, ``started`` or ``restarted`` (it ran with other arguments or files).

    ``before`` is called when it has to be started, once no old process is there.
    """
    process = running(layout, component.name)
    if process is not None:
        if process.command == component.command and process.digest == component.digest:
            return "kept"
        processes.stop(process, grace=_STOP_SECONDS)
    if before is not None:
        before()
    turn(layout.log(component.name))
    processes.spawn(
        component.name,
        component.command,
        record=layout.record(component.name),
        log=layout.log(component.name),
        env=environment(),
        cwd=layout.directory,
        digest=component.digest,
    )
    return "started" if process is None else "restarted"


def strangers_ports(layout: Layout, ports: dict[str, int], owners: dict[str, str]) -> set[str]:
    """Names of ports that somebody else listens on. ``owners`` maps a port's name to the program of ours that may."""
    return {name for name, port in ports.items() if not sockets.is_free(port) and running(layout, owners[name]) is None}


def stop(layout: Layout, name: str) -> None:
    """Stop one program, when it runs."""
    process = running(layout, name)
    if process is not None:
        processes.stop(process, grace=_STOP_SECONDS)


def stop_all(layout: Layout) -> list[str]:
    """Stop every recorded process, programs of pods after the host agent that would restart them. Names of those stopped."""
    stopped = []
    for name in reversed(PROGRAMS):
        stopped += _stop(layout.record(name))
        if name == "host-agent":
            for record in sorted(layout.run.glob("pod.*.json")):
                stopped += _stop(record)
    return stopped


def orphans(state: Path) -> list[processes.Process]:
    """Processes of clusters of this state directory whose records are gone (somebody removed the directory by hand).

    A program of a cluster has its directory among its arguments; one whose directory still exists is looked after by records.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if entry.stat().st_uid != os.geteuid():
                continue
            arguments = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        places = {match.group(1) for argument in arguments if (match := _of_cluster(state).search(argument))}
        if places and not any((state / "clusters" / name).exists() for name in places):
            found.append(processes.describe(Path(arguments[0]).name, int(entry.name), arguments))
    return found


def _of_cluster(state: Path) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(str(state))}/clusters/([^/]+)/")


def _stop(record: Path) -> list[str]:
    process = processes.load(record)
    names = []
    if process is not None and processes.alive(process):
        processes.stop(process, grace=_STOP_SECONDS)
        names = [process.name]
    record.unlink(missing_ok=True)
    return names


def check_alive(layout: Layout, *names: str) -> None:
    """Unavailable with the end of its log when one of the programs is gone; says so when the disk is the reason."""
    for name in names:
        if running(layout, name) is None:
            text = tail(layout.log(name))
            if "no space left on device" in text or "disk quota exceeded" in text:
                raise Unavailable(
                    f"no space left on the disk: {name} ended",
                    where=str(layout.directory),
                    todo="free space there and run the same command again",
                )
            raise Unavailable(f"{name} ended:\n{text}", where=str(layout.log(name)), todo="run the same command again")


def missed(deadline: Deadline, layout: Layout, name: str) -> None:
    """DeadlineExceeded with the end of the program's log when the deadline has passed."""
    if deadline.passed():
        raise DeadlineExceeded(
            f"{name} was not ready within {deadline.total:g} s:\n{tail(layout.log(name))}", where=str(layout.log(name))
        )

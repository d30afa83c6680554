"""Files that are whole or absent, and locks that die with their holder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from base.errors import Refused, Unavailable

#: errno values that mean "no room", which a user mends by freeing space and not by trying again.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
#: And those that mean "not there": permissions, a read-only file system, a file where a directory should be.
_NO_WAY = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}


@contextlib.contextmanager
def room_errors(where: Path) -> Iterator[None]:
    """Turn a full disk, and a place that takes no files, into an error that names it."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise Unavailable(
                "no space left on the disk", where=str(where), todo="free space there and run the same command again"
            ) from error
        if error.errno in _NO_WAY:
            raise Unavailable(
                f"cannot write there: {error.strerror}", where=str(where), todo="choose another place, or mend its permissions"
            ) from error
        raise


def write_atomic(path: Path, data: str | bytes, *, mode: int = 0o644) -> None:
    """Write beside the target, fsync, rename: a reader sees the old content or the new, never a part."""
    raw = data.encode() if isinstance(data, str) else data
    with room_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def write_json(path: Path, value: Any, *, mode: int = 0o644) -> None:
    """Sorted, indented, newline at the end, so that two writes of one value are byte-equal."""
    write_atomic(path, json.dumps(value, indent=2, sort_keys=True) + "\n", mode=mode)


@contextlib.contextmanager
def lock(path: Path, purpose: str, *, wait: float = 0.0) -> Iterator[None]:
    """Hold an exclusive advisory lock on ``path`` for the length of the block.

    The kernel drops it when the holder ends, however it ends, so no lock is ever stale. The holder's process id,
    purpose and start stand in the file for the message that the second one gets (Refused after ``wait`` seconds).
    """
    with room_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        end = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() < end:
                    time.sleep(0.1)
                    continue
                holder = os.pread(handle, 4096, 0).decode(errors="replace").strip() or "another process"
                raise Refused(
                    f"{purpose} is already going on",
                    where=f"held by {holder}",
                    todo="wait for it to end, or stop that process",
                ) from None
        started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        with contextlib.suppress(OSError):  # the lock holds without its note, on a full disk too
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} ({purpose}) since {started}\n".encode(), 0)
        yield
    finally:
        os.close(handle)

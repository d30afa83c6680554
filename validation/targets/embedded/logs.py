"""Log files of the cluster's programs: the end of one for a message, and a limit to their growth."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_LIMIT = 16 * 1024 * 1024


def tail(log: Path, lines: int = 12) -> str:
    """The end of a log, each line cut at 300 characters."""
    with contextlib.suppress(FileNotFoundError), log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - 16384))
        text = file.read().decode(errors="replace").splitlines()[-lines:]
        return "\n".join(f"    {line[:300]}" for line in text)
    return "    (no log)"


def turn(log: Path) -> None:
    """Between two runs of its program a log that has grown large becomes the one old log."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LIMIT:
            log.replace(log.with_suffix(".old.log"))

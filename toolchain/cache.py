"""The user's cache of programs: one directory an entry, whole or absent, named by what it was made from.

``tools/<name>/<key>/`` holds the program, what belongs beside it, and ``entry.json``. An entry is made in a
directory of its own and renamed into place, so an interrupted build or a full disk leaves no entry.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from base.errors import Refused
from base.events import Reporter
from base.files import lock, room_errors, write_json
from base.places import cache_dir
from toolchain.pins import Build, Platform, Release, Tool

#: Raised when the way of building changes in a manner that the pins do not show.
RECIPE = 1
_SCRATCH = ".scratch-"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a cached program. ``source`` is ``release`` or ``build``, ``origin`` the URL or module."""

    name: str
    version: str
    source: str
    origin: str
    sha256: str
    size: int
    seconds: float
    made_with: str = ""

    @property
    def file(self) -> str:
        return self.name


def tools_dir() -> Path:
    return cache_dir() / "tools"


def build_key(build: Build, here: Platform) -> str:
    """Names the result of a build by everything that decides it, except the compiler's own patch level.

    The compiler is left out so that a machine whose Go is gone or newer still uses what it has; the entry says
    which one was used.
    """
    parts = [
        str(RECIPE),
        (build.directory / "go.mod").read_text(),
        (build.directory / "go.sum").read_text(),
        build.package,
        build.ldflags,
        repr(build.embed),
        str(here),
    ]
    return _digest(parts)


def release_key(release: Release, here: Platform) -> str:
    return _digest([str(RECIPE), release.url, release.member, repr(release.beside), str(here)])


def _digest(parts: list[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)}:".encode() + part.encode())
    return digest.hexdigest()[:20]


def keys(tool: Tool) -> Mapping[str, str]:
    """Keys under which a tool may lie, the release's first: ``{key: source}``."""
    found = {release_key(tool.release, tool.platform): "release"} if tool.release else {}
    return {**found, build_key(tool.build, tool.platform): "build"}


def lookup(tool: Tool) -> tuple[Path, Entry] | None:
    """The cached program, or None. An entry whose program is missing or of another size does not count."""
    for key in keys(tool):
        directory = tools_dir() / tool.name / key
        try:
            entry = Entry(**json.loads((directory / "entry.json").read_text()))
            program = directory / entry.file
            if program.stat().st_size == entry.size and os.access(program, os.X_OK):
                return program, entry
        except (OSError, ValueError, TypeError):
            continue
    return None


@contextlib.contextmanager
def scratch(room: Path | None = None) -> Iterator[Path]:
    """A directory in ``room`` (default: that of the tools) for making an entry; gone afterwards, whatever happens."""
    root = room or tools_dir()
    with room_errors(root):
        root.mkdir(parents=True, exist_ok=True)
        directory = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=root))
    try:
        yield directory
    finally:
        _remove(directory)


def publish(tool: Tool, key: str, program: Path, entry: Entry, beside: tuple[Path, ...] = ()) -> Path:
    """Make ``program`` (a file on the cache's file system) the cached one and return its final path."""
    final = tools_dir() / tool.name / key
    with room_errors(final.parent):
        final.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=tools_dir()))
        try:
            for file, name in ((program, entry.file), *((other, other.name) for other in beside)):
                os.chmod(file, 0o755)
                os.replace(file, made / name)
            write_json(made / "entry.json", asdict(entry))
            os.chmod(made, 0o755)
            if final.exists():  # a broken entry: it was not found by lookup
                _remove(final)
            os.replace(made, final)
        finally:
            _remove(made)
    return final / entry.file


@contextlib.contextmanager
def making(what: str, reporter: Reporter, room: Path | None = None) -> Iterator[None]:
    """Hold the lock under which entries of ``room`` are made, one at a time; wait for its holder, saying who that is.

    Scratch directories are only made under it, so those that are found then are of a run that was killed.
    """
    root = room or tools_dir()
    path = root / ".lock"
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(lock(path, what))
        except Refused as held:
            with reporter.step("waiting for another build to end") as step:
                step.note(held.where)
                reporter.event("tool-waiting", f"waiting for another build to end, {held.where}")
                stack.enter_context(lock(path, what, wait=float("inf")))
        for left in root.glob(f"{_SCRATCH}*"):
            _remove(left)
        yield


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _remove(directory: Path) -> None:
    """Remove a tree, also one with read-only directories in it (Go's module cache makes such copies)."""
    if not directory.exists():
        return
    for root, directories, _ in os.walk(directory):
        for name in directories:
            with contextlib.suppress(OSError):
                os.chmod(Path(root) / name, 0o755)
    shutil.rmtree(directory, ignore_errors=True)

"""A cache, a PATH and a Go of the test's own; nothing here reaches a network or the user's cache."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from base.events import Step
from toolchain import download, path_search
from toolchain.pins import Build, Platform, Release, Tool, VersionCheck

#: A `go` that answers its version, and whose `build` does what FAKE_GO says. It counts its builds in FAKE_GO_LOG.
FAKE_GO = r"""#!/bin/sh
if [ "$1" = env ]; then echo "${FAKE_GO_VERSION:-go1.26.8}"; exit 0; fi
if [ "$1" = mod ]; then cat "$FAKE_GO_MODULE"; exit 0; fi
[ -z "$FAKE_GO_LOG" ] || echo "$$ $PWD $*" >> "$FAKE_GO_LOG"
case "$FAKE_GO" in
  network) echo "go: example.test/x@v1.0.0: Get: dial tcp: lookup proxy: no such host"; exit 1;;
  tampered) echo "verifying example.test/x@v1.0.0: checksum mismatch"; echo "SECURITY ERROR"; exit 1;;
  disk) echo "write /cache/x: no space left on device"; exit 1;;
  broken) echo "main.go:3:1: syntax error"; exit 1;;
  gate) while [ ! -e "$FAKE_GO_GATE" ]; do sleep 0.05; done;;
esac
echo "go: downloading example.test/x v1.0.0"
echo "example.test/x/lib"
out=""
while [ $# -gt 0 ]; do [ "$1" = -o ] && out="$2"; shift; done
printf '#!/bin/sh\necho "tool v1.2.3"\n' > "$out"
"""


class Recorder:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.steps: list[Step] = []

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[Step]:
        self.steps.append(Step(name))
        yield self.steps[-1]

    def event(self, kind: str, message: str, **fields: Any) -> None:
        del fields
        self.events.append((kind, message))

    def text(self) -> str:
        return "\n".join(message for _, message in self.events)


def write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return path


@pytest.fixture
def reporter() -> Recorder:
    return Recorder()


@pytest.fixture(autouse=True)
def fresh_memory() -> Iterator[None]:
    download._unreachable.clear()
    path_search._ask.cache_clear()
    yield
    download._unreachable.clear()


@pytest.fixture
def cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "cache"
    monkeypatch.setenv("CHANDLERY_CACHE", str(root))
    return root / "tools"


@pytest.fixture
def path_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first directory of a PATH on which there is only a shell's ordinary surroundings, and no Go."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "pulumi-home"))
    return directory


@pytest.fixture
def fake_go(path_dir: Path) -> Path:
    return write_program(path_dir / "go", FAKE_GO)


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    """A tool whose module is a directory of the test's own. It has no release."""
    family = tmp_path / "family"
    family.mkdir()
    (family / "go.mod").write_text("module chandlery.local/x\n\nrequire (\n\texample.test/x v1.2.3 // indirect\n)\n")
    (family / "go.sum").write_text("example.test/x v1.2.3 h1:abc=\n")
    return Tool(
        name="x",
        version="1.2.3",
        platform=Platform("linux", "amd64"),
        check=VersionCheck(("--version",), re.compile(r"tool v([0-9.]+)"), "minor"),
        plugin="",
        build=Build(str(family), "example.test/x", "example.test/x/cmd/x", "-s -w", (), 1.0),
        release=None,
        purpose="",
    )


def with_release(tool: Tool, base: str, *, member: str = "", beside: tuple[str, ...] = ()) -> Tool:
    name = "x-1.2.3.tar.gz" if member else "x-1.2.3"
    return dataclasses.replace(tool, release=Release(f"{base}/{name}", f"{base}/SHA256SUMS", member, beside))

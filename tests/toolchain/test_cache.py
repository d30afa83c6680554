from __future__ import annotations

import dataclasses
import errno
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from base.errors import Unavailable
from base.places import REPOSITORY
from tests.toolchain.conftest import Recorder, write_program
from toolchain import cache
from toolchain.pins import Platform, Tool


def entry(tool: Tool, program: Path) -> cache.Entry:
    return cache.Entry(tool.name, tool.version, "build", "here", cache.sha256(program), program.stat().st_size, 1.0)


def put(tool: Tool, text: str = "#!/bin/sh\necho cached\n") -> Path:
    with cache.scratch() as scratch:
        program = write_program(scratch / "made", text)
        return cache.publish(tool, cache.build_key(tool.build, tool.platform), program, entry(tool, program))


def test_what_was_published_is_found_again(tool: Tool, cache_root: Path) -> None:
    assert cache.lookup(tool) is None
    path = put(tool)
    found = cache.lookup(tool)
    assert found is not None
    assert found[0] == path
    assert found[1].sha256 == cache.sha256(path)
    assert cache_root in path.parents


@pytest.mark.parametrize("change", ["go.mod", "go.sum", "ldflags", "package", "platform"])
def test_whatever_decides_a_build_changes_its_key(tool: Tool, change: str) -> None:
    before = cache.build_key(tool.build, tool.platform)
    build, platform = tool.build, tool.platform
    if change.startswith("go."):
        with (build.directory / change).open("a") as file:
            file.write("// changed\n")
    elif change == "platform":
        platform = Platform("linux", "arm64")
    else:
        build = dataclasses.replace(build, **{change: "changed"})
    assert cache.build_key(build, platform) != before


def test_a_truncated_program_does_not_count_and_is_replaced(tool: Tool, cache_root: Path) -> None:
    del cache_root
    path = put(tool)
    path.write_text("#!/bin/sh\n")
    assert cache.lookup(tool) is None
    assert put(tool) == path
    assert cache.lookup(tool) is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 1}'])
def test_a_broken_entry_does_not_count(tool: Tool, cache_root: Path, text: str) -> None:
    del cache_root
    (put(tool).parent / "entry.json").write_text(text)
    assert cache.lookup(tool) is None


def test_an_interrupted_making_leaves_no_entry_and_no_scratch(tool: Tool, cache_root: Path) -> None:
    def interrupted() -> None:
        with cache.scratch() as scratch:
            write_program(scratch / "half", "#!/bin/sh\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert cache.lookup(tool) is None
    assert list(cache_root.iterdir()) == []


def test_a_full_disk_leaves_nothing_half_written(tool: Tool, cache_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache, "write_json", full)
    with pytest.raises(Unavailable, match="no space left"):
        put(tool)
    assert cache.lookup(tool) is None
    assert list(cache_root.rglob("*")) == [cache_root / "x"]


def test_what_a_killed_run_left_is_removed_by_the_next(cache_root: Path, reporter: Recorder) -> None:
    left = cache_root / ".scratch-of-the-dead" / "module"
    left.mkdir(parents=True)
    (left / "file").write_text("x")
    left.chmod(0o555)
    with cache.making("build of x", reporter):
        assert not left.exists()


def test_the_second_maker_waits_and_says_for_whom(cache_root: Path, reporter: Recorder, tmp_path: Path) -> None:
    held = tmp_path / "held"
    code = (
        "import pathlib, sys, time; from base.events import QuietReporter; from toolchain import cache\n"
        f"with cache.making('build of kube-apiserver', QuietReporter()): pathlib.Path({str(held)!r}).touch(); time.sleep(1.5)"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=REPOSITORY) as holder:
        while not held.exists():
            time.sleep(0.02)
        started = time.monotonic()
        with cache.making("build of etcd", reporter):
            waited = time.monotonic() - started
        assert holder.wait() == 0
    assert waited > 0.5
    assert f"process {holder.pid} (build of kube-apiserver)" in reporter.text()
    assert (cache_root / ".lock").exists()


def test_an_entry_says_what_it_was_made_from(tool: Tool, cache_root: Path) -> None:
    del cache_root
    written = json.loads((put(tool).parent / "entry.json").read_text())
    assert {"name": "x", "version": "1.2.3", "source": "build", "origin": "here"}.items() <= written.items()

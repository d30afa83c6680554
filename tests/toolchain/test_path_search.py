from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from tests.toolchain.conftest import write_program
from toolchain import path_search
from toolchain.pins import Tool


def test_an_old_program_early_on_path_does_not_hide_a_good_one_behind_it(
    tool: Tool, path_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(path_dir / "x", "#!/bin/sh\necho tool v1.1.0\n")
    good = write_program(tmp_path / "later" / "x", "#!/bin/sh\necho tool v1.2.9\n")
    monkeypatch.setenv("PATH", f"{path_dir}:{good.parent}:{os.environ['PATH']}")
    assert path_search.find(tool) == (good, "1.2.9")


@pytest.mark.parametrize("body", ["exit 1", "echo nothing of use", "kill -9 $$"])
def test_a_program_that_does_not_say_its_version_is_left_alone(tool: Tool, path_dir: Path, body: str) -> None:
    write_program(path_dir / "x", f"#!/bin/sh\n{body}\n")
    assert path_search.find(tool) is None


def test_a_file_that_cannot_be_run_is_not_a_program(tool: Tool, path_dir: Path) -> None:
    (path_dir / "x").write_text("#!/bin/sh\necho tool v1.2.3\n")
    assert path_search.find(tool) is None


def test_a_replaced_program_is_asked_again(tool: Tool, path_dir: Path) -> None:
    program = write_program(path_dir / "x", "#!/bin/sh\necho tool v1.2.0\n")
    os.utime(program, (1, 1))
    assert path_search.find(tool) == (program, "1.2.0")
    write_program(program, "#!/bin/sh\necho tool v9.9.9\n")
    assert path_search.find(tool) is None


def test_a_plugin_of_an_official_installation_is_found_by_its_version(tool: Tool, path_dir: Path, tmp_path: Path) -> None:
    del path_dir
    plugin = dataclasses.replace(tool, check=None, plugin="resource-x-v1.2.3")
    assert path_search.find(plugin) is None
    program = write_program(tmp_path / "pulumi-home" / "plugins" / "resource-x-v1.2.3" / "x", "#!/bin/sh\n")
    assert path_search.find(plugin) == (program, "1.2.3")

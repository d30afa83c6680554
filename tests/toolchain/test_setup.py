"""The way from a bare machine to the virtual environment, and the locks that it installs."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from base.places import REPOSITORY
from tests.toolchain.conftest import write_program

LOCKS = REPOSITORY / "requirements"


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """``bin/setup.py`` as a module, pointed at a checkout of the test's own."""
    spec = importlib.util.spec_from_file_location("chandlery_setup", REPOSITORY / "bin" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "requirements").mkdir()
    for name in ("bootstrap.txt", "runtime.txt", "dev.txt"):
        (tmp_path / "requirements" / name).write_bytes((LOCKS / name).read_bytes())
    for name, path in (("ROOT", ""), ("VENV", ".venv"), ("PYTHON", ".venv/bin/python"), ("REQUIREMENTS", "requirements")):
        monkeypatch.setattr(module, name, tmp_path / path)
    return module


def pins(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9.-]+)==([^\s;]+)", (LOCKS / name).read_text(), re.MULTILINE))


def test_without_venv_the_first_line_says_what_to_install(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert setup.main("runtime") == 6
    first = capsys.readouterr().err.splitlines()[0]
    assert "apt-get install python3-venv" in first


def test_everything_that_is_missing_is_named_at_once(
    setup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert setup.main("runtime") == 6
    assert "apt-get install python3-venv git make" in capsys.readouterr().err


@pytest.mark.parametrize("answer", ["exit 1", None])
def test_a_python_that_is_too_old_or_absent_is_said_in_the_first_line(tmp_path: Path, answer: str | None) -> None:
    for name in ("dirname", "sh"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    if answer:
        write_program(tmp_path / "python3", f"#!/bin/sh\n{answer}\n")
    env = {"PATH": str(tmp_path)}
    command = ["/bin/sh", REPOSITORY / "bin" / "setup", "runtime"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert "apt-get install python3 python3-venv" in done.stderr.splitlines()[0]


def test_an_environment_that_is_up_to_date_is_not_touched(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.PYTHON.parent.mkdir(parents=True)
    setup.PYTHON.touch()
    setup.stamp("dev").touch()
    monkeypatch.setattr(setup, "make_environment", lambda: pytest.fail("was set up again"))
    assert setup.main("dev") == 0
    assert setup.main("runtime") == 0


@pytest.mark.parametrize("change", ["dev.txt", "bootstrap.txt"])
def test_a_changed_lock_is_noticed(setup: ModuleType, change: str) -> None:
    setup.PYTHON.parent.mkdir(parents=True)
    setup.PYTHON.touch()
    setup.stamp("dev").touch()
    assert setup.stamped("dev")
    with (setup.REQUIREMENTS / change).open("a") as file:
        file.write("# changed\n")
    assert not setup.stamped("dev")


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("error: Hash mismatch for `x==1`", 4),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE", 4),
        ("error: No space left on device (os error 28)", 6),
        ("error: Failed to fetch: dns error", 6),
    ],
)
def test_an_installer_that_fails_is_understood(
    setup: ModuleType, output: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    write_program(setup.PYTHON, f"#!/bin/sh\necho '{output}'\nexit 1\n")
    with pytest.raises(SystemExit) as stopped:
        setup.install("uv", "-m", "uv")
    assert stopped.value.code == code
    assert capsys.readouterr().err


def test_what_the_user_told_pip_holds_for_uv(setup: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    write_program(setup.PYTHON, f'#!/bin/sh\necho "$UV_DEFAULT_INDEX" > {seen}\n')
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example.test/simple")
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    setup.install("uv", "-m", "uv")
    assert seen.read_text() == "https://mirror.example.test/simple\n"


def test_the_development_lock_contains_the_runtime_lock() -> None:
    assert pins("runtime.txt").items() <= pins("dev.txt").items()
    assert len(pins("runtime.txt")) > 10


@pytest.mark.parametrize("name", ["bootstrap.txt", "runtime.txt", "dev.txt", "go.txt"])
def test_every_locked_package_has_hashes(name: str) -> None:
    text = (LOCKS / name).read_text()
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins(name)) > 0
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in text  # no index is pinned: the user's own mirror is used


@pytest.mark.parametrize("name", ["bootstrap", "runtime", "dev", "go"])
def test_every_requirement_is_locked(name: str) -> None:
    wanted = re.findall(r"^([A-Za-z0-9._-]+)", (LOCKS / f"{name}.in").read_text(), re.MULTILINE)
    asked = {re.sub(r"[-_.]+", "-", word).lower() for word in wanted if not word.startswith("-")}
    assert asked
    assert asked <= pins(f"{name}.txt").keys()


def test_the_command_says_what_to_run_before_it_is_set_up(tmp_path: Path) -> None:
    command = write_program(tmp_path / "bin" / "chandlery", (REPOSITORY / "bin" / "chandlery").read_text())
    done = subprocess.run([command, "doctor"], capture_output=True, text=True, check=False)
    assert done.returncode == 6
    assert f"run  make -C '{tmp_path}' setup" in done.stderr


@pytest.mark.parametrize("name", ["quickstart", "test", "clean-cluster", "bench", "verify", "lock", "doctor"])
def test_make_help_lists_each_target(name: str) -> None:
    listed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert re.search(rf"^  make {name} +\S", listed.stdout, re.MULTILINE)

"""Nothing is signalled unless process id and start time both match."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from base import processes
from base.errors import Unavailable


def _sleeper(tmp_path: Path, code: str = "import time; time.sleep(60)") -> processes.Process:
    return processes.spawn(
        "sleeper", [sys.executable, "-c", code], record=tmp_path / "run" / "s.json", log=tmp_path / "logs" / "s.log"
    )


def test_a_spawned_process_is_known_from_its_record_and_stopped_by_it(tmp_path: Path) -> None:
    process = _sleeper(tmp_path)
    assert processes.load(tmp_path / "run" / "s.json") == process
    assert processes.alive(process)
    processes.stop(process)
    assert not processes.alive(process)


def test_one_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    process = _sleeper(tmp_path, code)
    while "deaf" not in (tmp_path / "logs" / "s.log").read_text():
        pass
    processes.stop(process, grace=0.2)
    assert not processes.alive(process)


def test_a_stranger_with_the_same_id_is_left_alone(tmp_path: Path) -> None:
    process = _sleeper(tmp_path)
    stranger = dataclasses.replace(process, start=process.start - 1)
    processes.stop(stranger)
    assert processes.alive(process)
    rebooted = dataclasses.replace(process, boot="another boot")
    processes.stop(rebooted)
    assert processes.alive(process)
    processes.stop(process)


def test_a_program_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot start ghost"):
        processes.spawn("ghost", [str(tmp_path / "ghost")], record=tmp_path / "r.json", log=tmp_path / "l.log")
    assert not (tmp_path / "r.json").exists()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": 1}', "null"])
def test_a_broken_record_counts_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "r.json").write_text(content)
    assert processes.load(tmp_path / "r.json") is None


def test_this_process_has_an_identity_and_a_free_id_has_none() -> None:
    assert processes.identity(os.getpid())
    assert processes.identity(2**22 + 1) is None

"""A cluster whose directory somebody removed by hand is found by its programs and stopped."""

from __future__ import annotations

import sys
from pathlib import Path

from base import processes
from base.events import QuietReporter
from validation.targets import embedded


def test_only_programs_of_directories_that_are_gone_are_stopped(tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "clusters" / "kept").mkdir(parents=True)

    def program(name: str, argument: str) -> processes.Process:
        command = [sys.executable, "-c", "import time; time.sleep(60)", argument]
        return processes.spawn(name, command, record=tmp_path / f"{name}.json", log=tmp_path / "log")

    lost = program("lost", f"--data-dir={state}/clusters/gone/etcd")
    kept = program("kept", f"--data-dir={state}/clusters/kept/etcd")
    other = program("other", f"{tmp_path}/elsewhere/clusters/gone/x")
    try:
        assert len(embedded.sweep(state, QuietReporter())) == 1
        assert not processes.alive(lost)
        assert processes.alive(kept)
        assert processes.alive(other)
    finally:
        for process in (lost, kept, other):
            processes.stop(process, grace=1.0)

"""How the CLI is run, with a small script in its place."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from pulumi.automation import CommandError

from base import processes
from base.deadlines import Deadline, poll
from base.errors import Unavailable
from components.command import EngineCommand
from components.layout import Tools

#: Says what it was given; on `up` waits for an interrupt, of which it makes as much as an engine does: it ends in its time.
SCRIPT = """#!/bin/sh
shift
trap 'echo interrupted >> "$MARK"; sleep 0.2; echo finished >> "$MARK"; exit 255' INT
echo "args: $*"
env | grep '^PULUMI_' | sort
[ "$1" = fail ] && { echo "error: no good" >&2; exit 3; }
if [ "$1" = up ]; then
  echo started >> "$MARK"
  i=0; while [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done
fi
exit 0
"""


@pytest.fixture
def command(tmp_path: Path) -> EngineCommand:
    script = tmp_path / "bin" / "pulumi"
    script.parent.mkdir()
    script.write_text(SCRIPT)
    script.chmod(0o755)
    return EngineCommand(Tools(script, "v3.276.0", {}), tmp_path / "run" / "pulumi.json", tmp_path / "pulumi.log", lambda: None)


def run(command: EngineCommand, *args: str, tmp_path: Path) -> str:
    return command.run(list(args), str(tmp_path), {"PULUMI_BACKEND_URL": "file:///x", "MARK": str(tmp_path / "mark")}).stdout


def test_the_users_own_pulumi_settings_do_not_reach_the_engine(
    command: EngineCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "not ours")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "not ours")
    out = run(command, "stack", "output", tmp_path=tmp_path)
    assert out.splitlines() == ["args: stack output", "PULUMI_AUTOMATION_API=true", "PULUMI_BACKEND_URL=file:///x"]


def test_a_failing_command_is_an_error_with_what_it_said(command: EngineCommand, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no good"):
        run(command, "fail", tmp_path=tmp_path)
    assert "error: no good\n= exit 3" in (tmp_path / "pulumi.log").read_text()


def test_no_pulumi_is_an_error_of_ours(tmp_path: Path) -> None:
    missing = EngineCommand(Tools(tmp_path / "none", "3.276.0", {}), tmp_path / "r.json", tmp_path / "log", lambda: None)
    with pytest.raises(Unavailable, match="cannot start pulumi"):
        run(missing, "stack", tmp_path=tmp_path)


def test_an_interrupt_reaches_the_engine_once_and_is_raised_when_it_has_ended(command: EngineCommand, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    told: list[bool] = []
    command._on_interrupt = lambda: told.append(True)

    def interrupt() -> None:
        poll(lambda: mark.exists(), Deadline.after(10), "start")
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(command, "up", tmp_path=tmp_path)
    thread.join()
    assert mark.read_text().splitlines() == ["started", "interrupted", "finished"]
    assert told == [True]


def test_a_terminals_interrupt_does_not_reach_the_engine_past_us(command: EngineCommand, tmp_path: Path) -> None:
    """Its process group is its own, so that the engine sees one interrupt and not two, of which the second means "at once"."""
    record = tmp_path / "run" / "pulumi.json"
    seen: list[tuple[int, int]] = []

    def look() -> None:
        process = poll(lambda: processes.load(record), Deadline.after(10), "record")
        seen.append((os.getpgid(process.pid), process.pid))
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=look)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(command, "up", tmp_path=tmp_path)
    thread.join()
    assert seen[0][0] == seen[0][1] != os.getpgid(0)
    assert not record.exists(), "the record goes with the process"

"""Files are whole or absent; locks die with their holder."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from base import files
from base.errors import Refused, Unavailable


def test_a_failed_write_leaves_the_old_content_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.json"
    files.write_json(target, {"old": 1})

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="no space left") as caught:
        files.write_json(target, {"new": 2})
    assert str(tmp_path) in str(caught.value)
    assert target.read_text() == '{\n  "old": 1\n}\n'
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_other_errors_are_not_dressed_up_as_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        files.write_atomic(tmp_path / "file" / "below", "x")


def test_the_mode_is_set_before_the_file_can_be_seen(tmp_path: Path) -> None:
    files.write_atomic(tmp_path / "key", "secret", mode=0o600)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600


def test_the_second_one_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    with (
        files.lock(tmp_path / "lock", "up of demo"),
        pytest.raises(Refused, match="up of demo is already going on") as caught,
        files.lock(tmp_path / "lock", "up of demo"),
    ):
        pass
    assert f"process {os.getpid()} (up of demo) since " in str(caught.value)


def test_the_lock_is_free_again_after_the_block(tmp_path: Path) -> None:
    for _ in range(2):
        with files.lock(tmp_path / "lock", "x"):
            pass


def test_a_lock_waits_for_its_holder_as_long_as_asked(tmp_path: Path) -> None:
    release = threading.Event()
    held = threading.Event()

    def hold() -> None:
        with files.lock(tmp_path / "lock", "first"):
            held.set()
            release.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(10)
    threading.Timer(0.3, release.set).start()
    with files.lock(tmp_path / "lock", "second", wait=10):
        pass
    holder.join()


def test_a_killed_holder_leaves_no_stale_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    code = (
        "import sys, time; from pathlib import Path; from base.files import lock\n"
        "with lock(Path(sys.argv[1]), 'x'):\n print('held', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    with pytest.raises(Refused), files.lock(path, "x"):
        pass
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with files.lock(path, "x"):
        pass

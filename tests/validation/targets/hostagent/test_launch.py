"""A program that listens on all addresses listens on its pod's alone."""

from __future__ import annotations

import socket
import struct
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base import processes
from base.deadlines import Deadline, poll
from validation.targets.embedded import sockets
from validation.targets.embedded.hostagent.container import guarded
from validation.targets.embedded.hostagent.launch import rewritten

LISTEN = socket.inet_aton("127.159.200.9")


def _four(address: str) -> bytes:
    return struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))


def _six(address: str) -> bytes:
    return struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, socket.inet_pton(socket.AF_INET6, address), 0)


def test_only_the_unspecified_address_is_rewritten() -> None:
    assert rewritten(_four("0.0.0.0"), LISTEN) == (4, LISTEN)
    assert rewritten(_six("::"), LISTEN) == (8, bytes(10) + b"\xff\xff" + LISTEN)
    for address in (_four("127.0.0.1"), _six("::1"), _six("::ffff:127.0.0.1")):
        assert rewritten(address, LISTEN) is None


@given(st.binary(max_size=28))
def test_any_other_address_is_let_through_or_rewritten_within_its_bounds(raw: bytes) -> None:
    change = rewritten(raw, LISTEN)
    assert change is None or change[0] + len(change[1]) <= len(raw)


_PROGRAM = """
import socket, time
six = socket.socket(socket.AF_INET6); six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
six.bind(("::", 18443)); six.listen()
four = socket.socket(); four.bind(("", 18444)); four.listen()
own = socket.socket(); own.bind(("127.0.0.1", 0)); own.listen()
print(own.getsockname()[1], flush=True)
time.sleep(60)
"""


@pytest.mark.integration
def test_a_real_programs_listeners_stay_on_the_pods_address(tmp_path: Path) -> None:
    command = guarded("127.159.200.9", [sys.executable, "-c", _PROGRAM])
    process = processes.spawn("p", command, record=tmp_path / "r.json", log=tmp_path / "log")
    try:
        own = int(poll(lambda: (tmp_path / "log").read_text().strip() or None, Deadline.after(10), "the program's port"))
        found = {(entry.address, entry.port) for entry in sockets.listening([process.pid])}
        assert found == {("127.159.200.9", 18443), ("127.159.200.9", 18444), ("127.0.0.1", own)}
        socket.create_connection(("127.159.200.9", 18443), timeout=2).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", 18443), timeout=2)
    finally:
        processes.stop(process, grace=1)
    poll(lambda: not _helpers(), Deadline.after(5), "the helper's end")


def _helpers() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if b"127.159.200.9" in (entry / "cmdline").read_bytes() and processes.identity(int(entry.name)):
                    found.append(entry.name)
            except OSError:
                continue
    return found


@pytest.mark.integration
def test_the_program_keeps_the_process_id_and_its_exit_code(tmp_path: Path) -> None:
    import os

    command = guarded("127.159.200.9", [sys.executable, "-c", "import os, sys; print(os.getpid(), flush=True); sys.exit(7)"])
    process = processes.spawn("p", command, record=tmp_path / "r.json", log=tmp_path / "log")
    _, status = os.waitpid(process.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert (tmp_path / "log").read_text().strip() == str(process.pid)

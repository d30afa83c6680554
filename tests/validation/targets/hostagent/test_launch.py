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
from validation.targets.embedded.hostagent.launch import Guard

LISTEN = socket.inet_aton("127.159.200.9")


def _four(address: str, port: int = 0) -> bytes:
    return struct.pack("=H2s4s8x", socket.AF_INET, struct.pack("!H", port), socket.inet_aton(address))


def _six(address: str, port: int = 0) -> bytes:
    raw = socket.inet_pton(socket.AF_INET6, address)
    return struct.pack("=H2sI16sI", socket.AF_INET6, struct.pack("!H", port), 0, raw, 0)


def test_only_the_unspecified_address_is_rewritten() -> None:
    guard = Guard(LISTEN)
    assert guard.bound(_four("0.0.0.0")) == (4, LISTEN)
    assert guard.bound(_six("::")) == (8, bytes(10) + b"\xff\xff" + LISTEN)
    for address in (_four("127.0.0.1"), _six("::1"), _six("::ffff:127.0.0.1")):
        assert guard.bound(address) is None


def test_loopback_leads_to_the_pod_on_ports_that_the_program_itself_has_bound() -> None:
    guard = Guard(LISTEN)
    places = [_four("127.0.0.1", 9443), _four("0.0.0.0", 9443), _six("::1", 9443), _six("::ffff:127.0.0.1", 9443)]
    assert [guard.connected(place) for place in places] == [None] * 4, "nothing is bound yet"
    guard.bound(_six("::", 9443))
    assert [change[1][-4:] for place in places if (change := guard.connected(place))] == [LISTEN] * 4
    assert guard.connected(_four("127.0.0.1", 6443)) is None, "somebody else's port, such as the API server's"
    assert guard.connected(_four("127.96.0.1", 9443)) is None, "another address, such as a Service's"


@given(st.binary(max_size=28))
def test_any_other_address_is_let_through_or_rewritten_within_its_bounds(raw: bytes) -> None:
    guard = Guard(LISTEN)
    for change in (guard.bound(raw), guard.connected(raw)):
        assert change is None or change[0] + len(change[1]) <= len(raw)


_PROGRAM = """
import socket, time
six = socket.socket(socket.AF_INET6); six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
six.bind(("::", 18443)); six.listen()
four = socket.socket(); four.bind(("", 18444)); four.listen()
own = socket.socket(); own.bind(("127.0.0.1", 0)); own.listen()
for place in (("127.0.0.1", 18443), ("::1", 18443), ("127.0.0.1", 18444), own.getsockname()):
    socket.create_connection(place, timeout=5).close()
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

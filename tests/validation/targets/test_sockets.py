"""Who listens where."""

from __future__ import annotations

import os
import socket

from validation.targets.embedded import sockets

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 112 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 113 1 0 100 0 0 10 0
"""
TCP6 = """\
  sl  local_address                         remote_address                        st tx rx tr tm->when retrnsmt uid timeout inode
   0: 00000000000000000000000000000000:1F91 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 211 1 0
   1: 0000000000000000FFFF00001000807F:24E3 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 212 1 0
   2: 00000000000000000000000001000000:1F92 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 213 1 0
"""


def test_listening_sockets_are_read_in_both_families() -> None:
    found = [(entry.address, entry.port, entry.inode) for entry in sockets.parse(TCP) + sockets.parse(TCP6)]
    assert found == [
        ("127.0.0.1", 8080, 111),
        ("0.0.0.0", 80, 112),
        ("::", 8081, 211),
        ("127.128.0.16", 9443, 212),
        ("::1", 8082, 213),
    ]


def test_a_socket_that_others_can_reach_is_told_from_one_they_cannot() -> None:
    assert [entry.loopback for entry in sockets.parse(TCP) + sockets.parse(TCP6)] == [True, False, False, True, True]


def test_a_taken_port_is_not_free_and_has_a_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not sockets.is_free(port)
        assert f"process {os.getpid()}" in sockets.holder(port)
        assert port in {entry.port for entry in sockets.listening([os.getpid()])}
    assert sockets.is_free(port)


def test_a_listener_on_all_addresses_takes_the_port_of_each() -> None:
    with socket.create_server(("", 0)) as server:
        assert not sockets.is_free(server.getsockname()[1], "127.0.0.2")

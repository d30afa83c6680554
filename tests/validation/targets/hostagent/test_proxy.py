"""Bytes get from a Service's address, and from the API server, to the program and back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.deadlines import Deadline, poll
from validation.targets.embedded.addressing import Addressing
from validation.targets.embedded.hostagent.proxy import Proxy

HERE = Addressing(31)  # a range of its own, far from what clusters take first
SERVICE = ("127.127.9.9", 18080)


class Echo:
    """Answers each connection with what it sent, in capitals."""

    def __init__(self, address: str) -> None:
        self._server = socket.create_server((address, 0))
        self.endpoint: tuple[str, int] = self._server.getsockname()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                while data := connection.recv(4096):
                    connection.sendall(data.upper())

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo(HERE.pod(16).listen)
    yield server
    server.close()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Proxy:
    """One for the module: it serves in a daemon thread until the process ends."""
    found = Proxy(HERE, tmp_path_factory.mktemp("p") / "egress.sock")
    found.start()
    return found


def _say(connection: socket.socket, words: bytes) -> bytes:
    connection.sendall(words)
    connection.shutdown(socket.SHUT_WR)
    answer = b""
    while data := connection.recv(4096):
        answer += data
    return answer


def _connect(proxy: Proxy, target: str) -> tuple[socket.socket, bytes]:
    """A CONNECT as the API server sends it; the socket and the first answer."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(5)
    connection.connect(str(proxy._socket_path))
    connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(1)
    return connection, head


def _served(proxy: Proxy, endpoint: tuple[str, int]) -> None:
    poll(lambda: endpoint in proxy._servers, Deadline.after(5), f"a listener on {endpoint}")


def test_a_programs_connection_to_a_service_reaches_the_program(proxy: Proxy, echo: Echo) -> None:
    proxy.update({SERVICE: [echo.endpoint]})
    _served(proxy, SERVICE)
    with socket.create_connection(SERVICE, timeout=5) as connection:
        assert _say(connection, b"hello" * 50_000) == b"HELLO" * 50_000


def test_the_api_servers_connection_reaches_the_program_by_service_and_by_pod(proxy: Proxy, echo: Echo) -> None:
    proxy.update({SERVICE: [echo.endpoint]})
    _served(proxy, SERVICE)
    for target in (f"{SERVICE[0]}:{SERVICE[1]}", f"{HERE.pod(16).reported}:{echo.endpoint[1]}"):
        connection, head = _connect(proxy, target)
        with connection:
            assert head.startswith(b"HTTP/1.1 200")
            assert _say(connection, b"hook") == b"HOOK"


@pytest.mark.parametrize("target", ["198.19.0.5:80", "192.0.2.1:443", "10.0.0.1:443", "127.0.0.1:22", "example.com:443", "x:y"])
def test_what_is_no_service_or_pod_of_this_node_leads_nowhere(proxy: Proxy, target: str) -> None:
    connection, head = _connect(proxy, target)
    with connection:
        assert head.startswith((b"HTTP/1.1 503", b"HTTP/1.1 502"))


def test_a_service_without_ready_program_refuses_at_once(proxy: Proxy) -> None:
    proxy.update({SERVICE: []})
    _served(proxy, SERVICE)
    connection, head = _connect(proxy, f"{SERVICE[0]}:{SERVICE[1]}")
    with connection:
        assert head.startswith(b"HTTP/1.1 503")
    with socket.create_connection(SERVICE, timeout=5) as direct:
        assert direct.recv(1) == b""


def test_a_service_that_goes_away_is_no_longer_listened_on(proxy: Proxy, echo: Echo) -> None:
    proxy.update({SERVICE: [echo.endpoint]})
    _served(proxy, SERVICE)
    proxy.update({})
    poll(lambda: SERVICE not in proxy._servers, Deadline.after(5), "the end of the listener")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(SERVICE, timeout=5)


def test_connections_are_shared_among_the_programs(proxy: Proxy, echo: Echo) -> None:
    other = ("127.159.0.17", 1)
    proxy.update({SERVICE: [echo.endpoint, other]})
    _served(proxy, SERVICE)
    assert {proxy.resolve(*SERVICE) for _ in range(4)} == {echo.endpoint, other}


def test_nobody_else_may_use_the_api_servers_way_in(proxy: Proxy) -> None:
    assert proxy._socket_path.stat().st_mode & 0o077 == 0


def test_a_leftover_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "egress.sock"
    path.write_text("left over")
    Proxy(HERE, path).start()
    assert path.is_socket()

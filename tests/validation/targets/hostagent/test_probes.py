"""Probes ask the program, and count its answers as a kubelet does."""

from __future__ import annotations

import http.server
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base import processes
from validation.targets.embedded.hostagent import probes


class _Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        wanted = self.headers.get("X-Wanted") == "yes" or self.path == "/well"
        self.send_response(200 if wanted else 503)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def myself() -> processes.Process:
    boot = processes._boot()
    return processes.Process("me", os.getsid(0), processes.identity(os.getsid(0)) or 0, boot, ())


def test_the_answer_decides(port: int, myself: processes.Process) -> None:
    container = {"ports": [{"name": "web", "containerPort": port}]}

    def ask(**get: Any) -> str:
        return probes.ask({"httpGet": {"port": port, **get}}, container, "127.0.0.1", myself)

    assert ask(path="/well") == ""
    assert ask(path="/well", port="web") == ""
    assert ask(path="/ill") == "HTTP 503"
    assert ask(path="/ill", httpHeaders=[{"name": "X-Wanted", "value": "yes"}]) == ""
    assert "ValueError" in ask(port="no-such-port")
    assert "SSL" in ask(path="/well", scheme="HTTPS")


def test_a_port_on_which_nobody_listens_fails(myself: processes.Process) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
        for probe in ({"tcpSocket": {"port": closed}}, {"grpc": {"port": closed}}, {"httpGet": {"port": closed}}):
            assert "refused" in probes.ask(probe, {}, "127.0.0.1", myself)


def test_a_command_probe_passes_while_the_process_lives(myself: processes.Process) -> None:
    assert probes.ask({"exec": {"command": ["cat", "/in/the/image"]}}, {}, "127.0.0.1", myself) == ""


def _play(probe: dict[str, Any], answers: list[bool], *, eager: bool = False) -> probes.Schedule:
    schedule = probes.Schedule(probe, eager, begun=0.0)
    for answer in answers:
        schedule.settle(answer)
    return schedule


def test_readiness_is_lost_only_after_the_threshold() -> None:
    assert _play({}, [True, False, False]).passed
    assert not _play({}, [True, False, False, False]).passed
    assert not _play({"failureThreshold": 1}, [True, False]).passed
    assert not _play({"successThreshold": 2}, [True]).passed
    assert _play({"successThreshold": 2}, [True, True]).passed


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 5))
def test_liveness_gives_up_after_so_many_failures_in_a_row_and_not_before(answers: list[bool], threshold: int) -> None:
    schedule = probes.Schedule({"failureThreshold": threshold}, eager=False, begun=0.0)
    row = 0
    for answer in answers:
        schedule.settle(answer)
        row = 0 if answer else row + 1
        assert schedule.exhausted(0.0) == (row >= threshold)


def test_an_eager_probe_is_asked_at_once_and_often_until_it_first_passes() -> None:
    schedule = probes.Schedule({"initialDelaySeconds": 30, "periodSeconds": 10}, eager=True, begun=100.0)
    assert schedule.due(100.0)
    schedule.asked = 100.0
    assert not schedule.due(100.1)
    assert schedule.due(100.3)
    schedule.settle(True)
    assert not schedule.due(105.0)
    assert schedule.due(131.0)


def test_a_startup_probe_gives_up_by_time_and_not_by_the_number_of_questions() -> None:
    schedule = _play({"periodSeconds": 2, "failureThreshold": 5}, [False] * 40, eager=True)
    assert not schedule.exhausted(9.0)
    assert schedule.exhausted(11.0)


def test_a_probe_that_is_not_eager_waits_its_initial_delay() -> None:
    schedule = probes.Schedule({"initialDelaySeconds": 30, "periodSeconds": 5}, eager=False, begun=100.0)
    assert not schedule.due(120.0)
    assert schedule.due(130.0)

"""One container as a process, without a cluster around it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from base.deadlines import Deadline, poll
from validation.targets.embedded.hostagent import container as module
from validation.targets.embedded.hostagent.container import Container, Paths, digest
from validation.targets.embedded.hostagent.environment import NotYet
from validation.targets.embedded.hostagent.status import ContainerState
from validation.targets.embedded.programs import RealProgram

pytestmark = pytest.mark.integration

LISTEN = "127.159.200.10"
Make = Callable[..., Container]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Container] = []

    def build(code: str, *, policy: str = "Always", before: dict[str, Any] | None = None, **spec: Any) -> Container:
        program = RealProgram("ns/x", (sys.executable, "-c", code))
        paths = Paths(tmp_path / "r.json", tmp_path / "log", tmp_path / "work")
        found = Container(
            {"name": "main", **spec}, program, LISTEN, policy, paths, "https://x", lambda: (list(program.command), {}), before
        )
        made.append(found)
        return found

    yield build
    for one in made:
        one.stop(1)


def _until(container: Container, wanted: Callable[[ContainerState], bool], seconds: float = 20) -> ContainerState:
    return poll(lambda: state if wanted(state := container.step()) else None, Deadline.after(seconds), "the state")


def test_without_probe_it_is_ready_once_it_has_lived_a_moment(make: Make) -> None:
    container = make("import time; time.sleep(60)")
    assert not container.step().ready
    assert _until(container, lambda s: s.ready).phase == "running"


def test_one_that_keeps_ending_backs_off_and_counts(make: Make) -> None:
    container = make("import sys; print('why', flush=True); sys.exit(3)")
    state = _until(container, lambda s: s.restarts >= 2 and s.phase == "waiting")
    assert state.reason == "CrashLoopBackOff"
    assert state.last is not None
    assert state.last.exit_code == 3
    assert container.last_words == "ended with 3: why"


def test_one_that_may_not_be_restarted_ends(make: Make) -> None:
    state = _until(make("", policy="OnFailure"), lambda s: s.phase == "ended")
    assert state.last is not None
    assert state.last.exit_code == 0


def test_a_failing_liveness_probe_restarts_it(make: Make) -> None:
    probe = {"tcpSocket": {"port": 1}, "periodSeconds": 0.1, "failureThreshold": 2}
    state = _until(make("import time; time.sleep(60)", livenessProbe=probe), lambda s: s.restarts > 0)
    assert state.last is not None
    assert state.last.exit_code == 137


def test_a_listener_on_all_addresses_that_was_not_caught_is_ended_and_explained(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "guarded", lambda _listen, command: command)
    code = "import socket, time; s = socket.socket(); s.bind(('', 0)); s.listen(); time.sleep(60)"
    state = _until(make(code), lambda s: s.reason == "ListensBeyondLoopback")
    assert "0.0.0.0" in state.message
    assert "{pod_ip}" in state.message


def test_another_agent_takes_the_process_over_and_a_changed_program_does_not(make: Make, tmp_path: Path) -> None:
    code = "import time; time.sleep(60)"
    first = make(code)
    first.step()
    record = (tmp_path / "r.json").read_text()
    second = make(code, before={"restartCount": 4})
    assert second.step().restarts == 4
    assert (tmp_path / "r.json").read_text() == record
    second.change(RealProgram("ns/x", (sys.executable, "-c", code), env={"NEW": "1"}))
    second.step()
    assert (tmp_path / "r.json").read_text() != record


def test_what_ended_while_nobody_looked_counts_as_a_restart(make: Make) -> None:
    container = make("import time; time.sleep(60)")
    container.step()
    record = container._paths.record.read_text()
    container.stop(1)
    container._paths.record.write_text(record)
    again = make("import time; time.sleep(60)", before={"restartCount": 1})
    assert _until(again, lambda s: s.phase == "running").restarts == 2


def test_while_something_is_missing_it_waits(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    container = make("import time; time.sleep(60)")

    def missing() -> tuple[list[str], dict[str, str]]:
        raise NotYet("ContainerCreating", "Secret s does not exist")

    monkeypatch.setattr(container, "_prepare", missing)
    with pytest.raises(NotYet):
        container.step()
    assert container.state.phase == "waiting"


def test_the_same_program_for_another_api_server_is_another_one() -> None:
    program = RealProgram("ns/x", ("/x",))
    assert digest(program, "https://a") == digest(program, "https://a")
    assert digest(program, "https://a") != digest(program, "https://b")
    assert digest(program, "https://a") != digest(RealProgram("ns/x", ("/x",), env={"A": "b"}), "https://a")

"""A pod's status says what its processes do."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.validation.targets.hostagent.pods import pod
from validation.targets.embedded.hostagent.status import ContainerState, End, phase, pod_status, will_restart

NOW, EARLIER = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"


def _end(code: int) -> End:
    return End(code, EARLIER, NOW)


def _state(kind: Literal["waiting", "running", "ended"], *, code: int | None = None, ready: bool = True) -> ContainerState:
    return ContainerState(
        "main", "i", kind, started=EARLIER, ready=ready, startup_done=True, last=None if code is None else _end(code)
    )


def _status(*states: ContainerState, old: dict[str, Any] | None = None, **kwargs: Any) -> dict[str, Any]:
    whole = pod(**kwargs.pop("spec", {}))
    whole["status"] = old or {}
    return pod_status(
        whole, states, now=NOW, host_address="198.18.0.1", address="198.18.0.16", blocked=kwargs.pop("blocked", None)
    )


def _condition(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(c for c in status["conditions"] if c["type"] == kind)


@pytest.mark.parametrize(
    ("states", "policy", "expected"),
    [
        ([_state("waiting")], "Always", "Pending"),
        ([_state("running"), _state("waiting")], "Always", "Pending"),
        ([_state("running")], "Always", "Running"),
        ([_state("waiting", code=1)], "Always", "Running"),
        ([_state("ended", code=0)], "Never", "Succeeded"),
        ([_state("ended", code=0), _state("ended", code=3)], "Never", "Failed"),
        ([_state("ended", code=0), _state("running")], "Never", "Running"),
        ([_state("ended", code=0)], "OnFailure", "Succeeded"),
        ([_state("ended", code=0)], "Always", "Running"),
    ],
)
def test_the_phase_follows_the_kubelets_rules(states: list[ContainerState], policy: str, expected: str) -> None:
    assert phase(states, policy) == expected


@pytest.mark.parametrize(
    ("policy", "code", "again"),
    [("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 1, False)],
)
def test_a_container_is_restarted_as_its_policy_says(policy: str, code: int, again: bool) -> None:
    assert will_restart(_end(code), policy) is again


def test_a_running_and_ready_container_makes_a_ready_pod() -> None:
    status = _status(_state("running"))
    assert status["phase"] == "Running"
    assert _condition(status, "Ready")["status"] == "True"
    assert status["podIP"] == "198.18.0.16"


def test_one_unready_container_makes_the_pod_unready_and_is_named() -> None:
    status = _status(_state("running"), ContainerState("side", "i", "running", started=EARLIER))
    assert _condition(status, "Ready")["status"] == "False"
    assert "[side]" in _condition(status, "Ready")["message"]


def test_a_pod_without_program_is_pending_and_says_which_is_missing() -> None:
    status = _status(_state("waiting"), blocked=("NoProgram", "no program stands behind ns/web"))
    assert status["phase"] == "Pending"
    assert status["message"] == "no program stands behind ns/web"
    assert _condition(status, "Ready")["reason"] == "NoProgram"
    assert "podIP" not in status


def test_a_pod_that_was_without_program_is_not_said_to_be_any_longer() -> None:
    status = _status(_state("running"), old={"message": "no program", "reason": "NoProgram"})
    assert status["message"] is None
    assert status["reason"] is None


def test_others_conditions_stay_and_own_ones_keep_the_time_of_their_last_change() -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": EARLIER}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": EARLIER}
    containers = {"type": "ContainersReady", "status": "False", "lastTransitionTime": EARLIER}
    status = _status(_state("running"), old={"conditions": [scheduled, ready, containers]})
    assert _condition(status, "PodScheduled") == scheduled
    assert _condition(status, "Ready")["lastTransitionTime"] == EARLIER
    assert _condition(status, "ContainersReady")["lastTransitionTime"] == NOW


@pytest.mark.parametrize(("gate", "ready"), [("True", "True"), ("False", "False"), (None, "False")])
def test_readiness_gates_count(gate: str | None, ready: str) -> None:
    old = {"conditions": [{"type": "example.com/gate", "status": gate}] if gate else []}
    status = _status(_state("running"), old=old, spec={"readinessGates": [{"conditionType": "example.com/gate"}]})
    assert _condition(status, "Ready")["status"] == ready
    assert _condition(status, "ContainersReady")["status"] == "True"


def test_init_containers_count_as_done_and_sidecars_as_running() -> None:
    inits = [{"name": "setup", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}]
    found = _status(_state("running"), spec={"initContainers": inits})["initContainerStatuses"]
    assert found[0]["state"]["terminated"]["exitCode"] == 0
    assert "running" in found[1]["state"]


states = st.builds(
    ContainerState,
    name=st.sampled_from(["a", "b", "c"]),
    image=st.just("i"),
    phase=st.sampled_from(["waiting", "running", "ended"]),
    started=st.just(EARLIER),
    ready=st.booleans(),
    startup_done=st.booleans(),
    restarts=st.integers(0, 9),
    last=st.one_of(st.none(), st.builds(End, st.integers(0, 255), st.just(EARLIER), st.just(NOW))),
)


@given(st.lists(states, min_size=1, max_size=4), st.sampled_from(["Always", "OnFailure", "Never"]))
def test_a_pod_is_ready_only_when_every_container_runs_and_is_ready(found: list[ContainerState], policy: str) -> None:
    status = _status(*found, spec={"restartPolicy": policy})
    assert (_condition(status, "Ready")["status"] == "True") == all(c.phase == "running" and c.ready for c in found)
    assert len(status["containerStatuses"]) == len(found)
    assert all(len(entry["state"]) <= 1 for entry in status["containerStatuses"])
    assert len({c["type"] for c in status["conditions"]}) == len(status["conditions"])


@given(st.lists(states, min_size=1, max_size=3))
def test_the_same_state_gives_the_same_conditions_a_moment_later(found: list[ContainerState]) -> None:
    first = _status(*found)
    again = pod_status({**pod(), "status": first}, found, now="2026-01-03T00:00:00Z", host_address="h", address="a", blocked=None)
    assert again["conditions"] == first["conditions"]
    assert again["startTime"] == first["startTime"]

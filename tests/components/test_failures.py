"""From the engine's failures to errors with an exit code, and from its events to progress."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pulumi.automation import CommandError, CommandResult
from pulumi.automation.errors import create_command_error

from base.errors import CheckFailed, DeadlineExceeded, Refused, Unavailable
from base.events import QuietReporter, Step
from components.failures import explain, unmet
from components.progress import Changes, Progress, short

URN = "urn:pulumi:s::chandlery::chandlery:addons:CertManager$kubernetes:apps/v1:Deployment::cert-manager/certs/webhook"


CONFIG = {
    "kind": "Config",
    "metadata": {"name": "kai-config"},
    "status": {
        "conditions": [
            {"type": "Deployed", "status": "True", "message": "Resources deployed"},
            {"type": "Reconciling", "status": "False", "message": "Reconciliation completed"},
            {"type": "Available", "status": "False", "message": "Deployment [admission] is not available\nnot available"},
            {"type": "Ready", "status": "Unknown"},
        ]
    },
}


def failed(stderr: str = "error: update failed") -> CommandError:
    return create_command_error(CommandResult(stdout="", stderr=stderr, code=255))


@pytest.mark.parametrize(
    ("diagnostic", "kind"),
    [
        ("Deployment a/b: ... failed to fully initialize or become live: timed out waiting", DeadlineExceeded),
        ("Namespace a: configured Kubernetes cluster is unreachable: dial tcp", Unavailable),
        ("could not write the checkpoint: no space left on device", Unavailable),
        ('ConfigMap a/b: "x" is invalid: metadata.name', CheckFailed),
    ],
)
def test_a_failed_run_is_explained_by_what_the_cluster_said(diagnostic: str, kind: type[Exception]) -> None:
    error = explain("up", failed(), [diagnostic, "update failed"], Path("/logs/pulumi.log"))
    assert type(error) is kind
    assert diagnostic in error.message
    assert "update failed" not in error.message
    assert error.where


def test_a_run_that_failed_before_the_engine_began_is_explained_by_the_cli() -> None:
    error = explain("up", failed("error: getting stack configuration: incorrect passphrase"), [], Path("/logs/pulumi.log"))
    assert error.message == "up did not succeed:\n  getting stack configuration: incorrect passphrase"


def test_an_object_that_did_not_become_ready_says_why_itself() -> None:
    diagnostic = (
        'Config kai-config: 1 error occurred:\n\t* resource "urn:pulumi:a::b::c::d" was successfully created, but the Kubernetes '
        "API server reported that it failed to fully initialize or become live: timed out waiting for the condition"
    )
    error = explain("up", failed(), [diagnostic], Path("/logs/pulumi.log"), unmet(CONFIG))
    assert error.message.splitlines()[1:] == [
        "  Config kai-config: was successfully created, but the Kubernetes API server reported that it failed to fully "
        "initialize or become live: timed out waiting for the condition",
        "  Config kai-config: Available is False: Deployment [admission] is not available; not available",
        "  Config kai-config: Ready is Unknown",
    ]


def test_only_the_first_failures_are_shown() -> None:
    error = explain("up", failed(), [f"ConfigMap {n}: no" for n in range(9)], Path("/logs/pulumi.log"))
    assert "ConfigMap 4: no" in error.message
    assert "ConfigMap 5: no" not in error.message
    assert "and 4 more" in error.message


def test_a_lock_of_plain_pulumi_that_came_in_between_names_its_holder() -> None:
    said = (
        "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock "
        "file with `pulumi cancel`.\n  file:///b/.pulumi/locks/x.json: created by ann@host (pid 77) at 2026-01-01T00:00:00Z"
    )
    error = explain("up", failed(said), [], Path("/logs/pulumi.log"))
    assert isinstance(error, Refused)
    assert "ann@host (pid 77) at 2026-01-01" in error.where


def test_a_resource_is_named_as_people_name_it() -> None:
    assert short(URN) == "Deployment certs/webhook"
    assert short("urn:pulumi:s::chandlery::a$kubernetes:rbac.authorization.k8s.io/v1:ClusterRole::x/some::role") == (
        "ClusterRole some::role"
    )
    assert short("nonsense") == "nonsense"


def test_changes_are_counted_and_said() -> None:
    assert str(Changes.of({"create": 3, "same": 2})) == "3 created, 2 unchanged"
    assert str(Changes.of({"same": 5})) == "nothing changed (5 unchanged)"
    assert not Changes.of({"same": 5}).any
    assert Changes.of({"discard": 1, "delete": 2}).delete == 3


class Recorder(QuietReporter):
    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def event(self, kind: str, message: str, **fields: Any) -> None:
        del fields
        self.events.append((kind, message))


def event(**fields: Any) -> SimpleNamespace:
    names = ("resource_pre_event", "res_outputs_event", "res_op_failed_event", "diagnostic_event", "summary_event")
    return SimpleNamespace(**{name: fields.get(name) for name in names})


def step_of(operation: str) -> SimpleNamespace:
    return SimpleNamespace(metadata=SimpleNamespace(urn=URN, type="kubernetes:apps/v1:Deployment", op=operation))


def test_progress_tells_what_was_done_what_is_waited_for_and_what_went_wrong() -> None:
    recorder, step = Recorder(), Step("up")
    progress = Progress(recorder, step)
    progress(event(resource_pre_event=step_of("create")))
    assert step.detail == "0 done, Deployment certs/webhook"
    diagnostic = SimpleNamespace(urn=URN, severity="info", message="<{%reset%}>[1/2] Waiting for pods\n<{%reset%}>")
    progress(event(diagnostic_event=diagnostic))
    assert step.detail == "0 done, Deployment certs/webhook: [1/2] Waiting for pods"
    progress(event(res_outputs_event=step_of("create")))
    assert recorder.events == [("resource", "created Deployment certs/webhook")]
    progress(event(diagnostic_event=SimpleNamespace(urn=URN, severity="error", message="broken")))
    assert progress.errors == ["Deployment certs/webhook: broken"]
    progress(event(summary_event=SimpleNamespace(resource_changes={"create": 1})))
    assert progress.changes == Changes(create=1)


def test_what_stays_as_it_is_is_not_told() -> None:
    recorder = Recorder()
    progress = Progress(recorder, Step("up"))
    progress(event(res_outputs_event=step_of("same")))
    assert recorder.events == []

"""What the engine only lets go of is not called deleted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from base.events import QuietReporter, Step
from components.progress import Changes, Progress


class Heard(QuietReporter):
    def __init__(self) -> None:
        self.messages: list[str] = []

    def event(self, kind: str, message: str, **fields: Any) -> None:
        del kind, fields
        self.messages.append(message)


def _event(**given: Any) -> SimpleNamespace:
    names = ("resource_pre_event", "res_outputs_event", "res_op_failed_event", "diagnostic_event", "summary_event")
    return SimpleNamespace(**{name: given.get(name) for name in names})


def _deleted(kind: str, api_version: str) -> SimpleNamespace:
    urn = f"urn:pulumi:s::chandlery::kubernetes:{api_version}:{kind}::kai/vision"
    inputs = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "vision"}}
    step = SimpleNamespace(op="delete", urn=urn, type=f"kubernetes:{api_version}:{kind}", old=SimpleNamespace(inputs=inputs))
    return _event(res_outputs_event=SimpleNamespace(metadata=step))


def test_a_queue_that_leaves_the_stack_is_released_and_a_role_is_deleted() -> None:
    heard = Heard()
    progress = Progress(heard, Step("up"))
    progress(_deleted("Queue", "scheduling.run.ai/v2"))
    progress(_deleted("ClusterRole", "rbac.authorization.k8s.io/v1"))
    progress(_event(summary_event=SimpleNamespace(resource_changes={"delete": 2, "same": 5})))
    assert heard.messages == ["released (it stays on the cluster) Queue vision", "deleted ClusterRole vision"]
    assert progress.changes == Changes(same=5, delete=1, released=1)
    assert str(progress.changes) == "1 deleted, 1 released (still on the cluster), 5 unchanged"
    assert progress.changes.any

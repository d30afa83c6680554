"""Plans, facts and results made up for the tests of this room."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from catalog.plan import Facts, Plan, PlanItem, Program, State, Webhook
from spec.model import ClusterSpec, NodePool, Target, Tenancy
from validation.checks import Check
from validation.context import Context
from validation.harness.timeline import Seen
from validation.outcomes import Outcome
from validation.run.results import AddonRow, CheckResult, RunResult

CHECK = Check(
    id="X01",
    title="A thing holds",
    proves="Things hold.",
    tier="sched",
    subject="scheduler",
    room="things",
    seconds=60.0,
    since="",
    until="",
    own_nodes=False,
    disruptive=False,
    reference=True,
    known_faults=(),
    story="It is looked at.",
    where="things/test_thing.py::test_thing",
)


def a_check(**changes: Any) -> Check:
    return replace(CHECK, **changes)


def item(addon: str, version: str = "1.2.0", state: State = "real", **more: Any) -> PlanItem:
    return PlanItem(addon=addon, version=version, namespace=addon, state=state, values={}, reason="asked for", **more)


def a_plan(*items: PlanItem, scheduler: str = "kai-scheduler") -> Plan:
    return Plan("blue", items, scheduler, "its programs are at hand", "sha256:0")


def a_spec(target: Any = "embedded") -> ClusterSpec:
    pools = (NodePool("default", 1),)
    return ClusterSpec("blue", Target(target, "1.36"), "edge", "auto", (), pools, Tenancy(), Path("clusters/blue.yaml"))


def some_facts(kubeconfig: Path, state: Path, target: Any = "embedded") -> Facts:
    return Facts(target, "v1.36.3", kubeconfig, "uid-of-kube-system", state)


def a_context(*items: PlanItem, target: Any = "embedded", scheduler: str = "kai-scheduler") -> Context:
    spec, facts = a_spec(target), some_facts(Path("/nowhere"), Path("/nowhere"), target)
    return Context.of("run1", spec, facts, a_plan(*items, scheduler=scheduler))


def a_result(*checks: CheckResult, **changes: Any) -> RunResult:
    made = RunResult(
        run="run1",
        cluster="blue",
        cluster_uid="uid-of-kube-system",
        spec="clusters/blue.yaml",
        target="embedded",
        kubernetes="v1.36.3",
        scheduler="kai-scheduler",
        scheduler_version="v0.17.0",
        scheduler_state="real",
        scheduler_reason="its programs are at hand",
        started="2026-03-01T12:00:00+0000",
        seconds=12.5,
        addons=(AddonRow("kai-scheduler", "v0.17.0", "real", 1, 0, 0, 0, 0),),
        checks=checks,
    )
    return replace(made, **changes)


def checked(outcome: Outcome, id: str = "T01", **changes: Any) -> CheckResult:
    made = CheckResult(
        id=id,
        case="",
        title="A thing holds",
        proves="Things hold.",
        story="It is looked at.",
        room="queues",
        tier="sched",
        addon="kai-scheduler",
        where="queues/test_thing.py::test_thing",
        outcome=outcome,
        reason="" if outcome is Outcome.PASSED else f"it {outcome}",
        seconds=1.25,
        seen=(Seen(0.1, "pod a: appeared"), Seen(0.4, "pod a: bound to n0")),
    )
    return replace(made, **changes)


PROGRAM = Program("sample/sample", "sample")
WEBHOOK = Webhook("ValidatingWebhookConfiguration/sample", "sample/sample")
SILENT = Webhook("MutatingWebhookConfiguration/sample", reason="its program is in no module")

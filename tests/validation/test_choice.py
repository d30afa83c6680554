"""Which checks exist, which may run on a cluster, and which a user means."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from base.errors import InvalidInput, NotFound
from catalog.read.load import load
from tests.validation.synthetic import PROGRAM, SILENT, WEBHOOK, a_check, a_context, item
from validation.checks import KnownFault, find, listing
from validation.context import Context
from validation.gate import admit, subject_of
from validation.outcomes import Outcome
from validation.run.select import choose
from validation.suite.preempt.test_matrix import CELLS, HIGH, LOW
from validation.versions import Version

KAI = item("kai-scheduler", "v0.17.0")


def test_every_check_says_what_it_is() -> None:
    checks = listing()
    assert len(checks) >= 18
    for check in checks:
        assert check.title, check.id
        assert check.proves, check.id
        assert check.story, check.id
        assert check.room in {"gangs", "install", "preempt", "queues", "reclaim", "slurm"}, check.id
        assert (Path(__file__).parents[2] / check.where.partition("::")[0]).is_file(), check.where


def test_the_first_dozen_is_there() -> None:
    wanted = {"T01", "T02", "T06", "T07", "T10", "T11", "T12", "T21", "T30", "T33", "T34", "T39"}
    assert wanted <= {check.id for check in listing()}


def test_the_catalogue_names_only_checks_that_exist() -> None:
    known = {check.id for check in listing()}
    for versions in load().versions.values():
        for version in versions:
            assert set(version.checks) <= known, version.addon


def test_an_unknown_check_is_answered_with_those_that_exist() -> None:
    assert find("t10").id == "T10"
    with pytest.raises(NotFound) as caught:
        find("T999")
    assert "T10" in caught.value.todo


@pytest.mark.parametrize(
    ("changes", "target", "plan", "outcome", "reason"),
    [
        ({}, "embedded", KAI, None, ""),
        ({"tier": "node"}, "embedded", KAI, Outcome.SKIPPED, "needs tier node"),
        ({"tier": "node"}, "kind", KAI, None, ""),
        ({"tier": "gpu"}, "kind", KAI, Outcome.SKIPPED, "needs tier gpu"),
        ({"tier": "gpu"}, "cluster", KAI, None, ""),
        ({"tier": "slurm-local"}, "cluster", KAI, Outcome.SKIPPED, "slurm-local"),
        ({"subject": "slurm-operator"}, "embedded", KAI, Outcome.SKIPPED, "slurm-operator is not part"),
        ({"since": "v0.18"}, "embedded", KAI, Outcome.SKIPPED, "since kai-scheduler v0.18"),
        ({"since": "0.13", "until": "0.16.9"}, "embedded", KAI, Outcome.SKIPPED, "until kai-scheduler 0.16.9"),
        ({"since": "0.13", "until": "0.17.0"}, "embedded", KAI, None, ""),
        ({"own_nodes": True}, "cluster", KAI, Outcome.SKIPPED, "never added to a customer's cluster"),
        ({"own_nodes": True}, "kind", KAI, None, ""),
        ({"disruptive": True}, "cluster", KAI, Outcome.SKIPPED, "not done on a customer's cluster"),
        ({}, "embedded", item("kai-scheduler", "v0.17.0", "simulated"), Outcome.SKIPPED, "simulated"),
        ({"since": "0.99"}, "embedded", item("kai-scheduler", "0.1.0", "reference"), None, ""),
        ({"reference": False}, "embedded", item("kai-scheduler", "0.1.0", "reference"), Outcome.UNSUPPORTED, "reference engine"),
    ],
)
def test_gate(changes: dict[str, Any], target: str, plan: Any, outcome: Outcome | None, reason: str) -> None:
    ruling = admit(a_check(**changes), a_context(plan, target=target))
    assert (ruling.outcome if ruling else None) is outcome
    assert reason in (ruling.reason if ruling else "")


def test_a_case_is_about_its_own_add_on() -> None:
    context = a_context(KAI, item("sample", state="simulated"))
    every = a_check(subject="every add-on", tier="api")
    found = subject_of(every, context, "sample")
    assert found is not None
    assert found.addon == "sample"
    assert admit(every, context, "sample") is None, "an installation check looks at simulated add-ons too"


def test_a_known_fault_holds_for_its_versions_only() -> None:
    check = a_check(known_faults=(KnownFault("kai#1968", "0.16.2", "0.16.8"), KnownFault("kai#1968", "0.17.0", "0.17.0")))
    assert [check.fault_of(v) for v in ("v0.16.1", "v0.16.2", "v0.16.8", "v0.16.9", "v0.17.0", "v0.17.1")] == [
        "", "kai#1968", "kai#1968", "", "kai#1968", "",
    ]  # fmt: skip


def test_versions_are_ordered_as_numbers_and_releases_come_after_their_candidates() -> None:
    texts = ["v0.9.0", "0.10", "v0.16.8", "0.17.0-rc1", "v0.17.0", "1"]
    assert sorted(texts, key=Version.parse) == texts
    with pytest.raises(InvalidInput):
        Version.parse("latest")


def test_names_of_checks_rooms_and_add_ons_are_understood() -> None:
    context = a_context(KAI, item("cert-manager"), item("slurm-operator", "1.0.0"))
    assert choose(["t10"], context) == ("T10",)
    assert choose(["gangs"], context) == ("T10", "T11", "T12")
    assert choose(["I01[cert-manager]"], context) == ("I01[cert-manager]",)
    assert set(choose(["cert-manager"], context)) == {"I01[cert-manager]", "I02[cert-manager]", "I03[cert-manager]"}
    assert {"SLURM-01", "I01[slurm-operator]"} <= set(choose(["slurm-operator"], context))
    assert {"T01", "T30", "I01[kai-scheduler]"} <= set(choose(["kai-scheduler"], context))
    assert choose(["scheduler"], context) == choose(["kai-scheduler"], context)
    assert choose(["T10", "gangs"], context) == ("T10", "T11", "T12")


def test_a_name_that_means_nothing_is_answered_with_the_nearest() -> None:
    with pytest.raises(NotFound) as caught:
        choose(["gang"], a_context(KAI))
    assert "gangs" in caught.value.todo
    with pytest.raises(NotFound):
        choose(["I01[slurm-operator]"], a_context(KAI))


def test_the_context_survives_its_way_to_the_child() -> None:
    sample = item("sample", programs=(PROGRAM,), webhooks=(WEBHOOK, SILENT), role="samples", crds=("samples.example.org",))
    context = a_context(KAI, sample)
    assert Context.from_json(context.to_json()) == context
    found = context.addon("sample")
    assert found is not None
    assert (found.role, found.crds) == ("samples", ("samples.example.org",))
    assert found.webhooks == ("ValidatingWebhookConfiguration/sample",)
    assert found.unserved == (("MutatingWebhookConfiguration/sample", "its program is in no module"),)


def test_webhooks_without_a_program_are_a_matter_of_the_embedded_target() -> None:
    found = a_context(item("sample", webhooks=(WEBHOOK, SILENT)), target="cluster").addon("sample")
    assert found is not None
    assert found.unserved == ()


def test_the_preemption_matrix_is_whole_and_allows_just_two_cells() -> None:
    assert len(CELLS) == len({cell.name + str((cell.newcomer, cell.holder)) for cell in CELLS}) == 12
    assert len({cell.name for cell in CELLS}) == 12, "each cell has names of its own"
    allowed = {(cell.newcomer, cell.newcomer_preemptible) for cell in CELLS if cell.allowed}
    assert allowed == {(HIGH, True), (HIGH, False)}
    assert all(cell.holder == LOW and cell.holder_preemptible for cell in CELLS if cell.allowed)
    assert {(c.newcomer, c.holder) for c in CELLS} == {(HIGH, LOW), (LOW, LOW), (LOW, HIGH)}
    assert len(list(product((True, False), repeat=2))) * 3 == len(CELLS)

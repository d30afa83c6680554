"""Which scheduler a cluster gets is decided once, told with its reason, and changed only on purpose."""

from __future__ import annotations

import pytest

from base.errors import InvalidInput, Refused, Unavailable
from catalog.resolve.choice import AUTO, KAI, REFERENCE, Choice, Obtainable, choose

YES_CHART, NO_CHART = Obtainable(True, "from a mirror"), Obtainable(False, "the registry does not answer")
YES_PROGRAMS, NO_PROGRAMS = Obtainable(True, "seven in /kai"), Obtainable(False, "no --kai-binaries")


def test_kai_is_taken_where_its_chart_and_its_programs_can_be_had() -> None:
    choice = choose(wanted=AUTO, target="embedded", chart=YES_CHART, programs=YES_PROGRAMS)
    assert choice == Choice(KAI, "its chart (from a mirror) and its programs (seven in /kai) can be had")


@pytest.mark.parametrize(
    ("chart", "programs", "reason"),
    [
        (NO_CHART, YES_PROGRAMS, "kai-scheduler cannot be had here: no chart (the registry does not answer)"),
        (YES_CHART, NO_PROGRAMS, "kai-scheduler cannot be had here: no programs (no --kai-binaries)"),
        (
            NO_CHART,
            NO_PROGRAMS,
            "kai-scheduler cannot be had here: no chart (the registry does not answer) and no programs (no --kai-binaries)",
        ),
    ],
)
def test_the_reference_engine_stands_in_with_the_reason(chart: Obtainable, programs: Obtainable, reason: str) -> None:
    assert choose(wanted=AUTO, target="embedded", chart=chart, programs=programs) == Choice(REFERENCE, reason)


def test_programs_are_no_matter_where_images_are_pulled() -> None:
    assert choose(wanted=AUTO, target="kind", chart=YES_CHART, programs=NO_PROGRAMS).scheduler == KAI


def test_the_reference_engine_never_stands_in_on_a_real_cluster() -> None:
    with pytest.raises(Unavailable, match="for the embedded target only"):
        choose(wanted=AUTO, target="cluster", chart=NO_CHART, programs=NO_PROGRAMS)


@pytest.mark.parametrize("chart", [YES_CHART, NO_CHART])
def test_a_stored_choice_does_not_follow_a_registry_that_comes_and_goes(chart: Obtainable) -> None:
    stored = Choice(REFERENCE, "no chart at the time")
    choice = choose(wanted=AUTO, target="embedded", chart=chart, programs=YES_PROGRAMS, stored=stored)
    assert choice == Choice(REFERENCE, "no chart at the time", fresh=False)


def test_the_flag_changes_a_stored_choice() -> None:
    stored = Choice(REFERENCE, "x")
    choice = choose(wanted=AUTO, target="embedded", chart=NO_CHART, programs=NO_PROGRAMS, stored=stored, flag=KAI)
    assert choice == Choice(KAI, "asked for by --scheduler kai-scheduler")


def test_the_flag_auto_decides_anew() -> None:
    stored = Choice(REFERENCE, "x")
    choice = choose(wanted=AUTO, target="embedded", chart=YES_CHART, programs=YES_PROGRAMS, stored=stored, flag=AUTO)
    assert choice.scheduler == KAI
    assert choice.fresh


def test_the_specs_own_word_is_taken() -> None:
    choice = choose(wanted=REFERENCE, target="embedded", chart=YES_CHART, programs=YES_PROGRAMS)
    assert choice == Choice(REFERENCE, "named in the spec")


def test_a_spec_that_names_another_scheduler_than_the_cluster_has_is_refused() -> None:
    with pytest.raises(Refused, match="this cluster has kai-reference, its spec now says kai-scheduler"):
        choose(wanted=KAI, target="embedded", chart=YES_CHART, programs=YES_PROGRAMS, stored=Choice(REFERENCE, "x"))


def test_spec_and_flag_may_not_contradict_each_other() -> None:
    with pytest.raises(InvalidInput, match="the spec says scheduler kai-scheduler, --scheduler says kai-reference"):
        choose(wanted=KAI, target="embedded", chart=YES_CHART, programs=YES_PROGRAMS, flag=REFERENCE)

"""Each rule tells of what it is for, and of nothing just this side of it."""

from __future__ import annotations

import re

import pytest

from catalog.lint.rendered import IDS
from catalog.lint.rules import RULES
from catalog.lint.run import CHECKS
from catalog.lint.world import World
from tests.catalog.lint.cases import CASES, IGNORED, one
from tests.catalog.lint.worlds import found, ids, world

BAD = [(rule, case) for rule, (bad, _) in CASES.items() for case in bad]
GOOD = [(rule, case) for rule, (_, good) in CASES.items() for case in good]


def test_nothing_is_wrong_with_the_small_catalogue() -> None:
    assert found(world()) == []
    assert ids(one(**IGNORED)) == set()


@pytest.mark.parametrize(("rule", "case"), BAD, ids=[rule for rule, _ in BAD])
def test_a_rule_tells_of_what_it_is_for(rule: str, case: World) -> None:
    assert rule in ids(case)


@pytest.mark.parametrize(("rule", "case"), GOOD, ids=[rule for rule, _ in GOOD])
def test_a_rule_is_silent_just_this_side_of_it(rule: str, case: World) -> None:
    assert rule not in ids(case)


def test_every_rule_has_both_kinds_of_test() -> None:
    assert set(CASES) == set(CHECKS)
    assert all(bad and good for bad, good in CASES.values())


def test_every_rule_is_in_the_table_and_everything_in_the_table_is_a_rule() -> None:
    assert set(RULES) == {*CHECKS, *IDS, "CAT001"}
    assert all(RULES[name].id == name for name in RULES)
    assert len(RULES) >= 40


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_has_a_form_that_programs_can_rely_on(rule: object) -> None:
    made = next(one for one in RULES.values() if one is rule)
    assert re.fullmatch(r"CAT\d{3}", made.id)
    assert made.severity in ("error", "warning", "note")
    assert made.title[0].isupper()
    assert not made.title.endswith(".")
    assert made.why[0].islower() or made.why[0] == "`"
    assert made.documented


def test_findings_come_in_the_order_of_files_and_rules_and_never_twice() -> None:
    several = found(world([case.catalogue.versions["demo"][0] for _, case in BAD[:6]][:1], channels={}))
    assert several == sorted(several, key=lambda f: (f.position.file, f.position.line, f.rule.id, f.message))
    assert len(several) == len({(f.rule.id, f.position, f.message) for f in several})

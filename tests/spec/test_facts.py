"""Facts of the cluster that a spec states by hand."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import SpecError
from spec.facts import STATABLE
from spec.load import loads
from spec.model import StatedFact
from tests.spec.test_load import MINIMAL, read, wrong


def facts(text: str) -> tuple[StatedFact, ...]:
    return read(f"{MINIMAL}facts: {text}\n").facts


def test_facts_keep_their_words_and_their_line() -> None:
    assert facts("{driver: 580.95.05, nri: on, cuda: 13.0}") == (
        StatedFact("driver", ("580.95.05",), 3), StatedFact("cuda", ("13.0",), 3), StatedFact("nri", ("on",), 3),
    )  # fmt: skip
    assert read(MINIMAL).facts == ()
    assert facts("") == facts("{}") == ()


def test_a_fleet_may_have_several_values() -> None:
    assert facts("{architecture: [amd64, arm64, amd64]}") == (StatedFact("architecture", ("amd64", "arm64"), 3),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{drivr: 580}", "3:9: facts.drivr: unknown field (did you mean driver?)"),
        ("{driver: new}", "3:9: facts.driver: 'new' is no number (write it as"),
        ("{nri: yes}", "3:9: facts.nri: 'yes' is not one of on, off"),
        ("{cgroup: 2}", "3:9: facts.cgroup: '2' is not one of v1, v2"),
        ("{mig: true}", "3:9: facts.mig: expected a word, found the truth value true"),
        ("{kubernetes: 1.36}", "3:9: facts.kubernetes: has a place of its own (write it as target.kubernetes)"),
        ("[driver]", "3:1: facts: expected a mapping such as"),
        ("{os: {name: x}}", "3:9: facts.os: expected a word, found a mapping"),
        ("{os: [{name: x}]}", "facts.os[0]: expected a word, found a mapping"),
    ],
)
def test_faults_of_facts(text: str, problem: str) -> None:
    assert any(problem in line for line in wrong(f"{MINIMAL}facts: {text}\n"))


VALUES = st.recursive(
    st.text(max_size=5), lambda kids: st.one_of(st.lists(kids, max_size=2), st.dictionaries(st.text(max_size=4), kids))
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.one_of(st.sampled_from(STATABLE), st.text(max_size=5)), VALUES, max_size=3))
def test_any_facts_are_read_or_told(given_facts: object) -> None:
    text = json.dumps({"cluster": "c", "target": {"kind": "embedded"}, "facts": given_facts})
    with contextlib.suppress(SpecError):
        assert all(fact.values for fact in loads(text.encode(), Path("spec.yaml")).facts)

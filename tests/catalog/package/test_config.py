"""A typed configuration takes what its schema knows, refuses the rest with its line, and fills in what is left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.places import REPOSITORY
from catalog.model import AddonVersion, NoOp, VersionRange
from catalog.package.config import filled
from catalog.package.request import request_problems
from catalog.package.values import chart_values
from spec.load import loads
from spec.model import AddonRequest
from tests.catalog.synthetic import addon, version

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "replicas": {"description": "Pods.", "type": "integer", "minimum": 1, "maximum": 5, "default": 1},
        "mode": {"description": "How.", "type": "string", "enum": ["fast", "safe"], "default": "safe"},
        "channel": {"description": "Which.", "type": "string", "pattern": "^[0-9.]+$", "default": "1"},
        "names": {"description": "Who.", "type": "array", "items": {"type": "string"}, "maxItems": 2, "default": []},
        "driver": {
            "description": "The driver.",
            "type": "object",
            "additionalProperties": False,
            "default": {},
            "properties": {"managed": {"description": "Ours.", "type": "boolean", "default": True}},
        },
        "labels": {"description": "Any.", "type": "object", "additionalProperties": {"type": "string"}, "default": {}},
    },
}
TEMPLATE = "defaults: {replicas: {{ config.replicas | tojson }}, on: {{ config.driver.managed | tojson }}}\nguards: {}\n"
NOOPS = (NoOp("binder.replicas", VersionRange(""), "set operator.replicaCount", "made up"),)


def demo(**fields: Any) -> AddonVersion:
    return version("demo", **{"config_schema": SCHEMA, "values_template": TEMPLATE, "noops": NOOPS, **fields})


def told(text: str, made: AddonVersion | None = None) -> list[str]:
    """All problems of the add-on's part of a spec, as a user reads them."""
    spec = loads(f"cluster: c\ntarget: {{kind: kind}}\naddons:\n  demo:\n{text}".encode(), Path("spec.yaml"))
    return [str(problem) for problem in request_problems(made or demo(), spec.addons[0], "spec.yaml")]


def test_a_right_configuration_has_no_problem() -> None:
    assert told("    config: {replicas: 3, mode: fast, driver: {managed: false}, labels: {any: thing}, names: [a]}") == []


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ("{replica: 2}", "5:14: addons.demo.config.replica: unknown key (did you mean replicas?)"),
        ("{driver: {manage: no}}", "5:23: addons.demo.config.driver.manage: unknown key (did you mean managed?)"),
        (
            "{replicas: two}",
            '5:14: addons.demo.config.replicas: expected a whole number, found "two"',
        ),
        (
            '{replicas: "2"}',
            '5:14: addons.demo.config.replicas: expected a whole number, found "2" (write it without quotes)',
        ),
        ("{channel: 1.30}", "5:14: addons.demo.config.channel: expected a word, found 1.3 (write it in quotes)"),
        ("{replicas: 0}", "5:14: addons.demo.config.replicas: 0 is below 1"),
        ("{replicas: 9}", "5:14: addons.demo.config.replicas: 9 is above 5"),
        ("{mode: faster}", '5:14: addons.demo.config.mode: "faster" is not one of fast, safe (did you mean fast?)'),
        ("{channel: x}", '5:14: addons.demo.config.channel: "x" is not of the form ^[0-9.]+$'),
        ("{names: [a, b, c]}", "5:14: addons.demo.config.names: a list has more than 2 entries"),
        ("{names: [a, 2]}", "5:25: addons.demo.config.names.1: expected a word, found 2 (write it in quotes)"),
        ("{driver: yes please}", '5:14: addons.demo.config.driver: expected a mapping, found "yes please"'),
        ("{driver: null}", "5:14: addons.demo.config.driver: expected a mapping, found nothing"),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_what_would_be_right(config: str, problem: str) -> None:
    assert told(f"    config: {config}") == [f"spec.yaml:{problem}"]


def test_every_problem_is_told_at_once_those_of_values_too() -> None:
    found = told("    config:\n      replica: 2\n      mode: x\n    values:\n      binder: {replicas: 2}\n")
    assert [one.split(" ")[0] for one in found] == ["spec.yaml:6:7:", "spec.yaml:7:7:", "spec.yaml:9:16:"]


def test_an_addon_without_options_takes_no_configuration() -> None:
    bare = demo(config_schema={})
    assert told("    config: {a: 1}", bare) == [
        "spec.yaml:5:5: addons.demo.config: demo 1.0.0 takes no configuration (values of its chart are given under `values`)"
    ]
    assert told("    config: {}", bare) == []


def test_a_value_that_does_nothing_is_refused_with_what_does() -> None:
    assert told("    values: {binder: {replicas: 3}}") == [
        "spec.yaml:5:23: addons.demo.values.binder.replicas: does nothing in demo 1.0.0 (made up) (set operator.replicaCount)"
    ]
    assert told("    values: {binder: {resources: {}}, operator: {replicaCount: 3}}") == []


def test_without_the_specs_text_the_requests_line_is_told() -> None:
    (problem,) = config_problems_of(AddonRequest("demo", config={"replica": 1}, line=7))
    assert problem.startswith("spec.yaml:7:1:")


def config_problems_of(request: AddonRequest) -> list[str]:
    return [str(problem) for problem in request_problems(demo(), request, "spec.yaml")]


def test_defaults_are_filled_in_at_every_depth_and_what_is_given_stays() -> None:
    whole = {"replicas": 1, "mode": "safe", "channel": "1", "names": [], "driver": {"managed": True}, "labels": {}}
    assert filled(SCHEMA) == whole
    assert filled(SCHEMA, {"replicas": 4, "driver": {}, "labels": {"a": "b"}}) == {**whole, "replicas": 4, "labels": {"a": "b"}}
    assert filled(SCHEMA, {"driver": {"managed": False}})["driver"] == {"managed": False}
    assert filled({}) == {}


SOME = st.fixed_dictionaries(
    {},
    optional={
        "replicas": st.integers(1, 5),
        "mode": st.sampled_from(["fast", "safe"]),
        "names": st.lists(st.text(max_size=3), max_size=2),
        "driver": st.fixed_dictionaries({}, optional={"managed": st.booleans()}),
        "labels": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    },
)


@given(SOME)
def test_a_right_configuration_stays_right_when_filled_in_and_filling_it_again_changes_nothing(config: dict[str, Any]) -> None:
    made = filled(SCHEMA, config)
    assert config_problems_of(AddonRequest("demo", config=made)) == []
    assert filled(SCHEMA, made) == made
    assert all(made[name] == value for name, value in config.items() if name != "driver")


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"], "x", ""]), JUNK, max_size=4))
def test_whatever_is_given_is_judged_and_never_a_fault_of_ours(config: dict[str, Any]) -> None:
    assert all("addons.demo.config" in one for one in config_problems_of(AddonRequest("demo", config=config)))


def test_the_template_sees_the_whole_configuration() -> None:
    made = chart_values(addon("demo"), demo(), target="kind", given={}, config={"replicas": 3})
    assert made.values == {"replicas": 3, "on": True}


def test_raw_values_win_over_the_configuration() -> None:
    made = chart_values(addon("demo"), demo(), target="kind", given={"replicas": 5}, config={"replicas": 3})
    assert made.values["replicas"] == 5


def test_judging_nothing_costs_no_library() -> None:
    code = (
        "import sys; from catalog.package.request import request_problems; from spec.model import AddonRequest\n"
        "from tests.catalog.package.test_config import demo\n"
        "sys.modules.pop('jsonschema', None)\n"
        "assert request_problems(demo(), AddonRequest('demo'), 's') == [] and 'jsonschema' not in sys.modules\n"
        "assert request_problems(demo(), AddonRequest('demo', config={'x': 1}), 's') and 'jsonschema' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True)

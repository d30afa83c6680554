"""Typed configuration in a values template: whatever a value is, it arrives, and simple templates cost no jinja."""

from __future__ import annotations

import subprocess
import sys

import pytest

from base.errors import InvalidInput
from catalog.package.values import chart_values
from catalog.read.load import ROOT
from tests.catalog.synthetic import addon, version

SCHEMA = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer", "default": 2},
        "names": {"type": "array", "default": ["a b", 'c"d']},
        "deep": {"type": "object", "default": {}, "properties": {"on": {"type": "boolean", "default": False}}},
    },
}


def values(template: str) -> dict[str, object]:
    one = version("demo", values_template=f"defaults: {template}\nguards: {{}}\n", config_schema=SCHEMA)
    return chart_values(addon("demo"), one, target="kind", given={}).values


def test_a_place_for_one_value_takes_it_whatever_is_in_it() -> None:
    assert values("{r: {{ config.replicas | tojson }}, n: {{config.names|tojson}}, t: {{ target | tojson }}}") == {
        "r": 2,
        "n": ["a b", 'c"d'],
        "t": "kind",
    }
    assert values("{d: {{ config.deep.on | tojson }}, all: {{ config.deep | tojson }}}") == {"d": False, "all": {"on": False}}


def test_jinja_fills_in_whatever_else_there_is_and_complains_about_names_that_are_not_there() -> None:
    assert values('{n: {{ config.names | join(",") | tojson }}, r: {{ config.replicas | tojson }}}') == {"n": 'a b,c"d', "r": 2}
    with pytest.raises(InvalidInput, match="broken"):
        values("{n: {{ config.nosuch | tojson }}}")


def test_the_quickstart_is_planned_without_jinja() -> None:
    code = """
import sys
from pathlib import Path
from catalog.plan import Facts
from catalog.read.load import load as load_catalogue
from catalog.resolve.choice import Choice
from catalog.resolve.resolver import resolve
from spec.load import load
facts = Facts("embedded", "1.36", Path("k"), "uid", Path("s"))
resolve(load(Path("clusters/quickstart.yaml")), load_catalogue(), facts, Choice("kai-reference", "x"))
assert "jinja2" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT.parent, check=True)

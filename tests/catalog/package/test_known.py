"""A value that the chart would ignore is refused with the nearest one that it reads; an open mapping takes any key."""

from __future__ import annotations

import json
from typing import Any

import pytest

from base.errors import InvalidInput, Refused
from catalog.package.known import Known, check_known, known_values, unknown
from tests.catalog.synthetic import chart_files

VALUES = """\
replicas: 1
global: {registry: r, tolerations: []}
binder:
  enabled: true
  plugins: {}
  nodeSelector: {kubernetes.io/os: linux}
  extra: null
scheduler: {args: {verbosity: "3"}}
limitsOfTeams: {a.b/c: 1}
passed: {one: 1}
looped: {one: 1}
"""
TEMPLATE = """\
{{ .Values.binder.resources }} {{ $.Values.binder.cdi.enabled }} {{ index .Values "node-feature" "on" }}
{{ toYaml .Values.passed }}
{{ range $k, $v := .Values.looped }}{{ end }}
{{- with .Values.deep.handed }}
x: {{ toYaml . | nindent 2 }}
{{- end }}
"""


def known(**more: str) -> Known:
    return known_values(chart_files(templates={"a.yaml": TEMPLATE}, **{"values.yaml": VALUES, **more}), "demo")


@pytest.mark.parametrize(
    ("values", "path", "hint"),
    [
        ({"replica": 1}, ("replica",), "did you mean replicas?"),
        ({"binder": {"enable": True}}, ("binder", "enable"), "did you mean enabled?"),
        ({"global": {"toleration": []}}, ("global", "toleration"), "did you mean tolerations?"),
        ({"binder": {"cdi": {}, "cdj": 1}}, ("binder", "cdj"), "did you mean cdi?"),
        ({"deep": {"handeed": 1}}, ("deep", "handeed"), "did you mean handed?"),
    ],
)
def test_a_value_that_the_chart_does_not_read_is_told_with_the_nearest(values: Any, path: tuple[str, ...], hint: str) -> None:
    ((found, told),) = unknown(values, known())
    assert found == path
    assert hint.removesuffix("?") in told


@pytest.mark.parametrize(
    "values",
    [
        {"replicas": 3},
        {"binder": {"plugins": {"any": {"thing": 1}}}},  # empty by default
        {"binder": {"extra": {"any": 1}}},  # null by default
        {"binder": {"nodeSelector": {"role": "x"}}},  # labels are data
        {"binder": {"resources": {"limits": {"cpu": 1}}}},  # read by a template only
        {"binder": {"cdi": {"enabled": True}}},
        {"node-feature": {"on": True}},
        {"scheduler": {"args": {"v": "4"}}},  # arguments are data
        {"limitsOfTeams": {"d": 2}},  # its keys are plainly data
        {"passed": {"two": 2}},  # handed on whole
        {"looped": {"two": 2}},
        {"deep": {"handed": {"any": 1}}},
        {"replicas": {"a": 1}},  # of another type: that is for the chart to say
    ],
)
def test_what_the_chart_reads_or_leaves_open_is_taken(values: Any) -> None:
    assert unknown(values, known()) == ()


def test_a_schema_of_the_chart_opens_and_names_values() -> None:
    schema = {"properties": {"tuning": {"type": "object"}, "shape": {"properties": {"a": {}}, "additionalProperties": False}}}
    made = known(**{"values.schema.json": json.dumps(schema)})
    assert unknown({"tuning": {"x": 1}, "shape": {"a": 1}}, made) == ()
    assert [path for path, _ in unknown({"shape": {"b": 1}}, made)] == [("shape", "b")]


def test_values_of_subcharts_are_known_under_their_names_and_share_global() -> None:
    made = known(
        **{
            "Chart.yaml": "name: demo\nversion: 1.0.0\ndependencies: [{name: sub, alias: part}]\n",
            "charts/sub/values.yaml": "port: 80\nglobal: {zone: a}\n",
            "charts/sub/templates/x.yaml": "{{ .Values.host }} {{ .Values.global.rack }}",
        }
    )
    assert unknown({"part": {"port": 1, "host": "h"}, "global": {"zone": "b", "rack": "r"}}, made) == ()
    assert [path for path, _ in unknown({"part": {"prot": 1}, "sub": {}}, made)] == [("part", "prot"), ("sub",)]


def test_every_unknown_value_is_told_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        check_known("demo", "1.0.0", {"replica": 1, "binder": {"enable": 1}}, known())
    assert "would ignore 2 values" in str(caught.value)
    assert "addons.demo.values.replica: unknown to the chart (did you mean replicas?)" in str(caught.value)
    check_known("demo", "1.0.0", {"replicas": 1}, known())


@pytest.mark.parametrize("broken", [{"values.yaml": "a: b: c"}, {"values.schema.json": "{"}])
def test_a_chart_whose_own_files_are_broken_is_refused(broken: dict[str, str]) -> None:
    with pytest.raises(Refused):
        known(**broken)

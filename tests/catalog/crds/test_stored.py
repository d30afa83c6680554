"""What the API server makes of an object under a schema. The same cases are shown to a real one in ``test_live.py``."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.crds.stored import Judge, rules_in

STRING: dict[str, Any] = {"type": "string"}


def judged(schema: dict[str, Any], value: Any) -> tuple[list[str], list[str], list[str]]:
    """Paths dropped, filled and refused for a field ``f``."""
    root = {"type": "object", "properties": {"f": schema}}
    found = Judge(root).judge({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "x", "labels": {}}, "f": value})
    parts = [[fault.at for fault in part] for part in (found.dropped, found.filled, found.invalid)]
    return parts[0], parts[1], parts[2]


@pytest.mark.parametrize(
    ("schema", "value", "dropped"),
    [
        ({"type": "object", "properties": {"a": STRING}}, {"a": "x", "b": 1}, [".f.b"]),
        ({"type": "object", "additionalProperties": STRING}, {"b": "x"}, []),
        ({"type": "object", "additionalProperties": True}, {"b": {"c": 1}}, [".f.b.c"]),  # as apiextensions-apiserver does
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"b": {"c": 1}}, []),
        (
            {
                "type": "object",
                "x-kubernetes-preserve-unknown-fields": True,
                "properties": {"b": {"type": "object", "properties": {}}},
            },
            {"a": 1, "b": {"c": 1}},
            [".f.b.c"],
        ),
        ({"type": "array", "items": {"type": "object", "properties": {"a": STRING}}}, [{"a": "x"}, {"b": 1}], [".f[1].b"]),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, {"apiVersion": "v1", "kind": "P", "spec": 1}, [".f.spec"]),
        (STRING, None, [".f"]),
    ],
)
def test_what_no_schema_names_is_dropped(schema: dict[str, Any], value: Any, dropped: list[str]) -> None:
    assert judged(schema, value) == (dropped, [], [])


def test_a_default_fills_what_is_absent_or_a_null_without_a_place() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {**STRING, "default": "x"}, "b": {**STRING, "default": "x", "nullable": True}},
    }
    assert judged(schema, {}) == ([], [".f.a", ".f.b"], [])
    assert judged(schema, {"a": None, "b": None}) == ([], [".f.a"], [])


@pytest.mark.parametrize(
    ("schema", "value", "invalid"),
    [
        ({"type": "integer"}, 1.0, []),
        ({"type": "integer"}, True, [".f"]),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1, [".f"]),
        ({"type": "integer", "format": "int32"}, 2**31, [".f"]),
        ({"x-kubernetes-int-or-string": True, "nullable": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}, None, []),
        ({"x-kubernetes-int-or-string": True}, "50%", []),
        ({"x-kubernetes-int-or-string": True}, {}, [".f"]),
        ({**STRING, "nullable": True, "enum": ["x"]}, None, [".f"]),
        ({**STRING, "format": "date-time"}, "2026-12-01T00:00:00Z", []),
        ({**STRING, "format": "date-time"}, "tomorrow", [".f"]),
        ({**STRING, "format": "made-up"}, "tomorrow", []),
        ({**STRING, "pattern": r"^\pL+$"}, "x", []),  # Go's syntax, which is not checked here
        ({"type": "array", "items": STRING}, [None], [".f[0]"]),
        ({"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}, ["x", "x"], [".f"]),
        (
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["a"],
                "items": {"type": "object", "properties": {"a": STRING, "b": STRING}},
            },
            [{"a": "x", "b": "y"}, {"a": "x", "b": "z"}],
            [".f"],
        ),
    ],
)
def test_what_does_not_fit_is_refused(schema: dict[str, Any], value: Any, invalid: list[str]) -> None:
    assert judged(schema, value) == ([], [], invalid)


def test_nothing_is_dropped_where_the_crd_preserves_unknown_fields() -> None:
    assert Judge({"type": "object"}, pruned=False).judge({"a": {"b": 1}}).dropped == ()


def test_a_fault_names_the_place_in_the_schema_and_in_the_object() -> None:
    inner = {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}}
    root = {"type": "object", "properties": {"f": inner}}
    (fault,) = Judge(root).judge({"f": {"a.b": [1, "x"]}}).invalid
    assert (fault.path, fault.at) == (".f.*[]", ".f.'a.b'[1]")


def test_cel_rules_are_found_wherever_they_stand() -> None:
    rule = {"x-kubernetes-validations": [{"rule": "true"}]}
    found = rules_in({**rule, "properties": {"a": {"items": rule}, "b": {"additionalProperties": rule}}})
    assert found == {(".", "true"), (".a[]", "true"), (".b.*", "true")}

"""Every rule by an example, and the laws that hold for any two schemas."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.crds.changes import Change
from catalog.crds.diff import compare, compare_crd
from catalog.crds.rules import RULES
from catalog.crds.stored import Judge
from tests.catalog.crds.made import ONE_WAY, SCHEMAS, Schema, crd, field, fitting, tightened, version

STRING = {"type": "string"}
RULE_A = {"rule": "self.a > 1", "message": "a is small"}
HOOK = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "w"}}, "conversionReviewVersions": ["v1"]}}
OTHER_HOOK = {**HOOK, "webhook": {**HOOK["webhook"], "clientConfig": {"service": {"name": "x"}}}}  # type: ignore[dict-item]
REVIEWS = {**HOOK, "webhook": {**HOOK["webhook"], "conversionReviewVersions": ["v2"]}}  # type: ignore[dict-item]
TRUSTED = {
    **HOOK,
    "webhook": {**HOOK["webhook"], "clientConfig": {"service": {"name": "w"}, "caBundle": "x"}},  # type: ignore[dict-item]
}


def told(old: Any, new: Any) -> list[tuple[str, str]]:
    return [(change.rule, change.path) for change in compare([old], [new])]


def fields(old: Schema, new: Schema) -> list[tuple[str, str]]:
    """Of one field ``f`` whose schema changes; paths below it."""
    return [(rule, path.removeprefix(".spec.f")) for rule, path in told(crd(field(old)), crd(field(new)))]


#: Rule that the change meets, rule that the way back meets, schema of a field before and after, path below the field.
FIELDS: list[tuple[str, str, Schema, Schema, str]] = [
    ("type-changed", "type-changed", STRING, {"type": "boolean"}, ""),
    ("type-widened", "type-narrowed", {"type": "integer"}, {"type": "number"}, ""),
    ("type-widened", "type-narrowed", STRING, {"x-kubernetes-int-or-string": True}, ""),
    ("enum-added", "enum-removed", STRING, {**STRING, "enum": ["x"]}, ""),
    ("enum-value-removed", "enum-value-added", {**STRING, "enum": ["x", "y"]}, {**STRING, "enum": ["x"]}, ""),
    ("pattern-added", "pattern-removed", STRING, {**STRING, "pattern": "x"}, ""),
    ("pattern-changed", "pattern-changed", {**STRING, "pattern": "x"}, {**STRING, "pattern": "y"}, ""),
    ("format-added", "format-removed", STRING, {**STRING, "format": "date"}, ""),
    ("format-changed", "format-changed", {**STRING, "format": "ipv4"}, {**STRING, "format": "ipv6"}, ""),
    ("format-narrowed", "format-widened", {"type": "integer", "format": "int64"}, {"type": "integer", "format": "int32"}, ""),
    ("nullable-lost", "nullable-added", {**STRING, "nullable": True}, STRING, ""),
    ("default-added", "default-removed", STRING, {**STRING, "default": "x"}, ""),
    ("default-changed", "default-changed", {**STRING, "default": "x"}, {**STRING, "default": "y"}, ""),
    ("default-changed", "default-changed", {"type": "boolean", "default": True}, {"type": "boolean", "default": False}, ""),
    *(
        ("limit-tightened", "limit-loosened", {"type": kind, key: one}, {"type": kind, key: other}, "")
        for kind, key, one, other in [
            ("integer", "minimum", 1, 2),
            ("integer", "maximum", 2, 1),
            ("integer", "multipleOf", 2, 4),
            ("string", "minLength", 1, 2),
            ("string", "maxLength", 2, 1),
            ("array", "minItems", 1, 2),
            ("array", "maxItems", 2, 1),
            ("object", "minProperties", 1, 2),
            ("object", "maxProperties", 2, 1),
        ]
    ),
    *(
        ("limit-tightened", "limit-loosened", {"type": "integer"}, {"type": "integer", key: 1}, "")
        for key in ("minimum", "maximum", "multipleOf")
    ),
    ("limit-tightened", "limit-loosened", STRING, {**STRING, "maxLength": 5}, ""),
    (
        "limit-tightened",
        "limit-loosened",
        {"type": "integer", "minimum": 1},
        {"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        "",
    ),
    ("limit-tightened", "limit-loosened", {"type": "array"}, {"type": "array", "uniqueItems": True}, ""),
    ("property-removed", "property-added", {"type": "object", **field(STRING)}, {"type": "object"}, ".f"),
    (
        "required-added",
        "required-dropped",
        {"type": "object", **field(STRING)},
        {"type": "object", **field(STRING), "required": ["f"]},
        ".f",
    ),
    (
        "required-added-with-default",
        "required-dropped",
        {"type": "object", **field({**STRING, "default": "x"})},
        {"type": "object", **field({**STRING, "default": "x"}), "required": ["f"]},
        ".f",
    ),
    (
        "unknown-fields-pruned",
        "unknown-fields-kept",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object"},
        "",
    ),
    (
        "property-undeclared",
        "property-declared",
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **field(STRING)},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        ".f",
    ),
    ("additional-closed", "additional-opened", {"type": "object", "additionalProperties": STRING}, {"type": "object"}, ".*"),
    (
        "additional-constrained",
        "additional-freed",
        {"type": "object", "additionalProperties": True},
        {"type": "object", "additionalProperties": STRING},
        ".*",
    ),
    ("items-constrained", "items-freed", {"type": "array"}, {"type": "array", "items": STRING}, "[]"),
    (
        "list-type-changed",
        "list-type-changed",
        {"type": "array", "items": STRING},
        {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        "",
    ),
    (
        "list-type-changed",
        "list-type-changed",
        {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
        {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
        "",
    ),
    ("map-type-changed", "map-type-changed", {"type": "object"}, {"type": "object", "x-kubernetes-map-type": "atomic"}, ""),
    ("embedded-added", "embedded-lost", {"type": "object"}, {"type": "object", "x-kubernetes-embedded-resource": True}, ""),
    ("cel-added", "cel-removed", {"type": "object"}, {"type": "object", "x-kubernetes-validations": [RULE_A]}, ""),
    (
        "cel-changed",
        "cel-changed",
        {"type": "object", "x-kubernetes-validations": [RULE_A]},
        {"type": "object", "x-kubernetes-validations": [{**RULE_A, "rule": "self.a > 2"}]},
        "",
    ),
    (
        "cel-text-changed",
        "cel-text-changed",
        {"type": "object", "x-kubernetes-validations": [RULE_A]},
        {"type": "object", "x-kubernetes-validations": [{"rule": "self.a  > 1", "message": "other"}]},
        "",
    ),
    ("constraint-added", "constraint-removed", {"type": "object"}, {"type": "object", "not": {"required": ["a"]}}, ""),
    ("constraint-added", "constraint-removed", {"type": "object"}, {"type": "object", "allOf": [{"required": ["a"]}]}, ""),
    ("constraint-added", "constraint-removed", {"type": "object"}, {"type": "object", "oneOf": [{"required": ["a"]}]}, ""),
    (
        "constraint-changed",
        "constraint-changed",
        {"type": "object", "oneOf": [{"required": ["a"]}]},
        {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "",
    ),
    (
        "alternative-removed",
        "alternative-added",
        {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"type": "object", "anyOf": [{"required": ["b"]}]},
        "",
    ),
    (
        "limit-tightened",
        "limit-loosened",
        {"type": "object", "allOf": [{"properties": {"a": {"maxLength": 3}}}]},
        {"type": "object", "allOf": [{"properties": {"a": {"maxLength": 2}}}]},
        ".a",
    ),
    ("text-changed", "text-changed", STRING, {**STRING, "description": "words"}, ""),
    ("spelled-out", "spelled-out", STRING, {**STRING, "nullable": False, "minLength": 0}, ""),
    ("spelled-out", "spelled-out", {"type": "array"}, {"type": "array", "x-kubernetes-list-type": "atomic"}, ""),
    ("unclassified", "unclassified", STRING, {**STRING, "x-made-up": 1}, ""),
]


@pytest.mark.parametrize(("there", "back", "old", "new", "path"), FIELDS)
def test_a_change_of_a_field_meets_its_rule_there_and_back(there: str, back: str, old: Schema, new: Schema, path: str) -> None:
    assert set(fields(old, new)) == {(there, path)}
    assert set(fields(new, old)) == {(back, path)}


V1, V2 = version(), version("v2", storage=False)
STATUS: dict[str, Any] = {"status": {}}
SCALE = {"scale": {"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a"}}
OTHER_SCALE = {"scale": {"specReplicasPath": ".spec.b", "statusReplicasPath": ".status.a"}}

#: The same for what is said outside of the schemas.
WHOLE: list[tuple[str, str, Any, Any]] = [
    ("kind-changed", "kind-changed", crd(), crd(names={"kind": "Part", "listKind": "ThingList", "singular": "thing"})),
    ("scope-changed", "scope-changed", crd(), crd(scope="Cluster")),
    ("crd-renamed", "crd-renamed", crd(), crd(name="parts.demo.invalid")),
    ("crd-renamed", "crd-renamed", crd(), crd(name="things.other.invalid")),
    ("names-changed", "names-changed", crd(), crd(names={"listKind": "Things"})),
    ("short-names-changed", "short-names-changed", crd(), crd(names={"shortNames": ["t"]})),
    ("categories-changed", "categories-changed", crd(), crd(names={"categories": ["all"]})),
    ("metadata-changed", "metadata-changed", crd(), crd(metadata={"annotations": {"a": "b"}})),
    ("unknown-fields-kept", "unknown-fields-pruned", crd(), crd(preserveUnknownFields=True)),
    ("conversion-added", "conversion-lost", crd(), crd(conversion=HOOK)),
    ("conversion-webhook-changed", "conversion-webhook-changed", crd(conversion=HOOK), crd(conversion=OTHER_HOOK)),
    ("conversion-webhook-changed", "conversion-webhook-changed", crd(conversion=HOOK), crd(conversion=REVIEWS)),
    ("conversion-trust-changed", "conversion-trust-changed", crd(conversion=HOOK), crd(conversion=TRUSTED)),
    ("version-added", "version-removed", crd(V1), crd(V1, V2)),
    ("version-unserved", "version-served", crd(V1, V2), crd(V1, {**V2, "served": False})),
    ("storage-version-changed", "storage-version-changed", crd(V1, V2), crd({**V1, "storage": False}, {**V2, "storage": True})),
    ("deprecation-changed", "deprecation-changed", crd(V1), crd({**V1, "deprecated": True})),
    ("columns-changed", "columns-changed", crd(V1), crd({**V1, "additionalPrinterColumns": [{"name": "a"}]})),
    ("selectable-fields-added", "selectable-fields-lost", crd(V1), crd({**V1, "selectableFields": [{"jsonPath": ".spec.a"}]})),
    ("status-split-off", "subresource-lost", crd(V1), crd({**V1, "subresources": STATUS})),
    ("subresource-added", "subresource-lost", crd(V1), crd({**V1, "subresources": SCALE})),
    ("scale-paths-changed", "scale-paths-changed", crd({**V1, "subresources": SCALE}), crd({**V1, "subresources": OTHER_SCALE})),
    ("unclassified", "unclassified", crd(), crd(madeUp=1)),
    ("unclassified", "unclassified", crd(V1), crd({**V1, "madeUp": 1})),
    ("unclassified", "unclassified", crd(), crd(names={"madeUp": 1})),
]


@pytest.mark.parametrize(("there", "back", "old", "new"), WHOLE)
def test_a_change_of_a_crd_meets_its_rule_there_and_back(there: str, back: str, old: Any, new: Any) -> None:
    assert {rule for rule, _ in told(old, new)} == {there}
    assert {rule for rule, _ in told(new, old)} == {back}


def test_a_crd_that_comes_or_goes_is_told() -> None:
    assert [(c.rule, c.level) for c in compare([crd()], [])] == [("crd-removed", "blocking")]
    assert [(c.rule, c.level) for c in compare([], [crd()])] == [("crd-added", "safe")]


def test_every_rule_has_an_example_or_is_about_stored_objects() -> None:
    shown = {rule for there, back, *_ in (*FIELDS, *WHOLE) for rule in (there, back)}
    shown |= {"crd-added", "crd-removed", "version-lossy", "status-property-removed", "default-limited"}  # tests of their own
    assert {rule for rule in RULES if not rule.startswith("stored-")} == shown


def test_duals_name_rules_and_are_mutual() -> None:
    for rule in RULES.values():
        for dual in rule.duals:
            assert rule.id in RULES[dual].duals, f"{rule.id} and {dual}"


def test_a_status_that_the_operator_writes_may_lose_a_field_with_care() -> None:
    def thing(*names: str, **more: Any) -> Any:
        status = {"type": "object", "properties": dict.fromkeys(names, STRING)}
        return crd(version(root={"type": "object", "properties": {"status": status}}, **more))

    (change,) = compare_crd(thing("a", "b", subresources=STATUS), thing("a", subresources=STATUS))
    assert (change.rule, change.level, change.path) == ("status-property-removed", "at-risk", ".status.b")
    (change,) = compare_crd(thing("a", "b"), thing("a"))
    assert (change.rule, change.level) == ("property-removed", "blocking")


def test_a_default_inside_an_object_that_is_counted_is_no_safe_addition() -> None:
    old = field({"type": "object", "maxProperties": 1, "properties": {"a": STRING}})
    new = copy.deepcopy(old)
    new["properties"]["f"]["properties"]["b"] = {**STRING, "default": "x"}
    assert set(told(crd(old), crd(new))) == {("property-added", ".spec.f.b"), ("default-limited", ".spec.f.b")}


def test_stored_data_meets_the_new_storage_versions_schema_when_nothing_converts() -> None:
    old = crd(version(spec=field(STRING)), version("v2", storage=False, spec={"properties": {"g": STRING}}))
    new = copy.deepcopy(old)
    new["spec"]["versions"][0]["storage"], new["spec"]["versions"][1]["storage"] = False, True
    found = [(c.rule, c.version, c.path) for c in compare_crd(old, new) if c.level == "blocking"]
    assert found == [("property-removed", "v1 -> v2", ".spec.f")]
    assert not [
        c for c in compare_crd({**old, "spec": {**old["spec"], "conversion": HOOK}}, _hooked(new)) if c.level == "blocking"
    ]


def _hooked(body: Any) -> Any:
    return {**body, "spec": {**body["spec"], "conversion": HOOK}}


def test_a_new_version_that_knows_less_than_the_stored_one_is_lossy_without_conversion() -> None:
    old, less = crd(version(spec=field(STRING))), version("v2", storage=False)
    (added, lossy) = sorted(compare_crd(old, crd(version(spec=field(STRING)), less)), key=lambda c: c.rule)
    assert (added.rule, lossy.rule, lossy.after) == ("version-added", "version-lossy", [".spec.f"])
    # What was there before is not told again: an upgrade to the same CRD finds nothing.
    both = crd(version(spec=field(STRING)), less)
    assert compare_crd(both, copy.deepcopy(both)) == ()


def test_apiversion_kind_and_metadata_may_be_named_or_not() -> None:
    bare = crd(version(root={"type": "object"}))
    named = crd(version(root={"type": "object", "properties": {"apiVersion": STRING, "metadata": {"type": "object"}}}))
    assert compare([bare], [named]) == compare([named], [bare]) == ()


def test_the_keyword_int_or_string_says_what_controller_gen_spells_out() -> None:
    old = {"x-kubernetes-int-or-string": True}
    assert fields(old, {**old, "anyOf": [{"type": "integer"}, {"type": "string"}]}) == []


def test_paths_lead_through_lists_maps_and_odd_keys() -> None:
    old = field({"type": "array", "items": {"type": "object", "additionalProperties": {"type": "object", **field(STRING)}}})
    new = copy.deepcopy(old)
    new["properties"]["f"]["items"]["additionalProperties"]["properties"]["a.b"] = STRING
    assert told(crd(old), crd(new)) == [("property-added", ".spec.f[].*.'a.b'")]


def test_one_and_true_are_not_equal_and_one_and_one_point_nought_are() -> None:
    assert fields({"default": 1}, {"default": True}) == [("default-changed", "")]
    assert fields({"enum": [1]}, {"enum": [1.0]}) == []


def _wrapped(schema: Schema) -> Any:
    return crd(version(root={"type": "object", "properties": {"spec": schema}}))


def _diff(old: Schema, new: Schema) -> tuple[Change, ...]:
    return compare([_wrapped(old)], [_wrapped(new)])


@settings(deadline=None)
@given(SCHEMAS)
def test_nothing_changes_between_a_schema_and_itself(schema: Schema) -> None:
    assert _diff(schema, copy.deepcopy(schema)) == ()


@settings(deadline=None)
@given(tightened())
def test_a_tightening_is_never_safe_and_its_way_back_never_blocks(case: tuple[Schema, Schema, str]) -> None:
    old, new, name = case
    assert any(change.level != "safe" for change in _diff(old, new)), name
    if name not in ONE_WAY:
        assert not [change.rule for change in _diff(new, old) if change.level == "blocking"], name


@settings(deadline=None, max_examples=200)
@given(SCHEMAS, SCHEMAS)
def test_the_way_back_meets_the_dual_of_every_rule(old: Schema, new: Schema) -> None:
    there, back = _diff(old, new), _diff(new, old)
    for one, other in ((there, back), (back, there)):
        met = {(change.path, change.rule) for change in other}
        for change in one:
            duals = RULES[change.rule].duals
            assert not duals or any((change.path, dual) in met for dual in duals), change


def unsound(old: Schema, new: Schema, objects: list[dict[str, Any]]) -> list[Any]:
    """Objects that fit ``old`` as they would be stored, and lose data or are refused under ``new``."""
    before, after = Judge(old), Judge(new)
    stored = [before.normal(obj) for obj in objects]
    judged = [(obj, after.judge(obj)) for obj in stored if not before.judge(obj).invalid]
    return [(obj, found) for obj, found in judged if found.invalid or found.dropped]


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Schema, Schema]:
    """Two schemas: any two, or one tightened or loosened, so that many pairs are safe and many just not."""
    how = draw(st.integers(0, 3))
    if how == 0:
        return draw(SCHEMAS), draw(SCHEMAS)
    old, new, _ = draw(tightened())
    return (old, new) if how == 1 else (new, old)


def objects_of(schema: Schema) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(fitting(schema).filter(lambda value: isinstance(value, dict)), min_size=1, max_size=4)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_what_is_safe_keeps_every_stored_object_whole_and_valid(data: st.DataObject) -> None:
    """Soundness, against real validation."""
    old, new = data.draw(pairs())
    if all(change.level == "safe" for change in _diff(old, new)):
        assert unsound(old, new, data.draw(objects_of(old))) == []


#: A change that is not safe, as schemas of the field ``f`` before and after, and a value that was stored and breaks.
BREAKS: list[tuple[Schema, Schema, Any]] = [
    ({**STRING, "enum": ["x", "y"]}, {**STRING, "enum": ["x"]}, "y"),
    (STRING, {**STRING, "enum": ["x"]}, "y"),
    (STRING, {**STRING, "maxLength": 2}, "xyz"),
    (STRING, {**STRING, "pattern": "^x"}, "y"),
    (STRING, {**STRING, "format": "date"}, "y"),
    ({**STRING, "nullable": True}, STRING, None),
    ({"type": "number"}, {"type": "integer"}, 0.5),
    ({"type": "boolean"}, STRING, True),
    ({"x-kubernetes-int-or-string": True}, STRING, 1),
    ({"type": "integer", "format": "int64"}, {"type": "integer", "format": "int32"}, 2**40),
    ({"type": "integer", "minimum": 1}, {"type": "integer", "minimum": 1, "exclusiveMinimum": True}, 1),
    ({"type": "object", **field(STRING)}, {"type": "object"}, {"f": "x"}),
    ({"type": "object", **field(STRING)}, {"type": "object", **field(STRING), "required": ["f"]}, {}),
    ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"type": "object"}, {"a": 1}),
    ({"type": "object", "additionalProperties": STRING}, {"type": "object", **field(STRING)}, {"a": "x"}),
    ({"type": "object", "additionalProperties": STRING}, {"type": "object", "additionalProperties": True}, {"a": "x"}),
    (
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **field(STRING)},
        {"f": 1},
    ),
    ({"type": "array", "items": STRING}, {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}, ["x", "x"]),
    ({"type": "object", **field(STRING)}, {"type": "object", **field(STRING), "not": {"required": ["f"]}}, {"f": "x"}),
    (
        {"type": "object", "maxProperties": 1, **field(STRING)},
        {"type": "object", "maxProperties": 1, "properties": {"f": STRING, "g": {**STRING, "default": "x"}}},
        {"f": "x"},
    ),
    ({"type": "object"}, {"type": "object", "x-kubernetes-embedded-resource": True}, {}),
]


@pytest.mark.parametrize(("old", "new", "value"), [case for case in BREAKS if case[1].get("additionalProperties") is not True])
def test_what_is_not_safe_has_an_object_that_breaks(old: Schema, new: Schema, value: Any) -> None:
    one, other = ({"type": "object", **field(schema)} for schema in (old, new))
    assert any(change.level != "safe" for change in _diff(one, other))
    assert unsound(one, other, [{"f": value}])

"""What each keyword of a schema means for stored objects when it changes. Pure; nested schemas are not looked into here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Found", "Schema", "canonical", "compare_keywords", "sketch", "step_name", "types"]

Schema = Mapping[str, Any]
#: Rule, keyword, before, after.
Found = tuple[str, str, Any, Any]

_ALL = frozenset({"array", "boolean", "integer", "number", "object", "string"})
_TEXT = ("description", "title", "example", "externalDocs", "id", "$schema")
_INT = "x-kubernetes-int-or-string"
_LOWER = ("minLength", "minItems", "minProperties")
_UPPER = ("maxLength", "maxItems", "maxProperties")


def compare_keywords(old: Schema, new: Schema, nested: frozenset[str]) -> Iterator[Found]:
    """Every difference but those of the ``nested`` keywords, each with its rule; ``unclassified`` for what no rule knows."""
    known = set(nested)
    for keywords, compare in _COMPARERS:
        known.update(keywords)
        if any(_other(keyword, old, new) for keyword in keywords):
            yield from compare(old, new)
    for keyword in sorted((set(old) | set(new)) - known):
        if _other(keyword, old, new):
            yield "unclassified", keyword, old.get(keyword), new.get(keyword)


def _other(keyword: str, old: Schema, new: Schema) -> bool:
    if (keyword in old) != (keyword in new):
        return True
    return keyword in old and canonical(old[keyword]) != canonical(new[keyword])


def canonical(value: Any) -> str:
    """Equal texts for values that JSON holds equal: 1 and true differ, 1 and 1.0 do not."""
    return json.dumps(_plain(value), sort_keys=True, default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, list | tuple) else value


def step_name(name: str) -> str:
    """A key as a step of a path; one with dots or brackets in it is quoted."""
    return f"'{name}'" if not name or any(mark in name for mark in ".[]* '") else name


def types(schema: Schema) -> frozenset[str]:
    """The JSON types that a schema takes, null aside; every integer is a number."""
    if schema.get(_INT):
        return frozenset({"integer", "string"})
    name = schema.get("type")
    if name == "number":
        return frozenset({"integer", "number"})
    return frozenset({str(name)}) if name else _ALL


def sketch(schema: Any) -> str:
    """A schema in a few words: ``object with 3 properties``, ``array of string``."""
    if not isinstance(schema, Mapping):
        return json.dumps(schema)
    if schema.get(_INT):
        return "integer or string"
    name = str(schema.get("type") or "anything")
    if name == "array":
        return f"array of {sketch(schema.get('items') or {})}"
    if name == "object" and schema.get("properties"):
        count = len(schema["properties"])
        return f"object with {count} propert{'ies' if count != 1 else 'y'}"
    if name == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"map of {sketch(schema['additionalProperties'])}"
    return name


def _type(old: Schema, new: Schema) -> Iterator[Found]:
    before, after = types(old), types(new)
    if before == after:
        return
    rule = "type-widened" if before < after else "type-narrowed" if after < before else "type-changed"
    yield rule, "type", sketch(old), sketch(new)


def _nullable(old: Schema, new: Schema) -> Iterator[Found]:
    yield _flag("nullable", "nullable-added", "nullable-lost", old, new)


def _preserve(old: Schema, new: Schema) -> Iterator[Found]:
    yield _flag("x-kubernetes-preserve-unknown-fields", "unknown-fields-kept", "unknown-fields-pruned", old, new)


def _embedded(old: Schema, new: Schema) -> Iterator[Found]:
    yield _flag("x-kubernetes-embedded-resource", "embedded-added", "embedded-lost", old, new)


def _unique(old: Schema, new: Schema) -> Iterator[Found]:
    yield _flag("uniqueItems", "limit-tightened", "limit-loosened", old, new)


def _flag(keyword: str, set_: str, cleared: str, old: Schema, new: Schema) -> Found:
    before, after = bool(old.get(keyword)), bool(new.get(keyword))
    rule = "spelled-out" if before == after else set_ if after else cleared
    return rule, keyword, old.get(keyword), new.get(keyword)


def _format(old: Schema, new: Schema) -> Iterator[Found]:
    before, after = old.get("format"), new.get("format")
    pair = {("int32", "int64"): "format-widened", ("int64", "int32"): "format-narrowed"}.get((str(before), str(after)))
    rule = pair or ("format-removed" if not after else "format-added" if not before else "format-changed")
    yield rule, "format", before, after


def _pattern(old: Schema, new: Schema) -> Iterator[Found]:
    before, after = old.get("pattern"), new.get("pattern")
    rule = "pattern-removed" if not after else "pattern-added" if not before else "pattern-changed"
    yield rule, "pattern", before, after


def _default(old: Schema, new: Schema) -> Iterator[Found]:
    before, after = old.get("default"), new.get("default")
    if canonical(before) != canonical(after):
        rule = "default-added" if before is None else "default-removed" if after is None else "default-changed"
        yield rule, "default", before, after


def _enum(old: Schema, new: Schema) -> Iterator[Found]:
    before, after = old.get("enum"), new.get("enum")
    if not before or not after:
        yield "enum-added" if after else "enum-removed", "enum", before, after
        return
    was, now = {canonical(v): v for v in before}, {canonical(v): v for v in after}
    if lost := [value for key, value in was.items() if key not in now]:
        yield "enum-value-removed", "enum", lost, None
    if gained := [value for key, value in now.items() if key not in was]:
        yield "enum-value-added", "enum", None, gained


def _bound(keyword: str, exclusive: str, sign: int) -> Callable[[Schema, Schema], Iterator[Found]]:
    """``minimum`` (sign 1) or ``maximum`` (sign -1) with its exclusive flag: the greater the key, the tighter the bound."""

    def key(schema: Schema) -> tuple[float, bool]:
        value = schema.get(keyword)
        return (-float("inf"), False) if value is None else (sign * value, bool(schema.get(exclusive)))

    def told(schema: Schema) -> Any:
        value = schema.get(keyword)
        return f"{value} (exclusive)" if value is not None and schema.get(exclusive) else value

    def compare(old: Schema, new: Schema) -> Iterator[Found]:
        before, after = key(old), key(new)
        rule = "limit-tightened" if after > before else "limit-loosened" if after < before else "spelled-out"
        yield rule, keyword, told(old), told(new)

    return compare


def _count(keyword: str, *, lower: bool) -> Callable[[Schema, Schema], Iterator[Found]]:
    def compare(old: Schema, new: Schema) -> Iterator[Found]:
        before, after = old.get(keyword), new.get(keyword)
        if lower:
            change = (after or 0) - (before or 0)
        else:
            change = (float("inf") if before is None else before) - (float("inf") if after is None else after)
        rule = "limit-tightened" if change > 0 else "limit-loosened" if change < 0 else "spelled-out"
        yield rule, keyword, before, after

    return compare


def _multiple(old: Schema, new: Schema) -> Iterator[Found]:
    before, after = old.get("multipleOf"), new.get("multipleOf")
    looser = not after or (before and isinstance(before, int) and isinstance(after, int) and before % after == 0)
    yield "limit-loosened" if looser else "limit-tightened", "multipleOf", before, after


def _list_type(old: Schema, new: Schema) -> Iterator[Found]:
    def told(schema: Schema) -> tuple[str, tuple[str, ...]]:
        return schema.get("x-kubernetes-list-type") or "atomic", tuple(sorted(schema.get("x-kubernetes-list-map-keys") or ()))

    before, after = told(old), told(new)
    rule = "spelled-out" if before == after else "list-type-changed"
    yield rule, "x-kubernetes-list-type", _listed(before), _listed(after)


def _listed(told: tuple[str, Sequence[str]]) -> str:
    return f"{told[0]} by {', '.join(told[1])}" if told[1] else told[0]


def _map_type(old: Schema, new: Schema) -> Iterator[Found]:
    before, after = (schema.get("x-kubernetes-map-type") or "granular" for schema in (old, new))
    yield "spelled-out" if before == after else "map-type-changed", "x-kubernetes-map-type", before, after


def _rules(old: Schema, new: Schema) -> Iterator[Found]:
    """CEL rules are the same when their text is; one whose text changed is known by its message."""
    keyword = "x-kubernetes-validations"
    was, now = ({_rule(rule): rule for rule in schema.get(keyword) or ()} for schema in (old, new))
    gone, come = [was[k] for k in was if k not in now], [now[k] for k in now if k not in was]
    for rule in list(gone):
        twin = next((other for other in come if rule.get("message") and other.get("message") == rule["message"]), None)
        if twin is not None:
            gone.remove(rule)
            come.remove(twin)
            yield "cel-changed", keyword, rule.get("rule"), twin.get("rule")
    yield from (("cel-removed", keyword, rule.get("rule"), None) for rule in gone)
    yield from (("cel-added", keyword, None, rule.get("rule")) for rule in come)
    for key in was:
        if key in now and was[key] != now[key]:
            same = bool(was[key].get("optionalOldSelf")) == bool(now[key].get("optionalOldSelf"))
            yield "cel-text-changed" if same else "cel-changed", keyword, was[key], now[key]
    if not gone and not come and [*was] != [*now] and [*sorted(was)] == [*sorted(now)]:
        yield "cel-text-changed", keyword, None, None


def _rule(rule: Mapping[str, Any]) -> str:
    return " ".join(str(rule.get("rule", "")).split())


def _text(old: Schema, new: Schema) -> Iterator[Found]:
    changed = [keyword for keyword in _TEXT if old.get(keyword) != new.get(keyword)]
    yield "text-changed", ", ".join(changed), None, None


_COMPARERS: tuple[tuple[tuple[str, ...], Callable[[Schema, Schema], Iterator[Found]]], ...] = (
    (("type", _INT), _type),
    (("nullable",), _nullable),
    (("format",), _format),
    (("pattern",), _pattern),
    (("default",), _default),
    (("enum",), _enum),
    (("minimum", "exclusiveMinimum"), _bound("minimum", "exclusiveMinimum", 1)),
    (("maximum", "exclusiveMaximum"), _bound("maximum", "exclusiveMaximum", -1)),
    *(((keyword,), _count(keyword, lower=True)) for keyword in _LOWER),
    *(((keyword,), _count(keyword, lower=False)) for keyword in _UPPER),
    (("multipleOf",), _multiple),
    (("uniqueItems",), _unique),
    (("x-kubernetes-preserve-unknown-fields",), _preserve),
    (("x-kubernetes-embedded-resource",), _embedded),
    (("x-kubernetes-list-type", "x-kubernetes-list-map-keys"), _list_type),
    (("x-kubernetes-map-type",), _map_type),
    (("x-kubernetes-validations",), _rules),
    (_TEXT, _text),
)

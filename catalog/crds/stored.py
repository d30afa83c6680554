"""What the API server would make of a stored object under another schema: what it drops, fills in, and refuses. Pure.

The order is that of the API server (apiextensions-apiserver v0.36: pruning, then nulls, then defaults, then validation).
Validation is jsonschema's Draft 4, which has OpenAPI v3's boolean ``exclusiveMinimum``, with Kubernetes' own keywords added.
CEL rules are not evaluated; :func:`rules_in` says where there are any.
"""

from __future__ import annotations

import copy
import datetime
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.crds.keywords import Schema, canonical, step_name

__all__ = ["Fault", "Judge", "Judged", "rules_in"]

_META = ("apiVersion", "kind", "metadata")
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
#: Formats that Kubernetes checks and jsonschema can check without further libraries.
_FORMATS = ("date", "email", "ipv4", "ipv6", "uuid", "date-time", "int32")
_STEP = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """``path`` as in :class:`~catalog.crds.changes.Change`, ``at`` the same with the indices of this object."""

    path: str
    at: str
    message: str


@dataclass(frozen=True, slots=True)
class Judged:
    """``dropped`` is data that no schema keeps, ``filled`` values that a default puts in, ``invalid`` what is refused after."""

    dropped: tuple[Fault, ...]
    filled: tuple[Fault, ...]
    invalid: tuple[Fault, ...]


class Judge:
    """Judges objects by one ``openAPIV3Schema``. Made once per schema: the validator is not cheap."""

    def __init__(self, schema: Schema, *, pruned: bool = True) -> None:
        self._schema: Schema = {**schema, _EMBEDDED: True}
        self._pruned = pruned
        self._validator = _validator(schema)

    def judge(self, obj: Mapping[str, Any]) -> Judged:
        """What happens to one object, as it comes out of the API server, when it is written again."""
        data: dict[str, Any] = copy.deepcopy(dict(obj))
        dropped: list[_STEP] = []
        filled: list[tuple[_STEP, Any]] = []
        if self._pruned:
            _prune(data, self._schema, (), dropped)
        _drop_nulls(data, self._schema, (), dropped)
        _fill(data, self._schema, (), filled)
        errors = sorted(self._validator.iter_errors(data), key=lambda error: ([str(step) for step in error.path], error.message))
        return Judged(
            tuple(self._fault(step, "is dropped") for step in dropped),
            tuple(self._fault(step, f"becomes {canonical(value)[:80]}") for step, value in filled),
            tuple(self._fault(tuple(error.absolute_path), _message(error)) for error in errors),
        )

    def _fault(self, at: _STEP, message: str) -> Fault:
        schema: Schema | None = self._schema
        path, place = "", ""
        for step in at:
            if isinstance(step, int):
                path, place = f"{path}[]", f"{place}[{step}]"
                schema = (schema or {}).get("items")
                continue
            named = step in ((schema or {}).get("properties") or {})
            known, schema = _of_key(schema, step)
            path = f"{path}.*" if known and not named else f"{path}.{step_name(step)}"
            place = f"{place}.{step_name(step)}"
        return Fault(path or ".", place or ".", message)

    def normal(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """The object as it is stored: pruned, without nulls that have no place, with defaults."""
        data: dict[str, Any] = copy.deepcopy(dict(obj))
        if self._pruned:
            _prune(data, self._schema, (), [])
        _drop_nulls(data, self._schema, (), [])
        _fill(data, self._schema, (), [])
        return data


def rules_in(schema: Schema, path: str = "") -> frozenset[tuple[str, str]]:
    """The CEL rules of a schema with their places."""
    found = {(path or ".", str(rule.get("rule"))) for rule in schema.get("x-kubernetes-validations") or ()}
    for name, inner in (schema.get("properties") or {}).items():
        found |= rules_in(inner, f"{path}.{step_name(name)}")
    for key, step in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), Mapping):
            found |= rules_in(schema[key], f"{path}{step}")
    return frozenset(found)


# -- what the API server does before it validates ---------------------------------------------------------------------------


def _prune(node: Any, schema: Schema | None, at: _STEP, dropped: list[_STEP], *, keep: bool = False) -> None:
    """``schema`` None keeps nothing of an object. Below preserve-unknown-fields only what is named is looked into."""
    keep = keep or bool(schema and schema.get(_PRESERVE))
    if isinstance(node, dict):
        for key in list(node):
            if schema and schema.get(_EMBEDDED) and key in _META:
                continue
            known, inner = _of_key(schema, key)
            if known:
                _prune(node[key], inner, (*at, key), dropped)
            elif not keep:
                dropped.append((*at, key))
                del node[key]
    elif isinstance(node, list):
        items = (schema or {}).get("items")
        if keep and items is None:
            return
        for index, member in enumerate(node):
            _prune(member, items, (*at, index), dropped, keep=keep)


def _of_key(schema: Schema | None, key: str) -> tuple[bool, Schema | None]:
    """Whether a schema knows a key, and what it says about its value."""
    if schema is None:
        return False, None
    properties = schema.get("properties") or {}
    if key in properties:
        return True, properties[key]
    rest = schema.get("additionalProperties")
    return bool(rest), rest if isinstance(rest, Mapping) else None


def _drop_nulls(node: Any, schema: Schema | None, at: _STEP, dropped: list[_STEP]) -> None:
    if isinstance(node, dict):
        for key in list(node):
            inner = _of_key(schema, key)[1]
            if node[key] is None and inner is not None and not inner.get("nullable") and inner.get("default") is None:
                dropped.append((*at, key))
                del node[key]
            else:
                _drop_nulls(node[key], inner, (*at, key), dropped)
    elif isinstance(node, list):
        for index, member in enumerate(node):
            _drop_nulls(member, (schema or {}).get("items"), (*at, index), dropped)


def _fill(node: Any, schema: Schema | None, at: _STEP, filled: list[tuple[_STEP, Any]]) -> None:
    if schema is None:
        return
    if isinstance(node, dict):
        for key, inner in (schema.get("properties") or {}).items():
            default = inner.get("default")
            if default is not None and (key not in node or (node[key] is None and not inner.get("nullable"))):
                node[key] = copy.deepcopy(default)
                filled.append(((*at, key), default))
        for key in list(node):
            _fill(node[key], _of_key(schema, key)[1], (*at, key), filled)
    elif isinstance(node, list):
        for index, member in enumerate(node):
            _fill(member, schema.get("items"), (*at, index), filled)


# -- validation -------------------------------------------------------------------------------------------------------------


def _validator(schema: Schema) -> Any:
    return _validator_class()(_json_schema(schema, root=True), format_checker=_format_checker())


def _json_schema(schema: Schema, *, root: bool = False) -> dict[str, Any]:
    """A structural schema as JSON Schema; what Kubernetes takes care of elsewhere (pruning, CEL) is left out."""
    made: dict[str, Any] = {key: value for key, value in schema.items() if key not in ("default", "description", "nullable")}
    named = ["integer", "string"] if schema.get(_INT_OR_STRING) else [schema["type"]] if schema.get("type") else []
    if named:
        made["type"] = [*named, "null"] if schema.get("nullable") else named
    if schema.get(_EMBEDDED) and not root:
        made["required"] = sorted({*(schema.get("required") or ()), "apiVersion", "kind"})
    properties = {key: _json_schema(value) for key, value in (schema.get("properties") or {}).items()}
    if root:
        made["required"] = [key for key in schema.get("required") or () if key not in _META]
    if properties:
        made["properties"] = properties
    if not made.get("required"):
        made.pop("required", None)  # Draft 4 has no empty list
    for key in ("items", "additionalProperties", "not"):
        if isinstance(schema.get(key), Mapping):
            made[key] = _json_schema(schema[key])
    if schema.get("additionalProperties") is False:
        made.pop("additionalProperties")  # pruned, never refused
    for key in ("allOf", "anyOf", "oneOf"):
        if schema.get(key):
            made[key] = [_json_schema(member) for member in schema[key]]
    return made


@functools.cache
def _validator_class() -> Any:
    from jsonschema import Draft4Validator, Draft6Validator
    from jsonschema.validators import extend

    taken = {"type", "enum"}
    changed = {name: _but_null(check) for name, check in Draft4Validator.VALIDATORS.items() if name not in taken}
    changed["x-kubernetes-list-type"] = _unique
    changed["pattern"] = _but_null(_pattern)
    make: Any = extend
    return make(Draft4Validator, changed, type_checker=Draft6Validator.TYPE_CHECKER)


Check = Callable[[Any, Any, Any, Mapping[str, Any]], Iterator[Any] | None]


def _but_null(check: Check) -> Check:
    """The API server looks at a null's type and enum and at nothing else."""

    def checked(validator: Any, value: Any, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
        if instance is not None:
            yield from check(validator, value, instance, schema) or ()

    return checked


def _pattern(validator: Any, pattern: str, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    import re

    from jsonschema import Draft4Validator

    try:
        re.compile(pattern)
    except re.error:
        return  # Go's syntax has a few things that Python's lacks; such a pattern is not checked
    yield from Draft4Validator.VALIDATORS["pattern"](validator, pattern, instance, schema) or ()


def _unique(validator: Any, kind: str, instance: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    from jsonschema import ValidationError

    del validator
    if not isinstance(instance, list) or kind not in ("set", "map"):
        return
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    seen: set[str] = set()
    for member in instance:
        mark = canonical([member.get(key) for key in keys] if kind == "map" and isinstance(member, Mapping) else member)
        if mark in seen:
            yield ValidationError(f"{mark} stands twice in a list of type {kind}")
        seen.add(mark)


@functools.cache
def _format_checker() -> Any:
    from jsonschema import FormatChecker

    checker = FormatChecker(formats=())
    for name in _FORMATS:
        if name in FormatChecker.checkers:
            checker.checkers[name] = FormatChecker.checkers[name]

    def date_time(value: object) -> bool:
        return not isinstance(value, str) or bool(datetime.datetime.fromisoformat(value))

    def int32(value: object) -> bool:
        return not isinstance(value, int) or isinstance(value, bool) or -(2**31) <= value < 2**31

    checker.checks("date-time", raises=ValueError)(date_time)
    checker.checks("int32")(int32)
    return checker


def _message(error: Any) -> str:
    """Short: a refused object may be long."""
    text = str(error.message)
    return text if len(text) <= 160 else f"{text[:120]} ... {text[-36:]}"

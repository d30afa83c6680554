"""The typed configuration of one add-on: judged by the version's own JSON Schema, and filled in with its defaults. Pure.

Charts take any key and ignore what they do not know. A configuration does not: an unknown key is refused with the nearest one,
and every problem is told at once, with its line where the spec's text is at hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from base.errors import InvalidInput, Position, Problem
from base.names import did_you_mean, nearest
from catalog.model import AddonVersion

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

__all__ = ["Locate", "config_problems", "filled", "judged", "properties"]

#: The place of a value, by its path in what is judged.
Locate = Callable[[Sequence[str | int]], Position]

#: What people call the types of JSON Schema.
_TYPES = {
    "object": "a mapping",
    "array": "a list",
    "string": "a word",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}


def filled(schema: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """``given`` with the schema's defaults where it says nothing, at every depth."""
    said, default = given or {}, schema.get("default")
    made = (dict(default) if isinstance(default, Mapping) else {}) | dict(said)
    for name, field in _fields(schema):
        if _is_object(field):
            value = said.get(name)
            if value is None or isinstance(value, Mapping):
                made[name] = filled(field, value)
        elif name not in said and "default" in field:
            made[name] = field["default"]
    return made


def properties(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every property with its dotted path, the ones that hold others included."""
    for name, field in _fields(schema):
        dotted = f"{path}.{name}".lstrip(".")
        yield dotted, field
        yield from properties(field, dotted)


def config_problems(version: AddonVersion, given: Mapping[str, Any], locate: Locate) -> list[Problem]:
    """All that is wrong with the configuration that a spec gives for this version; none for an empty one."""
    where = f"addons.{version.addon}.config"
    if not given:
        return []
    if not version.config_schema:
        message = f"{version.addon} {version.version} takes no configuration"
        return [Problem(locate(()), where, message, "values of its chart are given under `values`")]
    found = []
    for error in judged(version.config_schema, given, f"{version.addon} {version.version}"):
        for path, message, todo in _told(error):
            field = ".".join((where, *(str(step) for step in path)))
            found.append(Problem(locate(path), field, message, todo))
    return found


def judged(schema: Mapping[str, Any], value: Any, name: str) -> list[ValidationError]:
    """What a schema has against a value. InvalidInput where the schema itself is broken, which is the catalogue's fault."""
    from jsonschema import Draft202012Validator  # a tenth of a second, for specs that configure something
    from referencing.exceptions import Unresolvable

    try:
        return list(Draft202012Validator(schema).iter_errors(value))
    except (re.error, Unresolvable, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the configuration's schema of {name} is broken: {str(error)[:120]}") from error


def _fields(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The properties of a schema, as far as it is one."""
    listed = schema.get("properties")
    for name, field in listed.items() if isinstance(listed, Mapping) else ():
        if isinstance(field, Mapping):
            yield name, field


def _told(error: ValidationError) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    path, value = tuple(error.absolute_path), error.instance
    wanted: Any = error.validator_value
    if error.validator == "additionalProperties" and isinstance(value, Mapping):
        known = error.schema.get("properties", {}) if isinstance(error.schema, Mapping) else {}
        for key in value:
            if key not in known:
                yield (*path, str(key)), "unknown key", did_you_mean(str(key), known)
    elif error.validator == "type":
        types = [wanted] if isinstance(wanted, str) else list(wanted)
        expected = " or ".join(_TYPES.get(one, one) for one in types)
        yield path, f"expected {expected}, found {_shown(value)}", _quoted(value, types)
    elif error.validator == "enum":
        words = [str(one) for one in wanted]
        near = nearest(str(value), words)
        yield path, f"{_shown(value)} is not one of {', '.join(words)}", f"did you mean {' or '.join(near)}?" if near else ""
    elif error.validator in _BOUNDS:
        yield path, f"{_shown(value)} {_BOUNDS[str(error.validator)].format(wanted)}", ""
    elif error.validator == "required":
        yield path, error.message.replace("'", "", 2).replace("a required property", "missing"), ""
    else:
        yield path, error.message[:160], ""


_BOUNDS = {
    "minimum": "is below {}",
    "maximum": "is above {}",
    "exclusiveMinimum": "is not above {}",
    "exclusiveMaximum": "is not below {}",
    "multipleOf": "is no multiple of {}",
    "minLength": "is shorter than {} characters",
    "maxLength": "is longer than {} characters",
    "minItems": "has fewer than {} entries",
    "maxItems": "has more than {} entries",
    "pattern": "is not of the form {}",
}


def _is_object(field: Mapping[str, Any]) -> bool:
    return field.get("type") == "object" and "properties" in field


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "nothing"
    return json.dumps(value)[:60]


def _quoted(value: Any, types: Sequence[str]) -> str:
    """YAML takes unquoted words for numbers and truth values, and the other way round."""
    if "string" in types and isinstance(value, bool | int | float):
        return "write it in quotes"
    if isinstance(value, str) and {"integer", "number", "boolean"} & set(types):
        return "write it without quotes" if value.strip("-").replace(".", "", 1).isdigit() or value in ("true", "false") else ""
    return ""

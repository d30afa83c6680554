"""Made-up CRDs, small structural schemas, objects of them, and single changes of known direction."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]
NAME = "things.demo.invalid"


def crd(*versions: Mapping[str, Any], name: str = NAME, metadata: Mapping[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A namespaced CRD of kind Thing; each version is a schema of ``spec``, or a whole version with ``schema`` in it."""
    plural, _, group = name.partition(".")
    made = [v if "schema" in v else version(spec=v) for v in versions or ({},)]
    names = {"kind": "Thing", "plural": plural, **spec.pop("names", {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name, **(metadata or {})},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": made, **spec},
    }


def version(name: str = "v1", *, served: bool = True, storage: bool = True, spec: Any = None, **more: Any) -> dict[str, Any]:
    root = more.pop("root", {"type": "object", "properties": {"spec": {"type": "object", **(spec or {})}}})
    return {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": root}, **more}


def field(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a spec with one field ``f``."""
    return {"properties": {"f": dict(schema)}}


# -- schemas for hypothesis -------------------------------------------------------------------------------------------------

WORDS = ("a", "b", "c")
_LEAVES: tuple[Schema, ...] = (
    {"type": "string"},
    {"type": "string", "enum": ["x", "y"]},
    {"type": "string", "minLength": 1, "maxLength": 4},
    {"type": "string", "pattern": "^x"},
    {"type": "string", "default": "x"},
    {"type": "string", "nullable": True},
    {"type": "integer", "minimum": 0, "maximum": 9},
    {"type": "integer", "format": "int32"},
    {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
    {"type": "number"},
    {"type": "number", "multipleOf": 2},
    {"type": "boolean"},
    {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
)


def _objects(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    def build(properties: dict[str, Schema], required: list[str], more: Schema) -> Schema:
        names = sorted(name for name in required if name in properties)
        made: Schema = {"type": "object", "properties": properties, **more}
        return {**made, "required": names} if names else made

    extras: list[Schema] = [
        {},
        {},
        {"maxProperties": 2},
        {"nullable": True},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    ]
    extras.append({"allOf": [{"properties": {"a": {"minLength": 2}}}]})
    return st.builds(
        build,
        st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
        st.lists(st.sampled_from(WORDS), max_size=2, unique=True),
        st.sampled_from(extras).map(copy.deepcopy),
    )


def _maps(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.builds(lambda value: {"type": "object", "additionalProperties": value}, inner)


def _lists(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    extras: list[Schema] = [{}, {"minItems": 1}, {"maxItems": 2}]
    return st.builds(lambda items, more: {"type": "array", "items": items, **more}, inner, st.sampled_from(extras))


def _nested(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    return st.one_of(_objects(inner), _maps(inner), _lists(inner))


LEAVES = st.sampled_from(_LEAVES).map(copy.deepcopy)
SCHEMAS = _objects(st.recursive(LEAVES, _nested, max_leaves=5))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 12), st.sampled_from(["", "x", "y", "xyzzy"])),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from((*WORDS, "d")), inner, max_size=3)),
    max_leaves=6,
)


def fitting(schema: Schema) -> st.SearchStrategy[Any]:
    """Values that mostly fit a schema, so that not every random object is refused for its first field."""
    choices: list[st.SearchStrategy[Any]] = []
    if schema.get("nullable"):
        choices.append(st.none())
    if "enum" in schema:
        choices.append(st.sampled_from(schema["enum"]))
    kind = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        choices.append(st.one_of(st.integers(-3, 12), st.sampled_from(["", "x"])))
    elif kind == "string" and "enum" not in schema:
        choices.append(st.sampled_from(["", "x", "xy", "xyzzy", "z"]))
    elif kind == "number" and "multipleOf" not in schema:
        choices.append(st.sampled_from([0.5, 1, 2.5]))
    elif kind in ("integer", "number"):
        choices.append(st.integers(-3, 12))
    elif kind == "boolean":
        choices.append(st.booleans())
    elif kind == "array":
        choices.append(st.lists(fitting(schema.get("items") or {}), max_size=3))
    elif kind == "object":
        known = {name: fitting(inner) for name, inner in (schema.get("properties") or {}).items()}
        choices.append(st.fixed_dictionaries({}, optional=known) if known else st.just({}))
        if isinstance(schema.get("additionalProperties"), Mapping):
            choices.append(st.dictionaries(st.sampled_from(WORDS), fitting(schema["additionalProperties"]), max_size=3))
        if schema.get("x-kubernetes-preserve-unknown-fields"):
            choices.append(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=2))
    return st.one_of(*choices, *choices, *choices, VALUES) if choices else VALUES


# -- single changes ---------------------------------------------------------------------------------------------------------

Edit = Callable[[Schema], bool]


def _string(node: Schema) -> bool:
    return node.get("type") == "string"


def _number(node: Schema) -> bool:
    return node.get("type") in ("integer", "number")


def _put(keyword: str, value: Any) -> Callable[[Schema], None]:
    return lambda node: node.update({keyword: value})


def _less(node: Schema) -> None:
    node["enum"] = node["enum"][1:]


def _drop(keyword: str) -> Callable[[Schema], None]:
    return lambda node: node.pop(keyword)


def _optional(node: Schema) -> list[str]:
    return sorted(set(node.get("properties") or ()) - set(node.get("required") or ()))


def _lose(node: Schema) -> None:
    del node["properties"][_optional(node)[0]]


def _require(node: Schema) -> None:
    node["required"] = sorted([*node.get("required", ()), _optional(node)[0]])


def _requirable(node: Schema) -> bool:
    names = _optional(node)
    return bool(names) and "default" not in node["properties"][names[0]]


#: What a tightening applies to, and what it does. Each takes away some value that was taken before, or its data.
TIGHTENINGS: Mapping[str, tuple[Callable[[Schema], bool], Callable[[Schema], None]]] = {
    "enum value": (lambda n: len(n.get("enum", ())) > 1, _less),
    "enum": (lambda n: _string(n) and "enum" not in n and "default" not in n, _put("enum", ["x"])),
    "max length": (lambda n: _string(n) and "default" not in n and n.get("maxLength", 9) > 2, _put("maxLength", 2)),
    "min length": (lambda n: _string(n) and "default" not in n and n.get("minLength", 0) < 2, _put("minLength", 2)),
    "pattern": (lambda n: _string(n) and "default" not in n, _put("pattern", "^[xy]+$")),
    "maximum": (lambda n: _number(n) and n.get("maximum", 99) > 5, _put("maximum", 5)),
    "minimum": (lambda n: _number(n) and n.get("minimum", -99) < 3, _put("minimum", 3)),
    "multiple": (lambda n: n.get("type") == "integer" and "multipleOf" not in n, _put("multipleOf", 3)),
    "integer": (lambda n: n.get("type") == "number", _put("type", "integer")),
    "another type": (lambda n: n.get("type") == "boolean", _put("type", "string")),
    "null": (lambda n: bool(n.get("nullable")), _drop("nullable")),
    "property": (lambda n: bool(_optional(n)), _lose),
    "required": (_requirable, _require),
    "max items": (lambda n: n.get("type") == "array" and n.get("maxItems", 9) > 1, _put("maxItems", 1)),
    "min items": (lambda n: n.get("type") == "array" and n.get("minItems", 0) < 2, _put("minItems", 2)),
    "unknown fields": (
        lambda n: bool(n.get("x-kubernetes-preserve-unknown-fields")),
        _drop("x-kubernetes-preserve-unknown-fields"),
    ),
    "closed map": (lambda n: bool(n.get("additionalProperties")), _drop("additionalProperties")),
    "shape": (lambda n: n.get("type") == "object" and "not" not in n, _put("not", {"required": ["c"]})),
    "rule": (lambda n: n.get("type") == "object", _put("x-kubernetes-validations", [{"rule": "self.a > 1"}])),
    "alternative": (lambda n: len(n.get("anyOf", ())) > 1 and n.get("type") == "object", lambda n: n["anyOf"].pop()),
    "declared": (
        lambda n: bool(n.get("x-kubernetes-preserve-unknown-fields")) and not n.get("properties"),
        _put("properties", {"a": {"type": "integer", "maximum": 1}}),
    ),
    "default that counts": (
        lambda n: "maxProperties" in n and "c" not in n.get("properties", {}),
        lambda n: n["properties"].update({"c": {"type": "string", "default": "x"}}),
    ),
    "new keyword": (lambda n: bool(n.get("type")), _put("x-made-up", 1)),
}


#: Those whose way back is no loosening.
ONE_WAY = ("another type", "default that counts")


def places(schema: Schema, applies: Callable[[Schema], bool]) -> list[tuple[str | int, ...]]:
    """Every node of a schema that a change applies to, by its keys. The root is left alone."""
    found: list[tuple[str | int, ...]] = []

    def walk(node: Any, at: tuple[str | int, ...]) -> None:
        if at and applies(node):
            found.append(at)
        for name, inner in (node.get("properties") or {}).items():
            walk(inner, (*at, "properties", name))
        for key in ("items", "additionalProperties"):
            if isinstance(node.get(key), dict):
                walk(node[key], (*at, key))

    walk(schema, ())
    return found


def changed(schema: Schema, at: tuple[str | int, ...], change: Callable[[Schema], None]) -> Schema:
    """A copy of a schema with one node changed."""
    made = copy.deepcopy(schema)
    node: Any = made
    for step in at:
        node = node[step]
    change(node)
    return made


@st.composite
def tightened(draw: st.DrawFn) -> tuple[Schema, Schema, str]:
    """A schema, the same with one thing tightened, and what that was."""
    schema = draw(st.one_of(SCHEMAS, LEAVES.map(lambda leaf: {"type": "object", "properties": {"a": leaf}})))
    able = {name: at for name, (applies, _) in sorted(TIGHTENINGS.items()) if (at := places(schema, applies))}
    if not able:
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        able = {"pattern": [("properties", "a")]}
    name = draw(st.sampled_from(sorted(able)))
    return schema, changed(schema, draw(st.sampled_from(able[name])), TIGHTENINGS[name][1]), name

"""Whether something that says it is a CRD has the shape of one. Pure.

The API server checks more; this is what the rest of the room relies on, so that a damaged file is an error and no crash.
"""

from __future__ import annotations

from typing import Any

__all__ = ["shape_problem"]

_NUMBERS = (
    "minimum", "maximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
)  # fmt: skip
_TEXTS = ("type", "format", "pattern", "x-kubernetes-list-type", "x-kubernetes-map-type")
_FLAGS = ("nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems")
_DEEPEST = 100


def shape_problem(crd: Any) -> str:
    """What is wrong, in words; empty where nothing is."""
    spec, meta = (crd.get(key) if isinstance(crd, dict) else None for key in ("spec", "metadata"))
    if not isinstance(spec, dict) or not isinstance(meta, dict) or not isinstance(meta.get("name"), str):
        return "it has no name or no spec"
    if any(not _mapping(meta.get(key)) for key in ("labels", "annotations")):
        return "its labels or annotations are no mapping"
    names = spec.get("names")
    if not isinstance(names, dict) or not all(isinstance(names.get(key), str) for key in ("kind", "plural")):
        return "spec.names has no kind or no plural"
    if not all(isinstance(spec.get(key), str) for key in ("group", "scope")):
        return "spec has no group or no scope"
    if not _conversion(spec.get("conversion")):
        return "spec.conversion is no mapping"
    versions = spec.get("versions")
    if not isinstance(versions, list) or not versions:
        return "spec.versions is empty"
    problems = (_version(version) for version in versions)
    return next((problem for problem in problems if problem), "")


def _conversion(value: Any) -> bool:
    if not _mapping(value):
        return False
    hook = (value or {}).get("webhook")
    return _mapping(hook) and _mapping((hook or {}).get("clientConfig"))


def _version(version: Any) -> str:
    if not isinstance(version, dict) or not isinstance(version.get("name"), str):
        return "a version has no name"
    name = version["name"]
    if not _mapping(version.get("subresources")):
        return f"subresources of {name} are no mapping"
    for key, field in (("additionalPrinterColumns", "name"), ("selectableFields", "jsonPath")):
        members = version.get(key)
        if members is not None and not (
            isinstance(members, list) and all(isinstance(m, dict) and isinstance(m.get(field), str) for m in members)
        ):
            return f"{key} of {name} is no list of mappings with {field}"
    schema = version.get("schema")
    if not _mapping(schema):
        return f"the schema of {name} is no mapping"
    root = (schema or {}).get("openAPIV3Schema")
    return "" if root is None else _node(root, f"schema of {name}", 0)


def _node(node: Any, path: str, depth: int) -> str:
    if not isinstance(node, dict):
        return f"{path} is no mapping"
    if depth > _DEEPEST:
        return f"{path[:80]} is nested more than {_DEEPEST} levels deep"
    for key in _NUMBERS:
        if key in node and (isinstance(node[key], bool) or not isinstance(node[key], int | float)):
            return f"{path}.{key} is no number"
    for kind, keys, word in ((str, _TEXTS, "text"), (bool, _FLAGS, "truth value")):
        for key in keys:
            if key in node and not isinstance(node[key], kind):
                return f"{path}.{key} is no {word}"
    for key in ("required", "x-kubernetes-list-map-keys"):
        if key in node and not (isinstance(node[key], list) and all(isinstance(word, str) for word in node[key])):
            return f"{path}.{key} is no list of words"
    if "enum" in node and not isinstance(node["enum"], list):
        return f"{path}.enum is no list"
    rules = node.get("x-kubernetes-validations", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        return f"{path}.x-kubernetes-validations is no list of mappings"
    return next((problem for place, inner in _inner(node, path) if (problem := _node(inner, place, depth + 1))), "")


def _inner(node: dict[str, Any], path: str) -> list[tuple[str, Any]]:
    """Every schema in a schema, with its place; what is no mapping or list where one belongs stands for itself."""
    found: list[tuple[str, Any]] = []
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        return [(f"{path}.properties", None)]
    found += [(f"{path}.properties.{name}", inner) for name, inner in properties.items()]
    for key in ("items", "not"):
        if key in node and not isinstance(node[key], list):
            found.append((f"{path}.{key}", node[key]))
    if "additionalProperties" in node and not isinstance(node["additionalProperties"], bool):
        found.append((f"{path}.additionalProperties", node["additionalProperties"]))
    for key in ("allOf", "anyOf", "oneOf"):
        members = node.get(key, [])
        if not isinstance(members, list):
            return [(f"{path}.{key}", None)]
        found += [(f"{path}.{key}[{index}]", member) for index, member in enumerate(members)]
    return found


def _mapping(value: Any) -> bool:
    return value is None or isinstance(value, dict)

"""Rules about values templates and typed configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from base.errors import ChandleryError
from catalog.lint.world import Check, Found, Place, World, at
from catalog.model import Addon, AddonVersion
from catalog.package.config import filled, judged, properties
from catalog.package.request import noop_of
from catalog.package.values import leaves, values_layers

__all__ = ["CHECKS"]

_READ = re.compile(r"\bconfig((?:\.[A-Za-z_]\w*)+)")
_COMMENT = re.compile(r"\{#.*?#\}|(?m:^[ \t]*#[^\n]*$)", re.DOTALL)


Layers = dict[str, dict[str, Any]]


def _made(world: World, addon: Addon, version: AddonVersion) -> list[tuple[str, Layers | ChandleryError]]:
    """What the template becomes on each target with the options' defaults, or why it does not."""

    def make() -> list[tuple[str, Layers | ChandleryError]]:
        made: list[tuple[str, Layers | ChandleryError]] = []
        for target in addon.targets:
            try:
                made.append((target, values_layers(addon, version, target, filled(version.config_schema))))
            except ChandleryError as error:
                made.append((target, error))
        return made

    return world.once(("layers", addon.name, version.version), make)


def _layers(world: World, addon: Addon, version: AddonVersion) -> Iterator[Layers]:
    for _, made in _made(world, addon, version):
        if not isinstance(made, ChandleryError):
            yield made


def _template(version: AddonVersion, *path: str) -> Place:
    return Place("template", version.addon, version.version, path)


def _schema(version: AddonVersion, dotted: str = "", *more: str) -> Place:
    steps = tuple(step for name in dotted.split(".") if name for step in ("properties", name))
    return Place("schema", version.addon, version.version, (*steps, *more))


def _forced(world: World, addon: Addon, version: AddonVersion) -> set[str]:
    return {".".join(path) for layers in _layers(world, addon, version) for path, _ in leaves(layers["guards"])}


def _empty_guards(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        forced = _forced(world, addon, version)
        for index, guard in enumerate(version.guards):
            if not any(path == guard.path or path.startswith(f"{guard.path}.") for path in forced):
                place = at(version, "guards", index, "path")
                yield Found(place, f"{guard.path} of {addon.name} {version.version} is forced on no target")


def _unexplained(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        explained = {guard.path for guard in version.guards}
        for path in sorted(_forced(world, addon, version)):
            if not any(path == one or path.startswith(f"{one}.") for one in explained):
                place = _template(version, *path.split("."))
                yield Found(place, f"{path} of {addon.name} {version.version} is forced without a reason under `guards`")


def _broken(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        for target, made in _made(world, addon, version):
            if isinstance(made, ChandleryError):
                first = made.message.splitlines()[-1].strip()
                yield Found(_template(version), f"{addon.name} {version.version} on {target}: {first}")


def _fault(world: World, schema: Mapping[str, Any]) -> str:
    """Why it is no schema; empty when it is one. Versions of an add-on mostly have the very same one."""
    return world.once(("schema", id(schema)), lambda: _fault_of(schema))


def _fault_of(schema: Mapping[str, Any]) -> str:
    """What is wrong with its form, or shows when something is judged by it (a pattern that is none, a reference to nothing)."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message[:160]
    try:
        judged(schema, filled(schema), "it")
    except ChandleryError as error:
        return error.message
    return ""


def _schemas(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        schema = version.config_schema
        if not schema:
            continue
        wrong = _fault(world, schema) or ("" if schema.get("type") == "object" else "it is of no mapping")
        if wrong:
            yield Found(_schema(version), f"schema of {version.addon} {version.version}: {wrong}")


def _each_schema(world: World) -> Iterator[AddonVersion]:
    for _, version in world.versions():
        if version.config_schema and not _fault(world, version.config_schema):
            yield version


def _described(world: World) -> Iterator[Found]:
    for version in _each_schema(world):
        for dotted, field in properties(version.config_schema):
            lacking = [word for word in ("description", "default") if word not in field]
            if "properties" in field:  # its own default is that of its parts
                lacking = [word for word in lacking if word != "default"]
            if lacking:
                yield Found(_schema(version, dotted), f"{dotted} of {version.addon} has no {' and no '.join(lacking)}")


def _closed(world: World) -> Iterator[Found]:
    for version in _each_schema(world):
        for dotted, field in (("", version.config_schema), *properties(version.config_schema)):
            more = field.get("additionalProperties", True)
            listed = "properties" in field or not dotted
            if field.get("type") == "object" and (more is not False if listed else more is True):
                yield Found(_schema(version, dotted), f"{dotted or 'the configuration'} of {version.addon} takes any key")


def _defaults(world: World) -> Iterator[Found]:
    for version in _each_schema(world):
        for dotted, field in properties(version.config_schema):
            if "default" in field and "properties" not in field:
                for error in judged(field, field["default"], version.addon)[:1]:
                    yield Found(_schema(version, dotted, "default"), f"{dotted} of {version.addon}: {error.message[:120]}")


def _read(version: AddonVersion) -> set[str]:
    text = _COMMENT.sub("", version.values_template)
    return {match[1].strip(".") for match in _READ.finditer(text)}


def _unused(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        read = _read(version)
        for dotted, field in properties(version.config_schema):
            used = any(dotted == one or dotted.startswith(f"{one}.") or one.startswith(f"{dotted}.") for one in read)
            hung = any(constraint.when == dotted for constraint in version.compatibility.constraints)
            if "properties" not in field and not used and not hung:
                yield Found(_schema(version, dotted), f"{dotted} of {version.addon} is read by no template")


def _undeclared(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        fields = dict(properties(version.config_schema))
        for dotted in sorted(_read(version)):
            steps = dotted.split(".")
            known = next((".".join(steps[:end]) for end in range(len(steps), 0, -1) if ".".join(steps[:end]) in fields), "")
            # Below a value that is no mapping of options there are methods (`config.name.upper()`) and keys of open maps.
            if not known or (known != dotted and "properties" in fields[known]):
                place = _template(version, *steps)
                yield Found(place, f"config.{dotted} of {version.addon} {version.version} is not in its schema")


def _noops(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        told = set()
        for layers in _layers(world, addon, version):
            for part in layers.values():
                for path, _ in leaves(part):
                    noop = noop_of(version.noops, path)
                    if noop and noop.path not in told:
                        told.add(noop.path)
                        text = f"{'.'.join(path)} does nothing in {addon.name} {version.version}: {noop.instead}"
                        yield Found(_template(version, *path), text)


def _both(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        told = set()
        for layers in _layers(world, addon, version):
            guarded = {path for path, _ in leaves(layers["guards"])}
            told |= {path for path, _ in leaves(layers["defaults"]) if path in guarded}
        for path in sorted(told):
            yield Found(_template(version, *path), f"{'.'.join(path)} of {addon.name} is a default and a guard")


CHECKS: Mapping[str, Check] = {
    "CAT201": _empty_guards,
    "CAT202": _unexplained,
    "CAT203": _broken,
    "CAT204": _schemas,
    "CAT205": _described,
    "CAT206": _closed,
    "CAT207": _defaults,
    "CAT208": _unused,
    "CAT209": _undeclared,
    "CAT210": _noops,
    "CAT211": _both,
}

"""Chart values of one add-on: the package's defaults, what the spec asks for, and the guards, which win. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from base.errors import InvalidInput, Refused, SpecError
from base.yamltree import parse, plain
from catalog.model import Addon, AddonVersion

__all__ = ["ChartValues", "chart_values", "leaves", "merge"]


@dataclass(frozen=True, slots=True)
class ChartValues:
    """The values that a chart is rendered with, and one sentence for each guard: the value, why, and what it costs."""

    values: dict[str, Any]
    guards: tuple[str, ...]


def chart_values(addon: Addon, version: AddonVersion, *, target: str, given: Mapping[str, Any]) -> ChartValues:
    """Defaults, then ``given`` (the spec's ``values``), then guards.

    Refused when ``given`` sets something that a guard holds to another value.
    """
    layers = _layers(addon, version, target)
    guards = layers["guards"]
    why = {guard.path: guard for guard in version.guards}
    for path, forced in leaves(guards):
        asked = _at(given, path)
        if asked is not _ABSENT and asked != forced:
            dotted = ".".join(path)
            reason = f": {why[dotted].why}" if dotted in why else ""
            raise Refused(
                f"values of {addon.name} {version.version} set {dotted} to {json.dumps(asked)}, "
                f"the package holds it at {json.dumps(forced)}{reason}",
                where=f"addons.{addon.name}.values.{dotted}",
                todo="leave it out of the spec",
            )
    return ChartValues(merge(merge(layers["defaults"], given), guards), tuple(_sentences(version, guards)))


def _sentences(version: AddonVersion, guards: Mapping[str, Any]) -> Iterator[str]:
    for guard in version.guards:
        value = _at(guards, tuple(guard.path.split(".")))
        if value is not _ABSENT:
            cost = f" (costs: {guard.cost})" if guard.cost else ""
            yield f"{guard.path}={json.dumps(value)}: {guard.why}{cost}"


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """``over`` laid on ``base``: mappings are merged, anything else is replaced, as Helm does with values files."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def leaves(values: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that is no mapping (an empty mapping is one too), with its path."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


_ABSENT = object()


def _at(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    node: Any = values
    for step in path:
        if not isinstance(node, Mapping) or step not in node:
            # A given scalar where a guard goes deeper replaces the whole mapping, and so the guard's value.
            return _ABSENT if isinstance(node, Mapping) else node
        node = node[step]
    return node


def _layers(addon: Addon, version: AddonVersion, target: str) -> dict[str, dict[str, Any]]:
    """``values.yaml.j2`` as ``defaults`` and ``guards``; a fault in it is the catalogue's."""
    name = f"{addon.name}/values.yaml.j2"
    text = version.values_template
    if not text:
        return {"defaults": {}, "guards": {}}
    if "{{" in text or "{%" in text:
        text = _filled(text, name, version, target)
    tree, problems = parse(text.encode(), name)
    if tree is None or problems:
        raise SpecError(problems, what="values template")
    layers = plain(tree)
    if not isinstance(layers, dict) or set(layers) != {"defaults", "guards"}:
        raise InvalidInput("a values template has exactly two parts, defaults and guards", where=name)
    return {part: layers[part] or {} for part in ("defaults", "guards")}


def _filled(text: str, name: str, version: AddonVersion, target: str) -> str:
    import jinja2  # a tenth of a second, for those templates only that need it

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        return environment.from_string(text).render(
            target=target, version=version.version, chart_version=version.chart_version, app_version=version.app_version
        )
    except jinja2.TemplateError as error:
        raise InvalidInput(f"the values template of {version.addon} is broken: {error}", where=name) from error

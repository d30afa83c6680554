"""Chart values of one add-on: the package's defaults, what the spec asks for, and the guards, which win. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from base.errors import InvalidInput, Refused, SpecError
from base.yamltree import parse, plain
from catalog.model import Addon, AddonVersion
from catalog.package.config import filled

__all__ = ["ABSENT", "ChartValues", "at", "chart_values", "leaves", "merge", "values_layers"]


@dataclass(frozen=True, slots=True)
class ChartValues:
    """The values that a chart is rendered with, and one sentence for each guard: the value, why, and what it costs."""

    values: dict[str, Any]
    guards: tuple[str, ...]


def chart_values(
    addon: Addon, version: AddonVersion, *, target: str, given: Mapping[str, Any], config: Mapping[str, Any] | None = None
) -> ChartValues:
    """Defaults, then ``given`` (the spec's ``values``), then guards.

    ``config`` is the typed configuration that the spec gives, judged before (:func:`catalog.package.request.request_problems`);
    the template sees it with the schema's defaults filled in. Refused when ``given`` sets something that a guard holds to
    another value.
    """
    layers = values_layers(addon, version, target, filled(version.config_schema, config))
    guards = layers["guards"]
    why = {guard.path: guard for guard in version.guards}
    for path, forced in leaves(guards):
        asked = at(given, path)
        if asked is not ABSENT and asked != forced:
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
        value = at(guards, tuple(guard.path.split(".")))
        if value is not ABSENT:
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


#: What :func:`at` finds where there is nothing; a null is something.
ABSENT = object()


def at(values: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path, ABSENT where a mapping on the way lacks it."""
    node: Any = values
    for step in path:
        if not isinstance(node, Mapping) or step not in node:
            # A given scalar where a guard goes deeper replaces the whole mapping, and so the guard's value.
            return ABSENT if isinstance(node, Mapping) else node
        node = node[step]
    return node


def values_layers(addon: Addon, version: AddonVersion, target: str, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """``values.yaml.j2`` as ``defaults`` and ``guards``, with a whole ``config``; a fault in it is the catalogue's."""
    name = f"{addon.name}/values.yaml.j2"
    text = version.values_template
    if not text:
        return {"defaults": {}, "guards": {}}
    context = {
        "target": target,
        "version": version.version,
        "chart_version": version.chart_version,
        "app_version": version.app_version,
        "config": config,
    }
    text = _PLACE.sub(lambda place: _put(place, context), text)
    if "{{" in text or "{%" in text:
        text = _filled(text, name, version, context)
    tree, problems = parse(text.encode(), name)
    if tree is None or problems:
        raise SpecError(problems, what="values template")
    layers = plain(tree)
    if not isinstance(layers, dict) or set(layers) != {"defaults", "guards"}:
        raise InvalidInput("a values template has exactly two parts, defaults and guards", where=name)
    made = {part: layers[part] or {} for part in ("defaults", "guards")}
    if not all(isinstance(part, dict) for part in made.values()):
        raise InvalidInput("both parts of a values template are mappings", where=name)
    return made


#: A place for one value, which is filled in without jinja: loading that costs more than all the rest of a plan.
_PLACE = re.compile(r"\{\{ *([a-z_]+(?:\.\w+)*) *\| *tojson *\}\}")


def _put(place: re.Match[str], context: Mapping[str, Any]) -> str:
    """The value as JSON, which is YAML too; a name that is not there is left for jinja to complain about."""
    found = at(context, tuple(place[1].split(".")))
    return place[0] if found is ABSENT else json.dumps(found)


def _filled(text: str, name: str, version: AddonVersion, context: Mapping[str, Any]) -> str:
    import jinja2  # costs more than resolving a cluster, so only for templates that decide something

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        return environment.from_string(text).render(context)
    except (jinja2.TemplateError, TypeError) as error:  # TypeError: a name that is not there, given to tojson
        raise InvalidInput(f"the values template of {version.addon} is broken: {error}", where=name) from error

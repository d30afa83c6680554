"""Rules about what charts really render. They cost a rendering each, and look only at charts that can be had."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from base.errors import ChandleryError, NotFound, Unavailable
from catalog.lint.world import Found, Place, World, at
from catalog.model import Addon, AddonVersion, PackageSource
from catalog.obtain.archive import unpack
from catalog.package.known import known_values, unknown
from catalog.package.packager import Packager, Rendered
from catalog.package.render import Release, Renderer
from catalog.package.together import collisions
from catalog.package.values import chart_values, merge
from catalog.plan import PlanItem

__all__ = ["IDS", "lint_rendered"]

IDS = ("CAT801", "CAT802", "CAT803", "CAT804", "CAT805", "CAT806", "CAT807", "CAT808", "CAT809", "CAT810")

_CLOCK = re.compile(r"\{\{[^}]*\b(?:now|ago)\b[^}]*\}\}")
_MINOR = re.compile(r"\.Capabilities\.KubeVersion")
#: A value for each kind of path that carries a mark.
_MARKED: Mapping[str, Callable[[str], Any]] = {
    "tolerations": lambda mark: [{"key": mark, "operator": "Exists"}],
    "nodeSelector": lambda mark: {"kubernetes.io/os": mark},
    "affinity": lambda mark: {"podAffinity": {"marked": mark}},
    "imagePullSecrets": lambda mark: [{"name": mark}],
    "priorityClassName": lambda mark: mark,
    "registry": lambda mark: mark,
}


def lint_rendered(world: World, packager: Packager, renderer: Renderer) -> Iterator[tuple[str, Found]]:
    """Findings of every version whose chart is at hand, each with the rule's id."""
    objects: dict[tuple[str, str], Rendered] = {}
    for addon, version in world.versions():
        for rule, found, rendered in _version(addon, version, packager, renderer):
            if rendered is not None:
                objects[addon.name, version.version] = rendered
            if found is not None:
                yield rule, found
    yield from _collisions(world, objects)


def _version(
    addon: Addon, version: AddonVersion, packager: Packager, renderer: Renderer
) -> Iterator[tuple[str, Found | None, Rendered | None]]:
    name = f"{addon.name} {version.version}"
    there = packager.obtainable(addon.name, version.version)
    if not there.yes:
        yield "CAT808", Found(at(version, "chart"), f"{name}: {there.detail}"), None
        return
    try:
        values = chart_values(addon, version, target=addon.targets[0], given={}).values
        item = PlanItem(addon.name, version.version, addon.namespace, "real", values, "lint")
        rendered = packager.render(item)
    except (Unavailable, NotFound) as error:
        yield "CAT808", Found(at(version, "chart"), f"{name}: {error.message}"), None
        return
    except ChandleryError as error:
        yield "CAT801", Found(at(version, "chart"), " ".join(f"{name}: {error.message}".split())[:400]), None
        return
    yield "", None, rendered
    for index, image in enumerate(version.images):
        if not image.operand and image.reference not in rendered.images:
            yield "CAT803", Found(at(version, "images", index), f"{name} renders no {image.reference}"), None
    for index, hook in enumerate(version.hooks):
        if not any(told.startswith(f"{hook.kind} {hook.name}") for told in rendered.hooks):
            yield "CAT804", Found(at(version, "hooks", index), f"{name} renders no hook {hook.kind} {hook.name}"), None
    if isinstance(version.source, PackageSource):
        return
    chart = packager.chart(addon.name, version.version)
    files = unpack(chart.archive, chart.origin)
    for path, hint in unknown(values, known_values(files, chart.origin)):
        place = Place("template", addon.name, version.version, path)
        yield "CAT802", Found(place, f"{'.'.join(path)} is unknown to the chart of {name} ({hint})"), None
    for rule, pattern in (("CAT806", _CLOCK), ("CAT809", _MINOR)):
        where = [path for path, data in files.items() if "templates/" in path and pattern.search(data.decode(errors="replace"))]
        if where:
            more = f" and {len(where) - 1} more" if len(where) > 1 else ""
            yield rule, Found(at(version, "chart"), f"{name}: {where[0]}{more}"), None
    for rule, kind, text in _paths(addon, version, values, chart.archive, renderer):
        yield rule, Found(at(version, "paths", kind), f"{name}: {text}"), None


def _paths(
    addon: Addon, version: AddonVersion, values: Mapping[str, Any], archive: bytes, renderer: Renderer
) -> Iterator[tuple[str, str, str]]:
    """Each path whose mark comes out nowhere, and each node selector whose mark comes out in a DaemonSet."""
    marks: dict[str, tuple[str, str]] = {}
    marked = dict(values)
    for kind, paths in version.paths.items():
        for dotted in paths if kind in _MARKED else ():
            mark = f"mark-{len(marks)}-x"
            marked = merge(marked, _nested(dotted.split("."), _MARKED[kind](mark)))
            marks[mark] = (kind, dotted)
    if marks:
        try:
            objects = renderer.render(archive, Release(addon.name, addon.namespace, marked)).objects
        except ChandleryError:  # a chart that checks what it is given; nothing is shown by that
            return
        told, daemons = repr(objects), repr([obj for obj in objects if obj.get("kind") == "DaemonSet"])
        for mark, (kind, dotted) in marks.items():
            if mark not in told:
                yield "CAT805", kind, f"{dotted} reaches no object"
            if kind == "nodeSelector" and mark in daemons:
                yield "CAT810", kind, f"{dotted} reaches a DaemonSet"


def _nested(path: Sequence[str], value: Any) -> dict[str, Any]:
    return {path[0]: value if len(path) == 1 else _nested(path[1:], value)}


def _collisions(world: World, objects: Mapping[tuple[str, str], Rendered]) -> Iterator[tuple[str, Found]]:
    """Add-ons of one channel that may stand together; schedulers and add-ons that exclude each other do not."""
    addons = world.catalogue.addons
    for channel in world.catalogue.channels.values():
        there = {name: objects[name, wanted] for name, wanted in channel.versions.items() if (name, wanted) in objects}
        names = sorted(there)
        for index, name in enumerate(names):
            for other in names[index + 1 :]:
                apart = other in addons[name].excludes or name in addons[other].excludes
                if apart or addons[name].role == addons[other].role == "scheduler":
                    continue
                pair = {one: [*there[one].crds, *there[one].objects] for one in (name, other)}
                for sentence in collisions(pair):
                    yield "CAT807", Found(Place("channel", channel.name, path=("versions", other)), sentence)

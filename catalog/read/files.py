"""From a file's fields to values of :mod:`catalog.model`, with the checks that a shape cannot say.

Read with the same positioned reader as cluster specs (docs/decisions/catalogue-files.md says why).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from base.names import did_you_mean
from catalog.model import (
    ORDERED,
    Addon,
    AddonVersion,
    Channel,
    ChartSource,
    Compatibility,
    Constraint,
    DroppedHook,
    Edge,
    Embedded,
    FactName,
    FileSource,
    Generated,
    Guard,
    Image,
    KnownIssue,
    KubernetesRange,
    ModuleSource,
    NoOp,
    OciSource,
    PackageSource,
    Peer,
    RepositorySource,
    Requirement,
    Scheme,
    TargetName,
    Tested,
    ValueMove,
    Verdict,
    VersionRange,
    minor_number,
    number_range,
    version_key,
)
from catalog.plan import Program, Webhook
from catalog.read.format import ADDON, CHANNEL, EDGES, NOOPS, PACKAGE, UNPINNED, VERSION
from catalog.read.shape import Values
from catalog.read.sources import Found
from spec.facts import WORDS
from spec.reader import Section

__all__ = ["Defaults", "read_addon", "read_channel", "read_edges", "read_noops", "read_version"]

#: Stands in where a file does not say; the file is refused then.
_UNKNOWN = Compatibility(KubernetesRange("1.0", "", ""))


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for each version that does not say otherwise. ``package`` has fields of :class:`AddonVersion`."""

    package: Mapping[str, Any] = field(default_factory=dict)
    values_template: str = ""
    config_schema: Mapping[str, Any] = field(default_factory=dict)


def read_addon(section: Section) -> tuple[Addon, Defaults]:
    """``addon.yaml``: the add-on, and what it says for its versions."""
    v = ADDON.read(section)
    _mention_keys(v, "excludes", v["name"])
    addon = Addon(
        name=v["name"],
        title=v["title"],
        role=v["role"],
        namespace=v["namespace"],
        targets=tuple(cast(TargetName, target) for target in v["targets"]),
        scheme=cast(Scheme, v["scheme"]),
        upstream=v["upstream"],
        excludes=v["excludes"],
        strays={stray.removeprefix("v"): reason for stray, reason in v["strays"].items()},
        reference=v["reference"],
    )
    return addon, Defaults(_package(v, addon.name))


def read_version(section: Section, addon: Addon, directory: Path, defaults: Defaults) -> AddonVersion:
    """``versions/<version>.yaml``; ``directory`` is the add-on's, to which paths of its package are relative."""
    v = VERSION.read(section)
    chart = v["chart"]
    source = _SOURCES[chart["source"]](chart, directory) if chart else PackageSource(directory)
    chart_version = chart["chartVersion"] if chart else ""
    compatibility = v["compatibility"]
    return AddonVersion(
        addon=addon.name,
        version=v["version"],
        released=v["released"],
        source=source,
        chart_version=chart_version,
        app_version=(chart["appVersion"] if chart else "") or chart_version,
        images=tuple(map(_image, v["images"])),
        compatibility=_compatibility(compatibility, addon.name) if compatibility else _UNKNOWN,
        guards=tuple(Guard(g["path"], g["why"], g["cost"]) for g in v["guards"]),
        issues=tuple(map(_issue, v["issues"])),
        support=v["support"],
        withdrawn=v["withdrawn"],
        unverified=v["unverified"],
        values_template=defaults.values_template,
        config_schema=defaults.config_schema,
        **{**defaults.package, **_package(v, addon.name)},
    )


def read_edges(section: Section, addon: Addon) -> tuple[Edge, ...]:
    """``edges.yaml``, in the order of the file."""
    return tuple(_edge(values, addon) for values in EDGES.read(section)["edges"])


def read_noops(section: Section, addon: Addon) -> tuple[NoOp, ...]:
    """``noops.yaml``, in the order of the file."""
    found = NOOPS.read(section)["noops"]
    return tuple(NoOp(v["path"], _range(v, "versions", addon.scheme), v["instead"], v["source"]) for v in found)


def read_channel(section: Section) -> Channel:
    """``channels/<name>.yaml``."""
    v = CHANNEL.read(section)
    return Channel(v["name"], v["versions"], v["allowsUnpinned"])


def _mention(v: Values, by: str) -> str:
    """The add-on that ``v`` names, noted so that it is looked for when all have been read."""
    if isinstance(v.section.problems, Found) and v["addon"]:
        v.section.problems.mention(v.section.position("addon"), v.section.at("addon"), v["addon"], by)
    return str(v["addon"])


def _mention_keys(v: Values, name: str, by: str) -> None:
    table = v.section.mapping(name) if v[name] else None
    if table and isinstance(v.section.problems, Found):
        for key, entry in table.entries.items():
            v.section.problems.mention(entry.position, f"{v.section.at(name)}.{key}", key, by)


def _package(v: Values, by: str) -> dict[str, Any]:
    """What the file says about the chart's shape, and nothing for what it leaves out."""
    make: Mapping[str, Callable[[Any], Any]] = {
        "requires": lambda many: tuple(_requirement(one, by) for one in many),
        "hooks": lambda many: tuple(DroppedHook(h["kind"], h["name"], h["reason"], h["doneBy"]) for h in many),
        "embedded": _embedded,
        "generated": lambda many: tuple(Generated(g["kind"], g["name"], g["reason"]) for g in many),
    }
    return {name: make.get(name, lambda value: value)(v[name]) for name in PACKAGE if v.section.has(name)}


def _requirement(v: Values, by: str) -> Requirement:
    return Requirement(_mention(v, by), v["reason"], v["sameVersion"], _range(v, "range", v["scheme"]))


def _range(v: Values, name: str, scheme: Scheme) -> VersionRange:
    try:
        return VersionRange(v[name], scheme)
    except ValueError as error:
        v.section.bad(name, str(error)[:120], 'write bounds such as ">=0.17.0 <0.19.0"')
        return VersionRange("")


def _embedded(v: Values | None) -> Embedded:
    if v is None:
        return Embedded()
    return Embedded(
        programs=tuple(Program(p["workload"], p["tool"], p["args"], p["env"]) for p in v["programs"]),
        simulated=v["simulated"],
        webhooks=tuple(Webhook(w["configuration"], w["workload"], w["madeBy"], w["reason"]) for w in v["webhooks"]),
    )


def _issue(v: Values) -> KnownIssue:
    return KnownIssue(v["id"], v["title"], v["reference"], v["guard"], v["cost"], v["check"], v["fixedIn"])


def _image(v: Values) -> Image:
    if v["reference"].endswith(":latest"):
        v.section.bad("reference", "the tag latest names no version")
    return Image(v["reference"], _pin(v["digest"]), v["operand"])


def _pin(text: str) -> str:
    """A digest, or an empty string for the word by which a file says that it does not know."""
    return "" if text == UNPINNED else text


_SOURCES: Mapping[str, Callable[[Values, Path], ChartSource]] = {
    "go-module": lambda v, _: ModuleSource(v["module"], v["version"], v["sum"], v["path"], v["checksumDatabase"]),
    "oci": lambda v, _: OciSource(v["repository"], v["tag"], _pin(v["digest"]), _pin(v["archiveDigest"])),
    "helm-repository": lambda v, _: RepositorySource(v["repository"], v["chart"], v["version"], _pin(v["archiveDigest"])),
    "file": lambda v, directory: FileSource(directory / v["path"], _pin(v["digest"])),
    "package": lambda v, directory: PackageSource(directory / v["directory"]),
}


def _compatibility(v: Values, by: str) -> Compatibility:
    return Compatibility(
        _kubernetes(v["kubernetes"]) if v["kubernetes"] else _UNKNOWN.declared,
        tuple(map(_constraint, v["constraints"])),
        tuple(Peer(_mention(p, by), _range(p, "range", p["scheme"]), p["reason"], p["source"]) for p in v["peers"]),
        tuple(Tested(t["facts"], t["on"], t["record"]) for t in v["tested"]),
    )


def _kubernetes(v: Values) -> KubernetesRange:
    for name in ("from", "to"):
        try:
            minor_number(v[name] or "1.0")
        except ValueError:
            v.section.bad(name, f"{v[name][:40]!r} is no Kubernetes minor", 'write it as "1.36"')
            return _UNKNOWN.declared
    return KubernetesRange(v["from"] or "1.0", v["to"], v["source"])


def _constraint(v: Values) -> Constraint:
    fact = cast(FactName, v["fact"])
    if fact in ORDERED and v["range"]:
        try:
            number_range(v["range"])
        except ValueError as error:
            v.section.bad("range", str(error)[:120], 'write bounds such as ">=580 <620"')
    for word in v.get("words", ()):
        if fact in WORDS and word not in WORDS[fact]:
            v.section.bad("words", f"{word[:40]!r} is not one of {', '.join(WORDS[fact])}", did_you_mean(word, WORDS[fact]))
    return Constraint(fact, v["reason"], v["source"], v.get("range", ""), v.get("words", ()), v["when"])


def _edge(v: Values, addon: Addon) -> Edge:
    try:
        version_key(v["to"] or "1.0.0", addon.scheme if v["to"] else "semver")
    except ValueError as error:
        v.section.bad("to", str(error)[:120])
    return Edge(
        addon=addon.name,
        origin=_range(v, "from", addon.scheme),
        to=v["to"].removeprefix("v"),
        verdict=cast(Verdict, v["verdict"]),
        code=v["code"],
        reason=v["reason"],
        reversible=v["reversible"],
        precondition=v["precondition"],
        steps=v["steps"],
        moves=tuple(ValueMove(m["from"], m["to"], m["note"]) for m in v["moves"]),
        checks=v["checks"],
        affects=v["affects"],
        references=v["references"],
    )

"""Which add-ons a cluster gets, and which version of each: what the spec says, and else what its channel promises. Pure.

A channel is a promise: an add-on gets the spec's version or the channel's, and never a third one because something else would
fit better. Where the two do not go together that is told, with what would (:mod:`catalog.resolve.remedy`). One thing follows
without being named: an add-on that upstream releases in lock-step with one whose version the spec names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from base.names import did_you_mean
from catalog.model import Addon, AddonVersion, Catalogue, Channel
from catalog.resolve.bonds import Bond, bonds
from catalog.resolve.choice import AUTO
from catalog.resolve.findings import Finding
from spec.model import AddonRequest, ClusterSpec

__all__ = ["Selected", "Selection", "named", "select"]


@dataclass(frozen=True, slots=True)
class Selected:
    """One add-on version that the plan will hold. ``origin`` says how the add-on came there, ``how`` how the version did."""

    addon: Addon
    version: AddonVersion
    origin: str
    how: str
    request: AddonRequest

    @property
    def reason(self) -> str:
        return f"{self.origin}; {self.how}"

    @property
    def config(self) -> Mapping[str, Any]:
        """The typed configuration that the spec gives."""
        return self.request.config


@dataclass(frozen=True, slots=True)
class Selection:
    """``chosen`` in order of installation; ``findings`` is all that is wrong with it, and then it is no plan.

    ``roots`` are the add-ons that somebody asked for; the others are required by these.
    """

    chosen: Mapping[str, Selected]
    findings: tuple[Finding, ...]
    roots: tuple[str, ...]


def named(spec: ClusterSpec, addon: str) -> AddonRequest | None:
    """What the spec says about an add-on."""
    return next((request for request in spec.addons if request.name == addon), None)


def select(spec: ClusterSpec, catalogue: Catalogue, channel: Channel, scheduler: str, *, supposed: str = "") -> Selection:
    """What the spec names, its scheduler, and all that these require; an empty ``scheduler`` stands for none.

    ``supposed`` is an add-on whose version only a question puts into the spec, so that findings do not blame the spec for it.
    """
    follow: dict[str, Follow] = {}
    for _ in range(len(catalogue.addons) + 1):
        work = _Work(spec, catalogue, channel, scheduler, follow)
        roots = work.run()
        demanded = dict(_followers(spec, channel, work.chosen))
        if demanded == follow:
            break
        follow = demanded
    else:
        name = next(iter(sorted({*follow, *demanded})))
        work.found.append(Finding("requires", name, "", "lock-step requirements chase each other", todo="name its version"))
    chosen = _ordered(work.chosen)
    return Selection(chosen, (*work.found, *_conflicts(spec, catalogue, channel, chosen, supposed)), roots)


def _followers(spec: ClusterSpec, channel: Channel, chosen: Mapping[str, Selected]) -> Iterator[tuple[str, Follow]]:
    """Add-ons that have to leave the channel together with one that the spec took off it; the first by name decides."""
    for name, one in sorted(chosen.items(), reverse=True):
        if one.version.version == channel.versions.get(name):
            continue
        for requirement in one.version.requires:
            request = named(spec, requirement.addon)
            if requirement.same_version and not (request and request.version):
                yield requirement.addon, Follow(one.version.version, name)


@dataclass(frozen=True, slots=True)
class Follow:
    """The version that an add-on gets because ``leader`` has it."""

    version: str
    leader: str


@dataclass(slots=True)
class _Work:
    spec: ClusterSpec
    catalogue: Catalogue
    channel: Channel
    scheduler: str
    follow: Mapping[str, Follow]
    requests: dict[str, AddonRequest] = field(init=False)
    chosen: dict[str, Selected] = field(default_factory=dict)
    found: list[Finding] = field(default_factory=list)

    def run(self) -> tuple[str, ...]:
        """Take everything that somebody asked for; these are the roots."""
        self.requests = {request.name: request for request in self.spec.addons}
        if self.scheduler and self.scheduler not in self.catalogue.schedulers():
            todo = did_you_mean(self.scheduler, (*self.catalogue.schedulers(), AUTO))
            self.found.append(Finding("scheduler", self.scheduler, "", "schedules no GPU work", todo=todo, field="scheduler"))
        elif self.scheduler:
            self.requests.setdefault(self.scheduler, AddonRequest(self.scheduler))
        for name in sorted(self.requests):
            self._take(self.requests[name], "")
        return tuple(sorted(self.requests))

    def _take(self, request: AddonRequest, required: str) -> None:
        """One add-on and what it requires; ``required`` says by whom and what for, where nobody else asked for it."""
        name = request.name
        if name in self.chosen or any(finding.addon == name for finding in self.found):
            return
        addon = self.catalogue.addons.get(name)
        if addon is None:
            todo = did_you_mean(name, self.catalogue.addons)
            self.found.append(
                Finding("unknown", name, "", f"unknown add-on {name!r}", todo=todo, field=_at(name), line=request.line)
            )
            return
        said, follow = request.version.removeprefix("v"), self.follow.get(name)
        wanted = said or (follow.version if follow else self.channel.versions.get(name, ""))
        version = self.catalogue.version(name, wanted) if wanted else None
        if version is None:
            self.found.append(_no_version(self.catalogue, self.channel, addon, request, wanted))
            return
        how = f"version of channel {self.channel.name}"
        if said:
            how = "named in the spec"
        elif follow and wanted != self.channel.versions.get(name):
            how = f"same version as {follow.leader}"
        origin = "asked for by the spec" if named(self.spec, name) else required
        self.chosen[name] = Selected(
            addon, version, "scheduler of the cluster" if name == self.scheduler else origin, how, request
        )
        for requirement in version.requires:
            other = self.requests.get(requirement.addon, AddonRequest(requirement.addon, line=request.line))
            self._take(other, f"required by {name}: {requirement.reason}")


def _no_version(catalogue: Catalogue, channel: Channel, addon: Addon, request: AddonRequest, wanted: str) -> Finding:
    name, known = addon.name, catalogue.names(addon.name)
    there_are = f"there {'are' if len(known) > 1 else 'is'} {', '.join(known)}"
    if not wanted:
        elsewhere = sorted(other.name for other in catalogue.channels.values() if name in other.versions)
        where = f"channel {' and '.join(elsewhere)} has one" if elsewhere else there_are
        text = f"channel {channel.name} has no version of {name}"
        return Finding("channel", name, "", text, todo=f"{where}; or name a version", field=_at(name), line=request.line)
    place = {"field": f"{_at(name)}.version", "line": request.line}
    if wanted in addon.strays:
        text = f"{wanted} of {name} is a stray tag and can never be installed: {addon.strays[wanted]}"
        return Finding("stray", name, wanted, text, todo=there_are, **place)  # type: ignore[arg-type]
    text = f"version {request.version or wanted} of {name} is not in the catalogue"
    return Finding("version", name, wanted, text, todo=there_are, **place)  # type: ignore[arg-type]


def _conflicts(
    spec: ClusterSpec, catalogue: Catalogue, channel: Channel, chosen: Mapping[str, Selected], supposed: str
) -> Iterator[Finding]:
    """Every bond between two chosen versions that does not hold; what excludes each other is told once."""
    seen: set[frozenset[str]] = set()
    for name in sorted(chosen):
        one = chosen[name]
        for bond in bonds(one.addon, one.version, catalogue):
            other = chosen.get(bond.other)
            if other is None or bond.admits(other.version.version):
                continue
            pair = frozenset((name, bond.other))
            if bond.kind in ("excludes", "scheduler"):
                if pair not in seen:
                    seen.add(pair)
                    yield _exclusion(one, other, bond)
                continue
            yield _mismatch(spec, channel, one, other, bond, supposed)


def _exclusion(one: Selected, other: Selected, bond: Bond) -> Finding:
    last = max((one, other), key=lambda selected: selected.request.line)
    text = f"{one.addon.name} and {other.addon.name} exclude each other: {bond.reason}"
    todo = "keep one; the scheduler of a cluster is named by `scheduler`" if one.addon.role == "scheduler" else "keep one"
    return Finding(
        bond.kind, one.addon.name, one.version.version, text, todo=todo, other=other.addon.name,
        field=_at(last.addon.name), line=last.request.line,
    )  # fmt: skip


def _mismatch(spec: ClusterSpec, channel: Channel, one: Selected, other: Selected, bond: Bond, supposed: str) -> Finding:
    name, version = one.addon.name, one.version.version
    there = other.version.version
    if bond.other == supposed:
        has = f"it would be {there}"
    elif named(spec, bond.other) and other.request.version:
        has = f"the spec names {other.request.version}"
    elif there == channel.versions.get(bond.other):
        has = f"channel {channel.name} has {there}"
    else:
        has = f"it is {there} ({other.how})"
    verb = "needs" if bond.kind == "requires" else "goes only with"
    place = other.request if other.request.version else one.request
    return Finding(
        bond.kind, name, version, f"{name} {version} {verb} {bond.other} {bond.wanted}, {has}: {bond.reason}", bond.source,
        other=bond.other, field=_at(place.name) + (".version" if place.version else ""), line=place.line or other.request.line,
    )  # fmt: skip


def _ordered(chosen: Mapping[str, Selected]) -> dict[str, Selected]:
    """What is required comes first; among the rest by name. In a cycle of requirements the first by name comes first."""
    order: dict[str, Selected] = {}

    def enter(name: str, on_way: frozenset[str]) -> None:
        if name in order or name in on_way or name not in chosen:
            return
        for requirement in chosen[name].version.requires:
            enter(requirement.addon, on_way | {name})
        order[name] = chosen[name]

    for name in sorted(chosen):
        enter(name, frozenset())
    return order


def _at(addon: str) -> str:
    return f"addons.{addon}"

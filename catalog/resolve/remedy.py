"""What would have to change: other versions with which everything holds, or the fewest add-ons that never go together. Pure."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice

from catalog.model import AddonVersion, Catalogue
from catalog.resolve.bonds import bonds
from catalog.resolve.findings import Finding
from catalog.resolve.needs import Place, judge
from catalog.resolve.selection import Selection, named, select
from catalog.resolve.solver import Search, Undecided
from spec.model import AddonRequest, ClusterSpec

__all__ = ["Remedy", "remedy"]

#: How many ways of changing a few of the add-ons are tried before all may change.
_TRIES = 64


@dataclass(frozen=True, slots=True)
class Remedy:
    """``versions``: name these, and everything holds. ``never``: these add-ons cannot stand together on this cluster in any
    version, and no fewer of them. Both empty: nobody could tell."""

    versions: Mapping[str, str]
    never: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.versions:
            listed = " and ".join(f"{name} {version}" for name, version in sorted(self.versions.items()))
            return f"with {listed} everything holds; name {'it' if len(self.versions) == 1 else 'them'} in the spec"
        if len(self.never) == 1:
            return f"no version of {self.never[0]} may go onto this cluster: leave it out"
        if self.never:
            return f"{', '.join(self.never[:-1])} and {self.never[-1]} go together in no version: leave one of them out"
        return ""


def remedy(
    spec: ClusterSpec,
    catalogue: Catalogue,
    place: Place,
    selection: Selection,
    findings: Iterable[Finding],
    *,
    fixed: Collection[str] = (),
) -> Remedy:
    """The fewest changes of version after which none of ``findings`` is left; ``fixed`` add-ons keep theirs.

    Versions of the catalogue that nobody named come into question here, and only here: the answer is advice.
    """
    made = _Options(spec, catalogue, place, selection)
    involved = sorted({name for finding in findings for name in (finding.addon, finding.other) if name in catalogue.addons})
    changeable = [name for name in involved if name not in fixed]
    sizes = (combinations(changeable, size) for size in range(1, len(changeable) + 1))
    for loose in islice(chain.from_iterable(sizes), _TRIES):
        with contextlib.suppress(Undecided):
            found = made.search(set(loose)).solve(selection.roots)
            if found is not None:
                return Remedy(made.changes(found))
    everything = made.search(set(catalogue.addons) - set(fixed))
    try:
        found = everything.solve(selection.roots)
        return Remedy(made.changes(found)) if found is not None else Remedy({}, _fewest(everything, selection.roots))
    except Undecided:
        return Remedy({})


def _fewest(search: Search, roots: Sequence[str]) -> tuple[str, ...]:
    """Of ``roots`` the fewest that still have no answer: each one left out would give one."""
    needed = list(roots)
    for root in roots:
        fewer = [one for one in needed if one != root]
        if search.solve(fewer) is None:
            needed = fewer
    return tuple(needed)


class _Options:
    """Which versions an add-on may have where it may change, and where it may not."""

    def __init__(self, spec: ClusterSpec, catalogue: Catalogue, place: Place, selection: Selection) -> None:
        self._spec, self._catalogue, self._place, self._selection = spec, catalogue, place, selection
        schedulers = [name for name in selection.roots if name in catalogue.schedulers()]
        self._scheduler = schedulers[0] if schedulers else ""
        self._allowed: dict[str, list[AddonVersion]] = {}

    def search(self, loose: Collection[str]) -> Search:
        """Add-ons in ``loose``, and those that nobody has chosen yet, may have any version; the others the one they have."""
        domains = {}
        for name in self._catalogue.addons:
            chosen = self._selection.chosen.get(name)
            fixed = chosen is not None and name not in loose
            domains[name] = [v for v in self.allowed(name) if not fixed or (chosen and v.version == chosen.version.version)]
        return Search(domains, lambda version: bonds(self._catalogue.addons[version.addon], version, self._catalogue))

    def allowed(self, name: str) -> list[AddonVersion]:
        """What may go onto the cluster at all, best first: what is chosen, the channel's, then from the newest down."""
        if name not in self._allowed:
            chosen = self._selection.chosen.get(name)
            first = [chosen.version.version if chosen else "", self._place.channel.versions.get(name, "")]
            request = named(self._spec, name)
            config = request.config if request else {}
            addon = self._catalogue.addons[name]
            known = [v for v in reversed(self._catalogue.versions[name]) if not judge(addon, v, self._place, config).against]
            self._allowed[name] = sorted(known, key=lambda v: first.index(v.version) if v.version in first else len(first))
        return self._allowed[name]

    def changes(self, found: Mapping[str, AddonVersion]) -> dict[str, str]:
        """What of an answer a spec has to name, so that it gets just that: a companion in lock-step may not follow any more."""
        wanted = {name: version.version for name, version in found.items()}
        told: dict[str, str] = {}
        for _ in wanted:
            got = select(with_versions(self._spec, told), self._catalogue, self._place.channel, self._scheduler)
            now = {name: one.version.version for name, one in got.chosen.items()}
            missing = {name: version for name, version in wanted.items() if now.get(name) != version}
            if not missing:
                break
            told |= missing
        return told


def with_versions(spec: ClusterSpec, versions: Mapping[str, str]) -> ClusterSpec:
    """The spec with these versions named in it."""
    requests = [replace(one, version=versions.get(one.name, one.version)) for one in spec.addons]
    known = {one.name for one in requests}
    added = [AddonRequest(name, version) for name, version in sorted(versions.items()) if name not in known]
    return replace(spec, addons=(*requests, *added))

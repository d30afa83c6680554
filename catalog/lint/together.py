"""Rules about add-ons and channels together, and about edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from catalog.lint.world import Check, Found, Place, World, at
from catalog.model import AddonVersion, Edge, VersionRange, minor_number, version_key

__all__ = ["CHECKS"]

#: Each is fed by the one before it.
_FLOW = ("edge", "candidate", "stable")


def _chosen(world: World) -> Iterator[tuple[Place, AddonVersion, Mapping[str, str]]]:
    for channel in world.catalogue.channels.values():
        for addon, wanted in channel.versions.items():
            version = world.catalogue.version(addon, wanted)
            if version is not None:
                yield Place("channel", channel.name, path=("versions", addon)), version, channel.versions


def _withdrawn(world: World) -> Iterator[Found]:
    for place, version, _ in _chosen(world):
        if version.withdrawn:
            yield Found(place, f"{version.addon} {version.version} is withdrawn: {version.withdrawn}")


def _set(world: World) -> Iterator[Found]:
    yield from _unfit(world)
    yield from _no_common_minor(world)


def _unfit(world: World) -> Iterator[Found]:
    """Each version against the channel's other versions: a channel offers one of each, so that this is all there is to try."""
    for place, version, versions in _chosen(world):
        for need in version.requires:
            there = versions.get(need.addon)
            if there is None and need.addon in world.catalogue.addons:
                yield Found(place, f"{version.addon} {version.version} requires {need.addon}, which the channel does not have")
            elif there is not None and not _admits(need.range.admits, there):
                yield Found(
                    place, f"{version.addon} {version.version} requires {need.addon} {need.range}, the channel has {there}"
                )
        for peer in version.compatibility.peers:
            there = versions.get(peer.addon)
            if there is not None and not _admits(peer.range.admits, there):
                text = f"{version.addon} {version.version} needs {peer.addon} {peer.range} beside it, the channel has {there}"
                yield Found(place, text)


def _no_common_minor(world: World) -> Iterator[Found]:
    """A version together with all that it requires, directly or not, as the channel has them."""
    for place, version, versions in _chosen(world):
        together, todo = {version.addon: version}, [version]
        while todo:
            for need in todo.pop().requires:
                other = world.catalogue.version(need.addon, versions.get(need.addon, ""))
                if other is not None and need.addon not in together:
                    together[need.addon] = other
                    todo.append(other)
        ranges = {name: one.compatibility.declared for name, one in together.items()}
        oldest = max(ranges.values(), key=lambda declared: minor_number(declared.minimum))
        if version.requires and not all(declared.admits(oldest.minimum) for declared in ranges.values()):
            told = ", ".join(f"{name} {declared}" for name, declared in sorted(ranges.items()))
            yield Found(place, f"no Kubernetes suits {version.addon} and what it requires: {told}")


def _admits(admits: object, version: str) -> bool:
    try:
        return bool(callable(admits) and admits(version))
    except ValueError:
        return False


def _cycles(world: World) -> Iterator[Found]:
    """Each cycle once, told at the add-on of it that comes first by name."""
    needs: dict[str, set[str]] = {}
    for _, version in world.versions():
        needs.setdefault(version.addon, set()).update(one.addon for one in version.requires)

    def ways(name: str, start: str, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for other in sorted(needs.get(name, ())):
            if other == start:
                yield path
            elif other > start and other not in path:
                yield from ways(other, start, (*path, other))

    for start in sorted(needs):
        for path in ways(start, start, (start,)):
            version = world.catalogue.versions[start][-1]
            yield Found(at(version, "requires"), " requires ".join((*path, start)))


def _lock_step(world: World) -> Iterator[Found]:
    for place, version, versions in _chosen(world):
        for need in version.requires:
            there = versions.get(need.addon, version.version)
            if need.same_version and there != version.version:
                yield Found(place, f"{version.addon} {version.version} and {need.addon} {there} are released in lock-step")


def _contradiction(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        for index, need in enumerate(version.requires):
            other = world.catalogue.addons.get(need.addon)
            if need.addon in addon.excludes or (other is not None and addon.name in other.excludes):
                yield Found(at(version, "requires", index), f"{addon.name} and {need.addon} exclude each other")


def _ahead(world: World) -> Iterator[Found]:
    channels = world.catalogue.channels
    flow = [name for name in _FLOW if name in channels]
    for before, behind in pairwise(flow):
        for name, wanted in channels[behind].versions.items():
            first, addon = channels[before].versions.get(name), world.catalogue.addons.get(name)
            if addon is None:
                continue
            place = Place("channel", behind, path=("versions", name))
            try:
                ahead = first is None or version_key(wanted, addon.scheme) > version_key(first, addon.scheme)
            except ValueError:
                continue
            if ahead:
                yield Found(place, f"{behind} has {name} {wanted}, {before} has {first or 'none'}")


def _schemes(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        asked: list[tuple[tuple[str | int, ...], str, VersionRange]]
        asked = [(("requires", i), one.addon, one.range) for i, one in enumerate(version.requires)]
        asked += [(("compatibility", "peers", i), one.addon, one.range) for i, one in enumerate(version.compatibility.peers)]
        for path, name, wanted in asked:
            other = world.catalogue.addons.get(name)
            if other is not None and wanted.text and wanted.scheme != other.scheme:
                text = f"{name} is numbered by {other.scheme}, the range counts by {wanted.scheme}"
                yield Found(at(version, *path), text)


def _reference(world: World) -> Iterator[Found]:
    for addon in world.catalogue.addons.values():
        if addon.reference and set(addon.targets) != {"embedded"}:
            yield Found(Place("addon", addon.name, path=("targets",)), f"{addon.name} may go to {', '.join(addon.targets)}")


def _edges(world: World) -> Iterator[tuple[Place, Edge]]:
    for addon, edges in world.catalogue.edges.items():
        for index, edge in enumerate(edges):
            yield Place("edges", addon, path=("edges", index)), edge


def _origins(world: World, edge: Edge) -> list[str]:
    return [name for name in world.catalogue.names(edge.addon) if _admits(edge.origin.admits, name)]


def _name(edge: Edge) -> str:
    return f"{edge.addon} {edge.origin} -> {edge.to}"


def _to(world: World) -> Iterator[Found]:
    for place, edge in _edges(world):
        if edge.to not in world.catalogue.names(edge.addon):
            yield Found(place, f"{_name(edge)}: there is no {edge.to}")


def _from(world: World) -> Iterator[Found]:
    for place, edge in _edges(world):
        if not _origins(world, edge):
            yield Found(place, f"{_name(edge)}: no version is within {edge.origin}")


def _safe(world: World) -> Iterator[Found]:
    for place, edge in _edges(world):
        if edge.verdict == "safe" and not edge.checks:
            yield Found(place, f"{_name(edge)} is safe, and no check shows it")


def _people(world: World) -> Iterator[Found]:
    for place, edge in _edges(world):
        if not edge.reason:
            yield Found(place, f"{_name(edge)} is {edge.verdict} without a reason")
        elif edge.verdict == "manual" and not (edge.steps or edge.precondition or edge.moves):
            yield Found(place, f"{_name(edge)} is manual, and has no steps")


def _ways_back(world: World) -> Iterator[Found]:
    edges = list(_edges(world))
    for place, down in edges:
        for _, up in edges:
            pair = up.addon == down.addon and up.to in _origins(world, down) and down.to in _origins(world, up)
            if pair and _lower(world, down) and (down.verdict != "blocked") != up.reversible:
                told = "reversible" if up.reversible else "not reversible"
                yield Found(place, f"{_name(down)} is {down.verdict}, and {_name(up)} is {told}")


def _lower(world: World, edge: Edge) -> bool:
    names = world.catalogue.names(edge.addon)
    return edge.to in names and any(names.index(origin) > names.index(edge.to) for origin in _origins(world, edge))


def _same(world: World) -> Iterator[Found]:
    for place, edge in _edges(world):
        if _origins(world, edge) == [edge.to]:
            yield Found(place, f"{_name(edge)} is no move")


def _double(world: World) -> Iterator[Found]:
    seen: dict[tuple[str, str, str], Place] = {}
    for place, edge in _edges(world):
        twice = [origin for origin in _origins(world, edge) if (edge.addon, origin, edge.to) in seen]
        seen |= {(edge.addon, origin, edge.to): place for origin in _origins(world, edge)}
        if twice:
            yield Found(place, f"{edge.addon} {', '.join(twice)} -> {edge.to} is told by an edge before it")


def _unreferenced(world: World) -> Iterator[Found]:
    for place, edge in _edges(world):
        if not edge.references:
            yield Found(place, f"{_name(edge)} does not say where its verdict comes from")


CHECKS: Mapping[str, Check] = {
    "CAT501": _withdrawn,
    "CAT502": _set,
    "CAT503": _cycles,
    "CAT504": _lock_step,
    "CAT505": _contradiction,
    "CAT506": _ahead,
    "CAT507": _schemes,
    "CAT508": _reference,
    "CAT601": _to,
    "CAT602": _from,
    "CAT603": _safe,
    "CAT604": _people,
    "CAT605": _ways_back,
    "CAT606": _same,
    "CAT607": _double,
    "CAT608": _unreferenced,
}

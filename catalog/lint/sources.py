"""Rules about where charts and images come from, and when."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping

from catalog.lint.world import Check, Found, Place, World, at
from catalog.model import FileSource, Image, ModuleSource, OciSource, RepositorySource

__all__ = ["CHECKS"]

_SHA = re.compile(r"sha256:[0-9a-f]{64}\Z")
_H1 = re.compile(r"h1:[A-Za-z0-9+/]{43}=\Z")
_MOVING = {"", "latest", "main", "master", "dev", "nightly", "edge", "stable", "head", "snapshot"}
_HOST = re.compile(r"([a-z0-9-]+\.)+[a-z0-9-]+(:[0-9]+)?\Z|localhost(:[0-9]+)?\Z")
_WORDS = {"hardware", "chart"}
_SYSTEM = {"default", "kube-system", "kube-public", "kube-node-lease"}


def _chart_unpinned(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        if version.chart_pin == "unpinned":
            yield Found(at(version, "chart"), f"chart of {version.addon} {version.version} is unpinned")


def _images_unpinned(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        unpinned = [image.reference for image in version.images if not image.digest]
        if unpinned:
            more = f" and {len(unpinned) - 1} more" if len(unpinned) > 1 else ""
            yield Found(at(version, "images"), f"{version.addon} {version.version}: {unpinned[0]}{more} unpinned")


def _channel_pins(world: World) -> Iterator[Found]:
    for channel in world.catalogue.channels.values():
        for addon, wanted in channel.versions.items() if not channel.allows_unpinned else ():
            version = world.catalogue.version(addon, wanted)
            if version and "unpinned" in (version.chart_pin, version.image_pin):
                place = Place("channel", channel.name, path=("versions", addon))
                yield Found(place, f"{addon} {wanted}: chart {version.chart_pin}, images {version.image_pin}")


def _digests(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        source = version.source
        told: dict[str, tuple[str, re.Pattern[str]]] = {}
        if isinstance(source, OciSource):
            told = {"digest": (source.digest, _SHA), "archiveDigest": (source.archive_digest, _SHA)}
        elif isinstance(source, RepositorySource):
            told = {"archiveDigest": (source.digest, _SHA)}
        elif isinstance(source, FileSource):
            told = {"digest": (source.digest, _SHA)}
        elif isinstance(source, ModuleSource):
            told = {"sum": (source.sum, _H1)}
        for field, (digest, form) in told.items():
            if digest and not form.match(digest):
                yield Found(at(version, "chart", field), f"{digest[:40]!r} is no digest")
        for index, image in enumerate(version.images):
            if image.digest and not _SHA.match(image.digest):
                yield Found(at(version, "images", index, "digest"), f"{image.reference}: {image.digest[:40]!r} is no digest")


def _images(world: World) -> Iterator[tuple[Place, str, str, Image]]:
    for _, version in world.versions():
        for index, image in enumerate(version.images):
            yield at(version, "images", index, "reference"), version.addon, version.version, image


def _tag(image: Image) -> str:
    return image.reference.rpartition("/")[2].partition(":")[2]


def _moving_tags(world: World) -> Iterator[Found]:
    for place, _, _, image in _images(world):
        if _tag(image).lower() in _MOVING:
            yield Found(place, f"{image.reference} has {'the tag ' + _tag(image) if _tag(image) else 'no tag'}")


def _registries(world: World) -> Iterator[Found]:
    for place, _, _, image in _images(world):
        if not _HOST.match(image.reference.partition("/")[0]) or "/" not in image.reference:
            yield Found(place, f"{image.reference} begins with no registry")


def _stale_tags(world: World) -> Iterator[Found]:
    """A tag that is the version, or the application's, of a sibling and not of this one."""
    own: Mapping[str, Mapping[str, set[str]]] = {
        addon: {version.version: _names(version.version, version.app_version, version.chart_version) for version in versions}
        for addon, versions in ((name, world.catalogue.versions.get(name, ())) for name in world.catalogue.addons)
    }
    for place, addon, number, image in _images(world):
        tag = _tag(image).removeprefix("v")
        others = [other for other, names in own[addon].items() if other != number and tag in names]
        if others and tag not in own[addon][number]:
            yield Found(place, f"{image.reference} is the image of {others[0]}, this is {number}")


def _names(*texts: str) -> set[str]:
    return {text.removeprefix("v") for text in texts if text}


def _listed_twice(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        seen: set[str] = set()
        for index, image in enumerate(version.images):
            if image.reference in seen:
                yield Found(at(version, "images", index), f"{image.reference} is listed twice")
            seen.add(image.reference)


def _plain_http(world: World) -> Iterator[Found]:
    for addon in world.catalogue.addons.values():
        if addon.upstream.startswith("http://"):
            yield Found(Place("addon", addon.name, path=("upstream",)), f"{addon.upstream} is plain HTTP")
    for _, version in world.versions():
        source = version.source
        if isinstance(source, RepositorySource) and not source.url.startswith("https://"):
            yield Found(at(version, "chart", "repository"), f"{source.url} is no https:// address")


def _upstream(world: World) -> Iterator[Found]:
    for addon in world.catalogue.addons.values():
        if not addon.upstream and not addon.reference:
            yield Found(Place("addon", addon.name), f"{addon.name} does not say where its project is")


def _dates(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        if version.released and (wrong := _wrong_date(version.released, world.today)):
            yield Found(at(version, "released"), f"released {version.released!r} {wrong}")
        for index, tested in enumerate(version.compatibility.tested):
            if wrong := _wrong_date(tested.on, world.today):
                yield Found(at(version, "compatibility", "tested", index, "on"), f"tested on {tested.on!r} {wrong}")


def _wrong_date(text: str, today: datetime.date) -> str:
    try:
        date = datetime.date.fromisoformat(text)
    except ValueError:
        return "is no ISO date"
    return "is in the future" if date > today else ""


def _release_date(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        if not version.released:
            yield Found(at(version), f"{version.addon} {version.version} does not say when it was released")


def _support(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        if not version.support and not addon.reference:
            yield Found(at(version), f"{version.addon} {version.version} does not say how long it is supported")


def _unverified(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for word in version.unverified:
            if word not in _WORDS:
                yield Found(at(version, "unverified"), f"{word!r} is not one of {', '.join(sorted(_WORDS))}")


def _namespaces(world: World) -> Iterator[Found]:
    """Add-ons that require or exclude each other may share one."""
    addons = world.catalogue.addons
    related: set[frozenset[str]] = {frozenset((addon.name, other)) for addon in addons.values() for other in addon.excludes}
    related |= {frozenset((version.addon, one.addon)) for _, version in world.versions() for one in version.requires}
    names = sorted(addons)
    for index, name in enumerate(names):
        for other in names[index + 1 :]:
            if addons[name].namespace == addons[other].namespace and frozenset((name, other)) not in related:
                yield Found(Place("addon", other, path=("namespace",)), f"{other} and {name} share {addons[name].namespace}")


def _strays(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        if version.version.removeprefix("v") in {stray.removeprefix("v") for stray in addon.strays}:
            yield Found(at(version, "version"), f"{version.version} of {addon.name} is a stray tag")


def _system_namespaces(world: World) -> Iterator[Found]:
    for addon in world.catalogue.addons.values():
        if addon.namespace in _SYSTEM:
            yield Found(Place("addon", addon.name, path=("namespace",)), f"{addon.name} is installed into {addon.namespace}")


CHECKS: Mapping[str, Check] = {
    "CAT101": _chart_unpinned,
    "CAT102": _images_unpinned,
    "CAT103": _channel_pins,
    "CAT104": _digests,
    "CAT105": _moving_tags,
    "CAT106": _registries,
    "CAT107": _stale_tags,
    "CAT108": _listed_twice,
    "CAT109": _plain_http,
    "CAT110": _upstream,
    "CAT111": _dates,
    "CAT112": _release_date,
    "CAT113": _support,
    "CAT114": _unverified,
    "CAT115": _namespaces,
    "CAT116": _strays,
    "CAT117": _system_namespaces,
}

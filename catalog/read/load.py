"""The catalogue from its directory: everything is read and checked, and all problems are told at once, with file and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from base.errors import NotFound, Position, SpecError, Unavailable
from base.yamltree import parse
from catalog.model import Addon, AddonVersion, Catalogue, Channel, version_key
from catalog.read.files import (
    ADDON_FIELDS,
    CHANNEL_FIELDS,
    VERSION_FIELDS,
    Defaults,
    read_addon,
    read_channel,
    read_package,
    read_version,
)
from spec.reader import Problems, Section, root

__all__ = ["ROOT", "load"]

#: The catalogue of this checkout.
ROOT = Path(__file__).resolve().parents[1]


def load(directory: Path = ROOT) -> Catalogue:
    """The catalogue in ``directory`` (with ``addons/`` and ``channels/``).

    NotFound when there is none, SpecError with every problem otherwise: in the files, between them (an add-on that is
    named and not there, a channel with a version that is not there), and in names that do not match their files'.
    """
    if not (directory / "addons").is_dir():
        raise NotFound("no catalogue there", where=str(directory))
    problems = Problems()
    addons: dict[str, Addon] = {}
    versions: dict[str, tuple[AddonVersion, ...]] = {}
    for folder in sorted(path for path in (directory / "addons").iterdir() if path.is_dir()):
        read = _addon(folder, problems)
        if read is not None:
            addon, defaults = read
            addons[addon.name] = addon
            versions[addon.name] = tuple(_versions(folder, addon, defaults, problems))
    channels = {channel.name: channel for channel in _channels(directory / "channels", problems)}
    catalogue = Catalogue(addons, versions, channels)
    _check_references(catalogue, directory, problems)
    if problems.found:
        raise SpecError(problems.found, what="catalogue")
    return catalogue


def _addon(folder: Path, problems: Problems) -> tuple[Addon, Defaults] | None:
    path = folder / "addon.yaml"
    section = _section(path, ADDON_FIELDS, problems)
    if section is None:
        return None
    template = folder / "values.yaml.j2"
    addon = read_addon(section)
    if addon.name != folder.name:
        section.bad("name", f"{addon.name!r} stands in directory {folder.name!r}")
    return addon, Defaults(read_package(section), template.read_text(encoding="utf-8") if template.is_file() else "")


def _versions(folder: Path, addon: Addon, defaults: Defaults, problems: Problems) -> Sequence[AddonVersion]:
    found = []
    for path in sorted((folder / "versions").glob("*.yaml")):
        section = _section(path, VERSION_FIELDS, problems)
        if section is None:
            continue
        version = read_version(section, addon, folder, defaults)
        if version.version != path.stem:
            section.bad("version", f"{version.version!r} stands in file {path.name!r}")
        try:
            version_key(version.version, addon.scheme)
        except ValueError as error:
            section.bad("version", str(error))
            continue
        found.append(version)
    if not found:
        problems.add(Position(str(folder / "versions")), "", "no version of this add-on")
    return sorted(found, key=lambda version: version_key(version.version, addon.scheme))


def _channels(folder: Path, problems: Problems) -> Sequence[Channel]:
    found = []
    for path in sorted(folder.glob("*.yaml")):
        section = _section(path, CHANNEL_FIELDS, problems)
        if section is not None:
            channel = read_channel(section)
            if channel.name != path.stem:
                section.bad("name", f"{channel.name!r} stands in file {path.name!r}")
            found.append(channel)
    return found


def _section(path: Path, fields: Sequence[str], problems: Problems) -> Section | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        problems.add(Position(str(path)), "", "is missing")
        return None
    except OSError as error:
        raise Unavailable(f"the catalogue cannot be read: {error.strerror}", where=str(path)) from error
    tree, found = parse(data, str(path))
    problems.found.extend(found)
    return root(tree, fields, problems) if tree is not None else None


def _check_references(catalogue: Catalogue, directory: Path, problems: Problems) -> None:
    """Names in one file that another has to have."""

    def check(name: str, known: Mapping[str, object], file: Path, field: str) -> bool:
        if name not in known:
            problems.add(Position(str(file)), field, f"unknown add-on {name!r}")
        return name in known

    for addon in catalogue.addons.values():
        file = directory / "addons" / addon.name / "addon.yaml"
        for one in catalogue.versions[addon.name]:
            for requirement in one.requires:
                check(requirement.addon, catalogue.addons, file, "requires")
            for peer in one.compatibility.peers:
                check(peer.addon, catalogue.addons, file.parent / "versions" / f"{one.version}.yaml", "compatibility.peers")
        for other in addon.excludes:
            check(other, catalogue.addons, file, "excludes")
    for channel in catalogue.channels.values():
        file = directory / "channels" / f"{channel.name}.yaml"
        for name, wanted in channel.versions.items():
            if not check(name, catalogue.addons, file, f"versions.{name}"):
                continue
            version = catalogue.version(name, wanted)
            if version is None:
                problems.add(Position(str(file)), f"versions.{name}", f"version {wanted} is not in the catalogue")
            elif not channel.allows_unpinned and "unpinned" in (version.chart_pin, version.image_pin):
                message = f"{wanted} is unpinned (chart {version.chart_pin}, images {version.image_pin})"
                problems.add(Position(str(file)), f"versions.{name}", message, "this channel takes only pinned versions")

"""The catalogue from its directory. Add-ons and channels are read at once, version files when somebody asks for them.

What can be seen without reading every file is always checked: names, the order of versions, channels that name what is not
there. ``eager`` reads everything and tells all problems of all files together, which is what lint and tests want.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from base.errors import NotFound, Position, SpecError, Unavailable
from base.names import did_you_mean
from catalog.model import Addon, Catalogue, Channel, version_key
from catalog.read.files import read_addon, read_channel
from catalog.read.format import ADDON, CHANNEL
from catalog.read.lazy import EdgeFiles, Folder, VersionFiles
from catalog.read.sources import Found, open_section

__all__ = ["ROOT", "load"]

#: The catalogue of this checkout.
ROOT = Path(__file__).resolve().parents[1]
#: What may stand beside ``versions/X.yaml``, for that version only.
_BESIDE = (".values.yaml.j2", ".config.schema.json")


def load(directory: Path = ROOT, *, eager: bool = False) -> Catalogue:
    """The catalogue in ``directory`` (with ``addons/`` and ``channels/``).

    NotFound when there is none, SpecError with every problem otherwise: in the files, between them (an add-on that is
    named and not there, a channel with a version that is not there), and in names that do not match their files'. Unless
    ``eager``, what is wrong in a version file or in edges is raised when they are first asked for.
    """
    if not (directory / "addons").is_dir():
        raise NotFound("no catalogue there", where=str(directory))
    problems = Found()
    folders: dict[str, Folder] = {}
    for path in sorted(path for path in (directory / "addons").iterdir() if path.is_dir()):
        folder = _folder(path, problems)
        if folder is not None:
            folders[path.name] = folder
    addons = {name: folder.addon for name, folder in folders.items()}
    versions, edges = VersionFiles(folders), EdgeFiles(folders)
    channels = {channel.name: channel for channel in _channels(directory / "channels", folders, problems)}
    catalogue = Catalogue(addons, versions, channels, edges)
    if eager:
        _read_all(catalogue, versions, edges, directory, problems)
    problems.check_mentions(frozenset(addons))
    if problems.found:
        raise SpecError(problems.found, what="catalogue")
    return catalogue


def _folder(path: Path, problems: Found) -> Folder | None:
    section = open_section(path / "addon.yaml", ADDON, problems)
    if section is None:
        return None
    addon, defaults = read_addon(section)
    if addon.name and addon.name != path.name:
        section.bad("name", f"{addon.name!r} stands in directory {path.name!r}")
    return Folder(path, addon, defaults, _names(path / "versions", addon, problems))


def _names(folder: Path, addon: Addon, problems: Found) -> tuple[str, ...]:
    """The versions that have a file, in their order, by the names of the files alone."""
    try:
        files = sorted(os.listdir(folder)) if folder.is_dir() else []  # noqa: PTH208 - names are all that is wanted
    except OSError as error:
        raise Unavailable(f"the catalogue cannot be read: {error.strerror}", where=str(folder)) from error
    keys: dict[object, str] = {}
    for file in (file for file in files if file.endswith(".yaml")):
        name = file.removesuffix(".yaml")
        place = Position(str(folder / file))
        try:
            key = version_key(name, addon.scheme)
        except ValueError as error:
            problems.add(place, "version", str(error))
            continue
        if key in keys:
            problems.add(place, "version", f"{name} is the same version as {keys[key]}")
        elif name.removeprefix("v") in addon.strays:
            problems.add(place, "version", f"{name} is a stray tag: {addon.strays[name.removeprefix('v')]}", "it is no version")
        keys.setdefault(key, name)
    for file in files:
        for ending in _BESIDE:
            if file.endswith(ending) and file.removesuffix(ending) not in keys.values():
                wanted = f"{file.removesuffix(ending)}.yaml"
                problems.add(Position(str(folder / file)), "", "belongs to no version", f"there is no {wanted} beside it")
    if not keys:
        problems.add(Position(str(folder)), "", "no version of this add-on")
    return tuple(name for _, name in sorted(keys.items(), key=lambda item: version_key(item[1], addon.scheme)))


def _channels(folder: Path, folders: Mapping[str, Folder], problems: Found) -> Iterator[Channel]:
    for path in sorted(folder.glob("*.yaml")):
        section = open_section(path, CHANNEL, problems)
        if section is None:
            continue
        channel = read_channel(section)
        if channel.name and channel.name != path.stem:
            section.bad("name", f"{channel.name!r} stands in file {path.name!r}")
        table = section.mapping("versions")
        for name, wanted in channel.versions.items():
            place = table.entries[name].position if table else Position(str(path))
            if name not in folders:
                problems.mention(place, f"versions.{name}", name, "")
            elif wanted in folders[name].addon.strays:
                reason = folders[name].addon.strays[wanted]
                problems.add(place, f"versions.{name}", f"{wanted} is a stray tag: {reason}", "it can never be picked")
            elif wanted and wanted not in folders[name].names:
                known = did_you_mean(wanted, folders[name].names)
                problems.add(place, f"versions.{name}", f"version {wanted} is not in the catalogue", known)
        yield channel


def _read_all(catalogue: Catalogue, versions: VersionFiles, edges: EdgeFiles, directory: Path, problems: Found) -> None:
    """Every version and every edge, and what channels promise of them."""
    for name in versions:
        versions.read(name, problems)
    for name in edges:
        edges.read(name, problems)
    if problems.found:
        return
    for channel in catalogue.channels.values():
        if channel.allows_unpinned:
            continue
        file = Position(str(directory / "channels" / f"{channel.name}.yaml"))
        for name, wanted in channel.versions.items():
            version = catalogue.version(name, wanted)
            if version is not None and "unpinned" in (version.chart_pin, version.image_pin):
                message = f"{wanted} is unpinned (chart {version.chart_pin}, images {version.image_pin})"
                problems.add(file, f"versions.{name}", message, "this channel takes only pinned versions")

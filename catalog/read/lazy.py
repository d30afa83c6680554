"""Version files that are read when somebody asks for them. Planning one cluster needs one file of each add-on, not all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from base.errors import SpecError
from catalog.model import Addon, AddonVersion, Edge, NoOp, Versions
from catalog.read.files import Defaults, read_edges, read_noops, read_version
from catalog.read.format import EDGES, NOOPS, VERSION
from catalog.read.sources import Found, open_section, read_json, read_text

__all__ = ["EdgeFiles", "Folder", "VersionFiles"]


@dataclass(frozen=True, slots=True)
class Folder:
    """The directory of one add-on: what its addon.yaml says, and the names of its versions in their order."""

    path: Path
    addon: Addon
    defaults: Defaults
    names: tuple[str, ...]

    def version(self, name: str, problems: Found) -> AddonVersion | None:
        """One version file with what stands beside it; None when it is no mapping at all."""
        path = self.path / "versions" / f"{name}.yaml"
        section = open_section(path, VERSION, problems)
        if section is None:
            return None
        own = self._beside("versions", f"{name}.", self._beside("", "", self.defaults, problems), problems)
        version = read_version(section, self.addon, self.path, own)
        if version.version and version.version != name:
            section.bad("version", f"{version.version!r} stands in file {path.name!r}")
        return replace(version, noops=self._noops(name, problems))

    def edges(self, problems: Found) -> tuple[Edge, ...]:
        path = self.path / "edges.yaml"
        section = open_section(path, EDGES, problems) if path.is_file() else None
        return read_edges(section, self.addon) if section else ()

    def _noops(self, version: str, problems: Found) -> tuple[NoOp, ...]:
        """What the add-on's list says of this version. Its faults are told once, however many versions ask."""
        path, own = self.path / "noops.yaml", Found()
        section = open_section(path, NOOPS, own) if path.is_file() else None
        found = read_noops(section, self.addon) if section else ()
        problems.found.extend(problem for problem in own.found if problem not in problems.found)
        return tuple(noop for noop in found if noop.versions.admits(version))

    def _beside(self, folder: str, prefix: str, defaults: Defaults, problems: Found) -> Defaults:
        """``defaults`` with the values template and the configuration schema that stand there, where they do."""
        place = self.path / folder
        template = read_text(place / f"{prefix}values.yaml.j2", problems)
        schema = read_json(place / f"{prefix}config.schema.json", problems)
        if template:
            defaults = replace(defaults, values_template=template)
        return defaults if schema is None else replace(defaults, config_schema=schema)


class VersionFiles(Versions):
    """The versions of each add-on. What is wrong in a file is raised when it is first read: SpecError with all of it."""

    def __init__(self, folders: Mapping[str, Folder]) -> None:
        self._folders = folders
        self._read: dict[tuple[str, str], AddonVersion] = {}

    def __getitem__(self, addon: str) -> tuple[AddonVersion, ...]:
        problems = Found()
        found = self.read(addon, problems)
        if problems.found:
            raise SpecError(problems.found, what="catalogue")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def names(self, addon: str) -> tuple[str, ...]:
        return self._folders[addon].names if addon in self._folders else ()

    def find(self, addon: str, version: str) -> AddonVersion | None:
        if version not in self.names(addon):
            return None
        problems = Found()
        found = self._one(addon, version, problems)
        if problems.found:
            raise SpecError(problems.found, what="catalogue")
        return found

    def read(self, addon: str, problems: Found) -> tuple[AddonVersion, ...]:
        """All versions of an add-on, with what is wrong in their files noted instead of raised."""
        found = (self._one(addon, name, problems) for name in self._folders[addon].names)
        return tuple(version for version in found if version is not None)

    def _one(self, addon: str, name: str, problems: Found) -> AddonVersion | None:
        if (addon, name) in self._read:
            return self._read[addon, name]
        before = len(problems.found)
        version = self._folders[addon].version(name, problems)
        if version is not None and len(problems.found) == before:
            self._read[addon, name] = version
        return version


class EdgeFiles(Mapping[str, tuple[Edge, ...]]):
    """The edges of each add-on that has a file of them, read when asked for."""

    def __init__(self, folders: Mapping[str, Folder]) -> None:
        self._folders = {name: folder for name, folder in folders.items() if (folder.path / "edges.yaml").is_file()}
        self._read: dict[str, tuple[Edge, ...]] = {}

    def __getitem__(self, addon: str) -> tuple[Edge, ...]:
        if addon not in self._read:
            problems = Found()
            self._read[addon] = self.read(addon, problems)
            if problems.found:
                del self._read[addon]
                raise SpecError(problems.found, what="catalogue")
        return self._read[addon]

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def read(self, addon: str, problems: Found) -> tuple[Edge, ...]:
        """The edges of an add-on, with what is wrong in the file noted instead of raised."""
        return self._folders[addon].edges(problems)

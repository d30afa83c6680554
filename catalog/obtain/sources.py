"""Charts from where the catalogue says they are, each verified before it is used, kept in the cache afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from base.errors import ChandleryError, NotFound, Refused
from catalog.model import AddonVersion, FileSource, ModuleSource, OciSource, PackageSource
from catalog.obtain.archive import module_files, module_sum, pack, sha256, unpack
from catalog.obtain.registry import Registry
from catalog.obtain.store import Store
from catalog.resolve.choice import Obtainable

__all__ = ["Chart", "Charts", "FetchModule", "mirror_name"]

#: Part of every key; goes up when the same source would be packed into other bytes.
_FORMAT = "1"


class FetchModule(Protocol):
    """Gets a Go module with this ``h1:`` checksum and says where it lies, as its zip or unpacked.

    The command line hands one in: this room knows no Go. What comes back is checked here again.
    """

    def __call__(self, module: str, version: str, checksum: str, /) -> Path: ...


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart ready to be rendered: a .tgz with the catalogue's versions in it, the digest of its source, and where that was."""

    archive: bytes
    source_digest: str
    origin: str


class Charts:
    """Charts by catalogue version. ``mirror`` is a directory of packaged charts that comes before any registry."""

    def __init__(
        self, store: Store, *, fetch_module: FetchModule, mirror: Path | None = None, registry: Registry | None = None
    ) -> None:
        self._store = store
        self._fetch_module = fetch_module
        self._mirror = mirror
        self._registry = registry or Registry()

    def get(self, version: AddonVersion) -> Chart:
        """The chart of a version.

        Refused when bytes differ from the pinned digest, or, for a chart that is still unpinned, from what was first seen under
        its name; NotFound and Unavailable when it cannot be had.
        """
        source = version.source
        mirrored = self._mirrored(source) if isinstance(source, OciSource) else None
        if mirrored is not None:
            return self._from_archive(version, mirrored.read_bytes(), str(mirrored))
        if isinstance(source, FileSource):
            return self._from_file(version, source)
        kept = self._kept(version)
        if kept is not None:
            return kept
        if isinstance(source, ModuleSource):
            return self._from_module(version, source)
        if isinstance(source, OciSource):
            pulled = self._registry.pull(
                source.repository, source.tag, digest=source.digest, archive_digest=source.archive_digest
            )
            return self._from_archive(version, pulled.archive, f"{source.repository}:{source.tag}")
        raise TypeError(f"{version.addon} is a package of ours and has no chart")

    def obtainable(self, version: AddonVersion) -> Obtainable:
        """Whether the chart can be had now, without fetching it. Answers within seconds, and never raises for "no"."""
        source = version.source
        if not isinstance(source, OciSource):
            return Obtainable(True, "pinned by a module's checksum" if isinstance(source, ModuleSource) else "in this repository")
        mirrored = self._mirrored(source)
        if mirrored is not None:
            return Obtainable(True, f"from {mirrored}")
        if self._kept(version) is not None:
            return Obtainable(True, "kept in the cache")
        try:
            self._registry.probe(source.repository, source.tag)
        except ChandleryError as error:
            looked = f"not in {self._mirror}, " if self._mirror else ""
            return Obtainable(False, f"{looked}{source.repository}: {error.message}")
        return Obtainable(True, f"from {source.repository}")

    def _mirrored(self, source: OciSource) -> Path | None:
        if self._mirror is None:
            return None
        path = self._mirror / mirror_name(source)
        return path if path.is_file() else None

    def _kept(self, version: AddonVersion) -> Chart | None:
        known = self._store.named(_key(version))
        archive = self._store.get(str(known.get("blob"))) if known else None
        if known is None or archive is None:
            return None
        return Chart(archive, str(known.get("source")), str(known.get("origin")))

    def _keep(self, version: AddonVersion, archive: bytes, source_digest: str, origin: str) -> Chart:
        self._store.name(_key(version), {"blob": self._store.put(archive), "source": source_digest, "origin": origin})
        return Chart(archive, source_digest, origin)

    def _from_archive(self, version: AddonVersion, data: bytes, origin: str) -> Chart:
        """The chart to render, out of bytes that are what they should be."""
        source = version.source
        pinned = source.archive_digest if isinstance(source, OciSource) else ""
        pinned = source.digest if isinstance(source, FileSource) else pinned
        found = sha256(data)
        if pinned and pinned != found:
            raise Refused(
                f"chart of {version.addon} {version.version} has digest {found}, pinned is {pinned}",
                where=origin,
                todo="do not use it; ask who changed it",
            )
        key = _key(version)
        first = self._store.named(key)
        if not pinned and first is not None and first.get("source") != found:
            raise Refused(
                f"chart of {version.addon} {version.version} has digest {found}, but {first.get('source')} was first seen under "
                f"this name (in {first.get('origin')})",
                where=origin,
                todo=f"a published version does not change; to forget the first: rm {self._store.path(key)}",
            )
        kept = self._kept(version)
        if kept is not None and kept.source_digest == found:
            return kept
        return self._keep(version, _packed(version, unpack(data, origin)), found, origin)

    def _from_module(self, version: AddonVersion, source: ModuleSource) -> Chart:
        path = self._fetch_module(source.module, source.version, source.sum)
        origin = f"{source.module}@{source.version}"
        found = module_sum(path, origin)
        if found != source.sum:
            raise Refused(f"module {origin} has checksum {found}, pinned is {source.sum}", where=str(path), todo="do not use it")
        files = module_files(path, origin, source.path)
        if not files:
            raise NotFound(f"module {origin} has no chart in {source.path}", where=str(path))
        return self._keep(version, _packed(version, files), found, origin)

    def _from_file(self, version: AddonVersion, source: FileSource) -> Chart:
        try:
            data = source.path.read_bytes()
        except OSError as error:
            raise NotFound(f"chart of {version.addon} cannot be read: {error.strerror}", where=str(source.path)) from error
        return self._from_archive(version, data, str(source.path))


def _packed(version: AddonVersion, files: Mapping[str, bytes]) -> bytes:
    return pack(files, name=_chart_name(version.source), version=version.chart_version, app_version=version.app_version)


def mirror_name(source: OciSource) -> str:
    """The file that a mirror directory has for a chart: what ``helm pull`` and ``helm package`` call it."""
    return f"{_chart_name(source)}-{source.tag}.tgz"


def _chart_name(source: object) -> str:
    if isinstance(source, ModuleSource):
        return source.path.rstrip("/").rpartition("/")[2]
    if isinstance(source, OciSource):
        return source.repository.rpartition("/")[2]
    if isinstance(source, FileSource):
        return source.path.stem
    if isinstance(source, PackageSource):
        return source.directory.parent.name
    raise TypeError(f"{source!r} is no chart source")


def _key(version: AddonVersion) -> str:
    """Names a chart by all that its bytes depend on, so that a changed pin is another chart."""
    return f"{_FORMAT} {version.addon} {version.chart_version} {version.app_version} {version.source}"

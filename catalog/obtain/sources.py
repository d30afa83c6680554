"""Charts from where the catalogue says they are, each verified before it is used, kept in the cache afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from base.errors import ChandleryError, NotFound, Refused
from catalog.model import AddonVersion, FileSource, ModuleSource, OciSource, RepositorySource
from catalog.obtain.archive import listing_sum, module_files, module_listing, sha256, unpack
from catalog.obtain.artifact import Original, chart_name, package_chart, stamped
from catalog.obtain.bundled import Bundle
from catalog.obtain.registry import Registry
from catalog.obtain.repository import pull_chart, repository_has
from catalog.obtain.store import Store
from catalog.resolve.choice import Obtainable

__all__ = ["Chart", "Charts", "FetchModule", "mirror_name"]

#: Part of every key; goes up when the same source would be packed into other bytes.
_FORMAT = "1"


#: Gets the Go module of a source and says where it lies, as its zip or unpacked. The command line hands one in: this room knows
#: no Go. What comes back is checked here again.
FetchModule = Callable[[ModuleSource], Path]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart ready to be rendered: a .tgz with the catalogue's versions in it, the digest of its source, and where that was."""

    archive: bytes
    source_digest: str
    origin: str


class Charts:
    """Charts by catalogue version. ``mirror`` is a directory of packaged charts that comes before any registry.

    With a ``bundle`` nothing else is looked at: no mirror, no cache, no registry, no Go module.
    """

    def __init__(
        self,
        store: Store,
        *,
        fetch_module: FetchModule,
        mirror: Path | None = None,
        registry: Registry | None = None,
        bundle: Bundle | None = None,
    ) -> None:
        self._store = store
        self._fetch_module = fetch_module
        self._mirror = mirror
        self._registry = registry or Registry()
        self._bundle = bundle

    def get(self, version: AddonVersion) -> Chart:
        """The chart of a version.

        Refused when bytes differ from the pinned digest, or, for a chart that is still unpinned, from what was first seen under
        its name; NotFound and Unavailable when it cannot be had.
        """
        source = version.source
        if self._bundle is not None:
            bundled = self._bundle.original(version)
            return Chart(stamped(version, bundled.files), bundled.digest, bundled.origin)
        mirrored = self._mirrored(source) if isinstance(source, OciSource) else None
        if mirrored is not None:
            return self._from_archive(version, mirrored.read_bytes(), str(mirrored))
        if isinstance(source, FileSource):
            return self._from_archive(version, _file(version, source), str(source.path))
        kept = self._kept(version)
        if kept is not None:
            return kept
        if isinstance(source, ModuleSource):
            found = self._module(source)
            return self._keep(version, stamped(version, found.files), found.digest, found.origin)
        if isinstance(source, OciSource):
            pulled = self._registry.pull(
                source.repository, source.tag, digest=source.digest, archive_digest=source.archive_digest
            )
            return self._from_archive(version, pulled.archive, f"{source.repository}:{source.tag}")
        if isinstance(source, RepositorySource):
            return self._from_archive(version, pull_chart(source), f"{source.chart} {source.version} of {source.url}")
        raise TypeError(f"{version.addon} is a package of ours and has no chart")

    def original(self, version: AddonVersion) -> Original | None:
        """The chart as its source has it, for a bundle; None for one that is to be copied out of its registry as it is there.

        Errors as for :meth:`get`. The cache is left out: it keeps what is rendered, not what was published.
        """
        source = version.source
        if isinstance(source, OciSource):
            mirrored = self._mirrored(source)
            return self._published(version, mirrored.read_bytes(), str(mirrored)) if mirrored else None
        if isinstance(source, FileSource):
            return self._published(version, _file(version, source), str(source.path))
        if isinstance(source, RepositorySource):
            return self._published(version, pull_chart(source), f"{source.chart} {source.version} of {source.url}")
        return self._module(source) if isinstance(source, ModuleSource) else package_chart(version)

    def check_package(self, version: AddonVersion) -> None:
        """A package of ours needs no fetching, but with a bundle it has to be the one in it. NotFound, Refused."""
        if self._bundle is not None:
            self._bundle.original(version)

    def obtainable(self, version: AddonVersion) -> Obtainable:
        """Whether the chart can be had now, without fetching it. Answers within seconds, and never raises for "no"."""
        source = version.source
        if self._bundle is not None:
            try:
                return Obtainable(True, f"from the bundle {self._bundle.entry(version).where}")
            except ChandleryError as error:
                return Obtainable(False, error.message)
        if not isinstance(source, OciSource | RepositorySource):
            return Obtainable(True, "pinned by a module's checksum" if isinstance(source, ModuleSource) else "in this repository")
        mirrored = self._mirrored(source) if isinstance(source, OciSource) else None
        if mirrored is not None:
            return Obtainable(True, f"from {mirrored}")
        if self._kept(version) is not None:
            return Obtainable(True, "kept in the cache")
        place = source.repository if isinstance(source, OciSource) else source.url
        try:
            if isinstance(source, OciSource):
                self._registry.probe(source.repository, source.tag)
            else:
                repository_has(source)
        except ChandleryError as error:
            looked = f"not in {self._mirror}, " if self._mirror else ""
            return Obtainable(False, f"{looked}{place}: {error.message}")
        return Obtainable(True, f"from {place}")

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
        found = self._published(version, data, origin)
        kept = self._kept(version)
        if kept is not None and kept.source_digest == found.digest:
            return kept
        return self._keep(version, stamped(version, found.files), found.digest, origin)

    def _published(self, version: AddonVersion, data: bytes, origin: str) -> Original:
        """A .tgz, held against its pin, or against what was first seen under its name."""
        pinned = _pin(version.source)
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
        return Original(unpack(data, origin), found, origin, data)

    def _module(self, source: ModuleSource) -> Original:
        path = self._fetch_module(source)
        origin = f"{source.module}@{source.version}"
        listing = module_listing(path, origin)
        found = listing_sum(listing)
        if found != source.sum:
            raise Refused(f"module {origin} has checksum {found}, pinned is {source.sum}", where=str(path), todo="do not use it")
        files = module_files(path, origin, source.path)
        if not files:
            raise NotFound(f"module {origin} has no chart in {source.path}", where=str(path))
        return Original(files, found, origin, listing=listing)


def _file(version: AddonVersion, source: FileSource) -> bytes:
    try:
        return source.path.read_bytes()
    except OSError as error:
        raise NotFound(f"chart of {version.addon} cannot be read: {error.strerror}", where=str(source.path)) from error


def _pin(source: object) -> str:
    if isinstance(source, OciSource):
        return source.archive_digest
    return source.digest if isinstance(source, FileSource | RepositorySource) else ""


def mirror_name(source: OciSource) -> str:
    """The file that a mirror directory has for a chart: what ``helm pull`` and ``helm package`` call it."""
    return f"{chart_name(source)}-{source.tag}.tgz"


def _key(version: AddonVersion) -> str:
    """Names a chart by all that its bytes depend on, so that a changed pin is another chart."""
    return f"{_FORMAT} {version.addon} {version.chart_version} {version.app_version} {version.source}"

"""Where charts and images come from, with their pins."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Image:
    """A container image that an add-on runs: ``registry/name:tag``, and its manifest digest or an empty string (unpinned).

    ``operand`` is True for one that no template of the chart names: an operator starts it.
    """

    reference: str
    digest: str = ""
    operand: bool = False

    @property
    def registry(self) -> str:
        """Host and port: ``ghcr.io``."""
        return self.reference.partition("/")[0]

    @property
    def repository(self) -> str:
        """The name without registry and tag: ``kai-scheduler/kai-scheduler/binder``."""
        return self.reference.partition("/")[2].rpartition(":")[0]

    @property
    def tag(self) -> str:
        return self.reference.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A chart inside the zip of a Go module. ``sum`` is the module's ``h1:`` checksum, as in go.sum and the checksum database.

    ``database`` is False where the checksum database has no record: then ``sum`` is all there is to go by.
    """

    module: str
    version: str
    sum: str
    path: str
    database: bool = True


@dataclass(frozen=True, slots=True)
class OciSource:
    """A chart in an OCI registry. ``repository`` has no scheme and no tag.

    ``digest`` is that of the manifest, ``archive_digest`` that of the chart's .tgz (what a mirror directory holds); empty where
    nobody could read it yet.
    """

    repository: str
    tag: str
    digest: str = ""
    archive_digest: str = ""


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """A chart in a classic Helm repository: ``url`` of the directory that holds ``index.yaml``. ``digest`` is the .tgz's."""

    url: str
    chart: str
    version: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class FileSource:
    """A packaged chart (.tgz) on this machine."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class PackageSource:
    """Manifests of our own: jinja2 templates and CRDs in the add-on's own directory, pinned by being in this repository."""

    directory: Path


ChartSource = ModuleSource | OciSource | RepositorySource | FileSource | PackageSource


def describe(source: ChartSource) -> str:
    """Where a chart comes from, with every pin, in words that are the same on every machine."""
    if isinstance(source, ModuleSource):
        return f"Go module {source.module}@{source.version}, {source.path} ({source.sum})"
    if isinstance(source, OciSource):
        return f"oci://{source.repository}:{source.tag} ({source.archive_digest or 'unpinned'})"
    if isinstance(source, RepositorySource):
        return f"{source.chart} {source.version} of {source.url} ({source.digest or 'unpinned'})"
    if isinstance(source, FileSource):
        return f"file {source.path.name} ({source.digest})"
    return "package of this repository"

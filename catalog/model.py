"""The catalogue's data model: add-ons, their versions, channels. Frozen; made by :mod:`catalog.load` and by tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from catalog.plan import Pin, Program, Webhook

TargetName = Literal["embedded", "kind", "cluster"]


@dataclass(frozen=True, slots=True)
class Image:
    """A container image that an add-on runs: ``registry/name:tag``, and its manifest digest or an empty string (unpinned)."""

    reference: str
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ModuleSource:
    """A chart inside the zip of a Go module. ``sum`` is the module's ``h1:`` checksum, as in go.sum and the checksum database."""

    module: str
    version: str
    sum: str
    path: str


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
class FileSource:
    """A packaged chart (.tgz) on this machine."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class PackageSource:
    """Manifests of our own: jinja2 templates and CRDs in the add-on's own directory, pinned by being in this repository."""

    directory: Path


ChartSource = ModuleSource | OciSource | FileSource | PackageSource


def describe(source: ChartSource) -> str:
    """Where a chart comes from, with every pin, in words that are the same on every machine."""
    if isinstance(source, ModuleSource):
        return f"Go module {source.module}@{source.version}, {source.path} ({source.sum})"
    if isinstance(source, OciSource):
        return f"oci://{source.repository}:{source.tag} ({source.archive_digest or 'unpinned'})"
    if isinstance(source, FileSource):
        return f"file {source.path.name} ({source.digest})"
    return "package of this repository"


@dataclass(frozen=True, slots=True)
class KubernetesRange:
    """Kubernetes minors, both ends included; an empty ``maximum`` is open. ``source`` says who declared it and where."""

    minimum: str
    maximum: str
    source: str

    def admits(self, minor: str) -> bool:
        wanted = minor_number(minor)
        above = not self.maximum or wanted <= minor_number(self.maximum)
        return minor_number(self.minimum) <= wanted and above

    def __str__(self) -> str:
        return f"{self.minimum} to {self.maximum}" if self.maximum else f"{self.minimum} and newer"


def minor_number(version: str) -> int:
    """36 for ``1.36``, ``v1.36`` and ``1.36.3``. ValueError for anything else."""
    major, dot, rest = version.removeprefix("v").partition(".")
    if major != "1" or not dot:
        raise ValueError(f"{version!r} is no Kubernetes version")
    return int(rest.split(".")[0])


@dataclass(frozen=True, slots=True)
class Compatibility:
    """``declared`` by the upstream project; ``tested`` by us, as minors with evidence. The two are never mixed."""

    declared: KubernetesRange
    tested: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Guard:
    """A chart value that the package forces: its dotted ``path``, why, and what it costs."""

    path: str
    why: str
    cost: str = ""


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """A defect of a version. ``guard`` is the path of the value that keeps it away (empty: nothing does), ``check`` shows it."""

    id: str
    title: str
    reference: str
    guard: str = ""
    cost: str = ""
    check: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """Another add-on that must be there. ``same_version`` holds for charts that upstream releases in lock-step."""

    addon: str
    reason: str
    same_version: bool = False


@dataclass(frozen=True, slots=True)
class DroppedHook:
    """A Helm hook that is known and left out, and why nothing is lost. An empty ``name`` means all hooks of that kind."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """How an add-on stands on the embedded target. Without programs its workloads are ``simulated``.

    A workload that ends in ``{pool}`` stands for one in each node pool of the cluster.
    """

    programs: tuple[Program, ...] = ()
    simulated: tuple[str, ...] = ()
    webhooks: tuple[Webhook, ...] = ()


@dataclass(frozen=True, slots=True)
class Addon:
    """What holds for every version of an add-on.

    ``role`` is one word for what it does for a cluster; two add-ons of role ``scheduler`` never stand on one cluster.
    ``crds`` are the full names of the CRDs that it owns. ``paths`` are the places in its chart's values for what a cluster
    dictates (tolerations, selectors, registries). ``values_template`` is the text of ``values.yaml.j2``.
    """

    name: str
    title: str
    role: str
    namespace: str
    targets: tuple[TargetName, ...]
    requires: tuple[Requirement, ...] = ()
    excludes: Mapping[str, str] = field(default_factory=dict)
    crds: tuple[str, ...] = ()
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hooks: tuple[DroppedHook, ...] = ()
    embedded: Embedded = Embedded()
    checks: tuple[str, ...] = ()
    reference: bool = False
    values_template: str = ""


@dataclass(frozen=True, slots=True)
class AddonVersion:
    """One version: where its chart comes from, which images it runs, where it may run, what is known to be wrong with it.

    ``chart_version`` and ``app_version`` are written into the chart before it is rendered: charts taken from a source tree
    carry placeholders.
    """

    addon: str
    version: str
    released: str
    source: ChartSource
    chart_version: str
    app_version: str
    images: tuple[Image, ...]
    compatibility: Compatibility
    guards: tuple[Guard, ...] = ()
    issues: tuple[KnownIssue, ...] = ()
    support: str = ""

    @property
    def chart_pin(self) -> Pin:
        """Whether the chart's bytes are known before they are fetched."""
        if isinstance(self.source, OciSource):
            return "pinned" if self.source.digest and self.source.archive_digest else "unpinned"
        return "pinned"

    @property
    def image_pin(self) -> Pin:
        """Whether every image is known by digest. An add-on without images has nothing left to pin."""
        return "pinned" if all(image.digest for image in self.images) else "unpinned"


@dataclass(frozen=True, slots=True)
class Channel:
    """One version per add-on. ``allows_unpinned`` is for channels that go ahead of what could be read from a registry."""

    name: str
    versions: Mapping[str, str]
    allows_unpinned: bool


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything that can be installed. ``versions`` is by add-on, in the order of release."""

    addons: Mapping[str, Addon]
    versions: Mapping[str, tuple[AddonVersion, ...]]
    channels: Mapping[str, Channel]

    def version(self, addon: str, version: str) -> AddonVersion | None:
        """A version by its exact name; None when the catalogue does not have it."""
        for candidate in self.versions.get(addon, ()):
            if candidate.version == version:
                return candidate
        return None

    def schedulers(self) -> tuple[str, ...]:
        """Names of the add-ons that schedule GPU work."""
        return tuple(sorted(name for name, addon in self.addons.items() if addon.role == "scheduler"))

"""Add-ons, their versions, channels. Made by :mod:`catalog.read.load` and by tests."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from base.errors import NotFound
from base.names import did_you_mean
from catalog.model.compatibility import Compatibility
from catalog.model.edges import Edge
from catalog.model.sources import ChartSource, Image, OciSource, RepositorySource
from catalog.model.versions import ANY, Scheme, VersionRange
from catalog.plan import Pin, Program, Webhook

TargetName = Literal["embedded", "kind", "cluster"]


@dataclass(frozen=True, slots=True)
class Guard:
    """A chart value that the package forces: its dotted ``path``, why, and what it costs."""

    path: str
    why: str
    cost: str = ""


@dataclass(frozen=True, slots=True)
class KnownIssue:
    """A defect of a version. ``guard`` is the path of the value that keeps it away (empty: nothing does), ``check`` shows it.

    ``fixed_in`` is the version that has it no more; empty means that nobody knows one.
    """

    id: str
    title: str
    reference: str
    guard: str = ""
    cost: str = ""
    check: str = ""
    fixed_in: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """Another add-on that must be there. ``same_version`` holds for charts that upstream releases in lock-step, ``range``
    says which versions will do."""

    addon: str
    reason: str
    same_version: bool = False
    range: VersionRange = ANY


@dataclass(frozen=True, slots=True)
class DroppedHook:
    """A Helm hook that is known and left out, and why nothing is lost. An empty ``name`` means all hooks of that kind.

    ``done_by`` says what of the package does the hook's work instead: ``crds``, ``guard:PATH``, ``delete``, ``check:ID``, or
    ``object`` (the hook itself is applied as an ordinary object) and ``manifest`` (so is what a ConfigMap holds for a Job);
    ``nobody`` where an installation needs none of that work, and ``reason`` says so. Empty is for what does no work itself.
    """

    kind: str
    name: str
    reason: str
    done_by: str = ""


@dataclass(frozen=True, slots=True)
class Generated:
    """An object in which the chart makes up something at each rendering (a password, a certificate). It is made once and kept."""

    kind: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class NoOp:
    """A chart value that people set and that changes nothing. ``path`` is dotted, ``instead`` says what does the work."""

    path: str
    versions: VersionRange
    instead: str
    source: str


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
    ``scheme`` is how its versions are numbered. ``strays`` are tags that exist upstream and are no release, with the reason.
    ``excludes`` maps add-ons that must not stand beside it to the reason. ``upstream`` is the project's own address.
    """

    name: str
    title: str
    role: str
    namespace: str
    targets: tuple[TargetName, ...]
    scheme: Scheme = "semver"
    upstream: str = ""
    excludes: Mapping[str, str] = field(default_factory=dict)
    strays: Mapping[str, str] = field(default_factory=dict)
    reference: bool = False


@dataclass(frozen=True, slots=True)
class AddonVersion:
    """One version: where its chart comes from, what it runs, where it may run, what is known to be wrong with it.

    ``chart_version`` and ``app_version`` are written into the chart before it is rendered: charts taken from a source tree
    carry placeholders. Everything about the chart's shape (``crds`` to ``values_template``) is written once in ``addon.yaml``
    and again only in the versions where it differs; here it is always what holds for this version.

    ``crds`` are the full names of the CRDs that it owns. ``paths`` are the dotted places in the chart's values for what a
    cluster dictates (tolerations, nodeSelector, affinity, imagePullSecrets, priorityClassName, registry).
    ``config_schema`` is the JSON Schema of the typed configuration, ``values_template`` the text of ``values.yaml.j2``.
    ``withdrawn`` is the reason why the version may not be installed any more; empty means that it may.
    ``unverified`` says what of the entry nobody could try (``hardware``: it needs a GPU). ``noops`` are the values of its chart
    that are known to do nothing.
    """

    addon: str
    version: str
    released: str
    source: ChartSource
    chart_version: str
    app_version: str
    images: tuple[Image, ...]
    compatibility: Compatibility
    crds: tuple[str, ...] = ()
    paths: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hooks: tuple[DroppedHook, ...] = ()
    requires: tuple[Requirement, ...] = ()
    embedded: Embedded = Embedded()
    checks: tuple[str, ...] = ()
    values_template: str = ""
    config_schema: Mapping[str, Any] = field(default_factory=dict)
    guards: tuple[Guard, ...] = ()
    issues: tuple[KnownIssue, ...] = ()
    support: str = ""
    withdrawn: str = ""
    unverified: tuple[str, ...] = ()
    generated: tuple[Generated, ...] = ()
    noops: tuple[NoOp, ...] = ()

    @property
    def chart_pin(self) -> Pin:
        """Whether the chart's bytes are known before they are fetched."""
        if isinstance(self.source, OciSource):
            return "pinned" if self.source.digest and self.source.archive_digest else "unpinned"
        if isinstance(self.source, RepositorySource):
            return "pinned" if self.source.digest else "unpinned"
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


class Versions(Mapping[str, tuple[AddonVersion, ...]]):
    """The versions by add-on, in their order, that can tell their names, and find one, without reading the others."""

    @abstractmethod
    def names(self, addon: str) -> tuple[str, ...]:
        """The versions of an add-on in their order; none for an add-on that is not there."""

    @abstractmethod
    def find(self, addon: str, version: str) -> AddonVersion | None:
        """A version by its exact name; None when there is none."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Everything that can be installed. ``versions`` is by add-on, in its scheme's order; ``edges`` are by add-on too.

    A catalogue that comes from files reads a version when it is first asked for, and raises SpecError for a file with a fault
    then (:func:`catalog.read.load.load` with ``eager`` reads and checks all).
    """

    addons: Mapping[str, Addon]
    versions: Mapping[str, tuple[AddonVersion, ...]]
    channels: Mapping[str, Channel]
    edges: Mapping[str, tuple[Edge, ...]] = field(default_factory=dict)

    def addon(self, name: str) -> Addon:
        """An add-on by its name; NotFound names what is near."""
        if name not in self.addons:
            raise NotFound(f"unknown add-on {name!r}", todo=did_you_mean(name, self.addons))
        return self.addons[name]

    def version(self, addon: str, version: str) -> AddonVersion | None:
        """A version by its exact name; None when the catalogue does not have it."""
        if isinstance(self.versions, Versions):
            return self.versions.find(addon, version)
        return next((found for found in self.versions.get(addon, ()) if found.version == version), None)

    def names(self, addon: str) -> tuple[str, ...]:
        """The versions of an add-on in their order, by name; none for an add-on that the catalogue does not have."""
        if isinstance(self.versions, Versions):
            return self.versions.names(addon)
        return tuple(found.version for found in self.versions.get(addon, ()))

    def schedulers(self) -> tuple[str, ...]:
        """Names of the add-ons that schedule GPU work."""
        return tuple(sorted(name for name, addon in self.addons.items() if addon.role == "scheduler"))

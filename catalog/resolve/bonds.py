"""What one version asks of the add-ons beside it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from catalog.model import ANY, Addon, AddonVersion, Catalogue, VersionRange

__all__ = ["Bond", "bonds"]


@dataclass(frozen=True, slots=True)
class Bond:
    """``requires``: the other is there, within ``range``. ``peer``: where it is there, within ``range``. ``excludes`` and
    ``scheduler``: it is not there. ``same`` is the version that a lock-step requirement fixes, else empty."""

    kind: Literal["requires", "peer", "excludes", "scheduler"]
    other: str
    reason: str
    source: str = ""
    range: VersionRange = ANY
    same: str = ""

    def admits(self, version: str | None) -> bool:
        """Whether the other add-on may have this version; None stands for one that is not there."""
        if version is None:
            return self.kind != "requires"
        if self.kind in ("excludes", "scheduler"):
            return False
        if self.same and version.removeprefix("v") != self.same.removeprefix("v"):
            return False
        try:
            return self.range.admits(version)
        except ValueError:  # numbered by another scheme: nobody can say that it fits
            return False

    @property
    def wanted(self) -> str:
        """What of the other's versions will do; empty for any."""
        return self.same or self.range.text


def bonds(addon: Addon, version: AddonVersion, catalogue: Catalogue) -> tuple[Bond, ...]:
    """All of them; what an add-on requires comes first."""
    return (*_requires(version), *_peers(version), *_not_beside(addon, catalogue))


def _requires(version: AddonVersion) -> Iterator[Bond]:
    for one in version.requires:
        yield Bond("requires", one.addon, one.reason, range=one.range, same=version.version if one.same_version else "")


def _peers(version: AddonVersion) -> Iterator[Bond]:
    for one in version.compatibility.peers:
        yield Bond("peer", one.addon, one.reason, one.source, one.range)


def _not_beside(addon: Addon, catalogue: Catalogue) -> Iterator[Bond]:
    for other, reason in addon.excludes.items():
        yield Bond("excludes", other, reason)
    if addon.role == "scheduler":
        for other in catalogue.schedulers():
            if other != addon.name and other not in addon.excludes:
                yield Bond("scheduler", other, "two schedulers never stand on one cluster")

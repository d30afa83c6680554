"""What a version may not be used for although it is in the catalogue. Pure; every reason is told, not only the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from base.errors import Refused
from catalog.model import Addon, AddonVersion, Channel, minor_number

__all__ = ["check_gates"]


def check_gates(chosen: Sequence[tuple[Addon, AddonVersion]], *, target: str, kubernetes: str, channel: Channel) -> None:
    """Refused with all reasons when a target, a Kubernetes minor or a channel's rule stands against one of the versions."""
    reasons = [
        f"{addon.name} {version.version}: {reason}"
        for addon, version in chosen
        for reason in _reasons(addon, version, target, kubernetes, channel)
    ]
    if reasons:
        listed = "\n".join(f"  - {reason}" for reason in reasons)
        raise Refused(f"this plan may not go onto a {target} target with Kubernetes {kubernetes}:\n{listed}")


def _reasons(addon: Addon, version: AddonVersion, target: str, kubernetes: str, channel: Channel) -> Iterator[str]:
    if target not in addon.targets:
        yield f"may be installed on {' or '.join(addon.targets)} only"
    declared = version.compatibility.declared
    if not declared.admits(kubernetes):
        side = "newer" if minor_number(kubernetes) > minor_number(declared.minimum) else "older"
        yield f"declared for Kubernetes {declared} ({declared.source}), this cluster's is {side}"
    if not channel.allows_unpinned:
        unpinned = [image.reference for image in version.images if not image.digest]
        if version.chart_pin == "unpinned":
            yield f"its chart is unpinned, and channel {channel.name} takes only versions known by digest"
        if unpinned:
            more = f" and {len(unpinned) - 1} more" if len(unpinned) > 1 else ""
            yield f"image {unpinned[0]}{more} unpinned, and channel {channel.name} takes only versions known by digest"

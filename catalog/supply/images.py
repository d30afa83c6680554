"""Which images add-ons run, and who needs them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from catalog.model import AddonVersion, Catalogue
from catalog.plan import Pin, Plan

__all__ = ["ImageUse", "images_of", "versions_of"]


@dataclass(frozen=True, slots=True)
class ImageUse:
    """One image. ``digest`` is empty while nobody could read it; ``operand`` is True where no chart names it, an operator
    starts it. ``used_by`` are the add-on versions that run it, as ``addon version``."""

    reference: str
    digest: str
    operand: bool
    used_by: tuple[str, ...]

    @property
    def pin(self) -> Pin:
        return "pinned" if self.digest else "unpinned"

    @property
    def mirrored(self) -> str:
        """As mirroring tools take it: ``registry/name:tag``, with ``@sha256:...`` where it is pinned."""
        return f"{self.reference}@{self.digest}" if self.digest else self.reference


def images_of(versions: Iterable[AddonVersion]) -> tuple[ImageUse, ...]:
    """Every image of the versions once, by reference. A reference with two digests stands there twice: a tag was moved."""
    users: dict[tuple[str, str], list[str]] = {}
    operand: dict[tuple[str, str], bool] = {}
    for version in versions:
        for image in version.images:
            key = (image.reference, image.digest)
            users.setdefault(key, []).append(f"{version.addon} {version.version}")
            operand[key] = operand.get(key, True) and image.operand
    return tuple(ImageUse(*key, operand[key], tuple(dict.fromkeys(users[key]))) for key in sorted(users))


def versions_of(catalogue: Catalogue, plan: Plan | None = None, addon: str = "") -> tuple[AddonVersion, ...]:
    """The versions that are meant: those of a plan, or all; of one add-on, or of each."""
    if plan is None:
        return tuple(v for name, found in sorted(catalogue.versions.items()) if addon in ("", name) for v in found)
    named = [catalogue.version(item.addon, item.version) for item in plan.items if addon in ("", item.addon)]
    return tuple(version for version in named if version is not None)

"""Add-ons of one plan against each other: an object that two of them make belongs to neither. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from base.errors import Refused
from catalog.package.objects import identity, label

__all__ = ["check_together", "collisions"]

Objects = Sequence[Mapping[str, Any]]


def collisions(objects: Mapping[str, Objects]) -> tuple[str, ...]:
    """One sentence for each object that more than one add-on makes; ``objects`` are by add-on, with CRDs.

    Cluster-scoped names (roles, CRDs, priority classes, webhooks) are where it happens; a name within a namespace that two
    add-ons share is no better. A Namespace itself may be made by several: they want the same.
    """
    makers: dict[tuple[str, str, str, str], list[str]] = {}
    labels = {}
    for addon, mine in objects.items():
        for obj in mine:
            if obj["kind"] == "Namespace" and obj["apiVersion"] == "v1":
                continue
            key = identity(obj)
            makers.setdefault(key, []).append(addon)
            labels[key] = label(obj)
    return tuple(
        f"{labels[key]} is made by {' and '.join(sorted(addons))}"
        for key, addons in sorted(makers.items())
        if len(set(addons)) > 1
    )


def check_together(objects: Mapping[str, Objects]) -> None:
    """Refused with every object that more than one add-on of a plan makes."""
    found = collisions(objects)
    if found:
        listed = "\n".join(f"  - {sentence}" for sentence in found)
        raise Refused(
            f"add-ons of this plan would take objects from each other:\n{listed}",
            todo="keep one of the add-ons, or rename the object in its values",
        )

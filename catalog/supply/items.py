"""A plan item for a version that no plan names, so that two versions can be rendered and compared. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from base.errors import NotFound
from catalog.model import Addon, AddonVersion, Catalogue
from catalog.package.values import chart_values
from catalog.plan import PlanItem

__all__ = ["find_version", "item_of"]


def find_version(catalogue: Catalogue, addon: str, version: str) -> tuple[Addon, AddonVersion]:
    """An add-on and one of its versions; NotFound names what is near."""
    known = catalogue.addon(addon)
    found = catalogue.version(addon, version.removeprefix("v"))
    if found is None:
        raise NotFound(
            f"version {version} of {addon} is not in the catalogue", todo=f"there are {', '.join(catalogue.names(addon))}"
        )
    return known, found


def item_of(
    addon: Addon,
    version: AddonVersion,
    *,
    target: str = "",
    given: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
) -> PlanItem:
    """The item that a plan would hold for this version with the package's values, and a spec's ``config`` and ``given`` values.

    Without a ``target`` it is that of a customer's cluster, where the add-on may go to one.
    """
    chosen = target or ("cluster" if "cluster" in addon.targets else addon.targets[0])
    values = chart_values(addon, version, target=chosen, given=given or {}, config=config)
    return PlanItem(
        addon=addon.name,
        version=version.version,
        namespace=addon.namespace,
        state="reference" if addon.reference else "real",
        values=values.values,
        reason="compared",
        guards=values.guards,
        requires=tuple(requirement.addon for requirement in version.requires),
        title=addon.title,
        chart_pin=version.chart_pin,
        image_pin=version.image_pin,
        role=addon.role,
        crds=version.crds,
    )

"""Which version of an add-on a verb is about, and with which values: those of a spec's plan where there is one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from base.errors import InvalidInput, Refused

if TYPE_CHECKING:
    from catalog.model import Catalogue
    from catalog.plan import PlanItem
    from cli.session import Session


def item_for(catalogue: Catalogue, session: Session | None, addon: str, version: str) -> PlanItem:
    """The item of one version as the session's cluster would have it, or as any customer's cluster would without one.

    A version that may not go onto that cluster is taken with the values that the spec writes, and the user is told why.
    NotFound for an add-on or a version that the catalogue does not have.
    """
    from catalog.supply.items import find_version, item_of
    from spec.model import AddonRequest

    known, found = find_version(catalogue, addon, version)
    if session is None:
        return item_of(known, found)
    planned = next((item for item in session.plan.items if item.addon == addon), None)
    if planned is not None and planned.version == found.version:
        return planned
    try:
        return _planned(session, addon, found.version)
    except (InvalidInput, Refused) as error:
        session.app.reporter.event(
            "not-plannable", f"{addon} {found.version} may not go onto {session.spec.name}: {error.message}"
        )
    asked = next((request for request in session.spec.addons if request.name == addon), AddonRequest(addon))
    return item_of(known, found, target=session.facts.target, given=asked.values, config=asked.config)


def _planned(session: Session, addon: str, version: str) -> PlanItem:
    """The item of a plan in which the add-on has that version and all else is as the spec says."""
    from catalog.resolve.resolver import resolve
    from spec.model import AddonRequest

    spec = session.spec
    asked = next((request for request in spec.addons if request.name == addon), AddonRequest(addon))
    others = tuple(request for request in spec.addons if request.name != addon)
    changed = replace(spec, addons=(*others, replace(asked, version=version)))
    return resolve(changed, session.catalogue, session.facts, session.choice).item(addon)

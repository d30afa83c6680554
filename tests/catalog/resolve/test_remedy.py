"""Advice is only good when it works: what is said to hold does, and what is said never to go together does not."""

from __future__ import annotations

import itertools

from hypothesis import given, settings

from base.errors import Refused, SpecError
from catalog.model import Catalogue
from catalog.resolve.choice import Choice
from catalog.resolve.needs import judge
from catalog.resolve.remedy import remedy, with_versions
from catalog.resolve.resolver import place_of, resolve
from catalog.resolve.selection import select
from spec.model import AddonRequest, StatedFact
from tests.catalog.resolve.test_promise import NAMES, worlds
from tests.catalog.synthetic import facts, spec


def named_alone(catalogue: Catalogue, roots: tuple[str, ...]) -> bool:
    """Whether any versions at all, all of them named, stand on the cluster with ``roots``. Brute force."""
    for combination in itertools.product(*[(None, *catalogue.versions[name]) for name in NAMES]):
        versions = {one.addon: one.version for one in combination if one}
        if not set(roots) - {"kai"} <= set(versions):
            continue
        requests = tuple(AddonRequest(name, version) for name, version in versions.items())
        try:
            resolve(spec(*requests, facts=(StatedFact("driver", ("580",)),)), catalogue, facts("cluster"), Choice("kai", "x"))
        except (SpecError, Refused):
            continue
        return True
    return False


@settings(max_examples=50, deadline=None)
@given(worlds())
def test_advice_works(world: tuple[Catalogue, tuple[AddonRequest, ...]]) -> None:
    catalogue, requests = world
    asked = spec(*requests, facts=(StatedFact("driver", ("580",)),))
    place = place_of(asked, catalogue, facts("cluster"))
    selection = select(asked, catalogue, place.channel, "kai")
    against = [f for one in selection.chosen.values() for f in judge(one.addon, one.version, place, one.config).against]
    findings = [*selection.findings, *against]
    if not findings:
        return
    advice = remedy(asked, catalogue, place, selection, findings)
    if advice.versions:
        resolve(with_versions(asked, advice.versions), catalogue, facts("cluster"), Choice("kai", "x"))
    else:
        assert advice.never
        assert not named_alone(catalogue, advice.never)
        for left_out in advice.never:
            assert named_alone(catalogue, tuple(name for name in advice.never if name != left_out))

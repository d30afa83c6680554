"""Rules about known issues, compatibility, and ids of checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from catalog.lint.world import Check, Found, Place, World, at
from catalog.model import FACTS, ORDERED, minor_number, number_range, version_key
from catalog.package.config import properties
from spec.facts import WORDS

__all__ = ["CHECKS", "CHECK_ID"]

#: T21, SLURM-01, I01, GPU-FRAC-3.
CHECK_ID = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*\Z")


def _guard_of_issue(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        guards = {guard.path for guard in version.guards}
        for index, issue in enumerate(version.issues):
            if issue.guard and issue.guard not in guards:
                text = f"{issue.id} of {version.addon} {version.version} relies on {issue.guard}, which is no guard of it"
                yield Found(at(version, "issues", index, "guard"), text)


def _cost(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        costs = {guard.path: guard.cost for guard in version.guards}
        for index, issue in enumerate(version.issues):
            if issue.guard and not (issue.cost or costs.get(issue.guard)):
                yield Found(at(version, "issues", index), f"{issue.id} of {version.addon} {version.version}: {issue.guard}")


def _fixed(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        for index, issue in enumerate(version.issues):
            try:
                over = issue.fixed_in and version_key(issue.fixed_in, addon.scheme) <= version_key(version.version, addon.scheme)
            except ValueError:
                continue
            if over:
                text = f"{issue.id} is fixed in {issue.fixed_in}, and {version.version} lists it"
                yield Found(at(version, "issues", index, "fixedIn"), text)


def _fix_version(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        for index, issue in enumerate(version.issues):
            try:
                version_key(issue.fixed_in or version.version, addon.scheme)
            except ValueError as error:
                yield Found(at(version, "issues", index, "fixedIn"), f"{issue.id} of {version.addon}: {str(error)[:80]}")


def _check_ids(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        named: list[tuple[tuple[str | int, ...], str]] = [(("checks",), check) for check in version.checks]
        named += [(("issues", index, "check"), issue.check) for index, issue in enumerate(version.issues) if issue.check]
        for path, check in named:
            if not CHECK_ID.match(check):
                yield Found(at(version, *path), f"{check!r} is no id of a check")
    for addon, edges in world.catalogue.edges.items():
        for index, edge in enumerate(edges):
            for check in edge.checks:
                if not CHECK_ID.match(check):
                    yield Found(Place("edges", addon, path=("edges", index, "checks")), f"{check!r} is no id of a check")


def _issue_twice(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        ids = [issue.id for issue in version.issues]
        for index, issue in enumerate(version.issues):
            if issue.id in ids[:index]:
                yield Found(at(version, "issues", index, "id"), f"{issue.id} of {version.addon} {version.version} is there twice")


def _inverted(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        declared = version.compatibility.declared
        if declared.maximum and minor_number(declared.minimum) > minor_number(declared.maximum):
            yield Found(at(version, "compatibility", "kubernetes"), f"{declared.minimum} is above {declared.maximum}")


def _unsourced(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        if not version.compatibility.declared.source:
            text = f"{version.addon} {version.version}: who declares Kubernetes {version.compatibility.declared}?"
            yield Found(at(version, "compatibility", "kubernetes"), text)


def _constraint_source(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, constraint in enumerate(version.compatibility.constraints):
            if not constraint.source or not constraint.reason:
                missing = "source" if not constraint.source else "reason"
                yield Found(at(version, "compatibility", "constraints", index), f"{constraint.fact} has no {missing}")


def _when(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        fields = dict(properties(version.config_schema))
        for index, constraint in enumerate(version.compatibility.constraints):
            if constraint.when and constraint.when not in fields:
                place = at(version, "compatibility", "constraints", index, "when")
                yield Found(place, f"{constraint.when} is no option of {version.addon} {version.version}")


def _admits_nothing(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, constraint in enumerate(version.compatibility.constraints):
            wrong = ""
            if constraint.fact not in FACTS:
                wrong = f"{constraint.fact} is no fact of a cluster"
            elif constraint.fact in ORDERED:
                wrong = _range_fault(constraint.range)
            elif not constraint.words:
                wrong = f"{constraint.fact} admits no word"
            elif constraint.fact in WORDS and not set(constraint.words) <= set(WORDS[constraint.fact]):
                wrong = f"{constraint.fact} is {' or '.join(WORDS[constraint.fact])}"
            if wrong:
                yield Found(at(version, "compatibility", "constraints", index), wrong)


def _range_fault(text: str) -> str:
    if not text:
        return "has no range"
    try:
        number_range(text)
    except ValueError as error:
        return str(error)[:100]
    return ""


def _record(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, tested in enumerate(version.compatibility.tested):
            place = at(version, "compatibility", "tested", index, "record")
            if not tested.record:
                yield Found(place, f"{version.addon} {version.version} was tested on {tested.on}, and nothing shows it")
            elif world.docs is not None and not (world.docs / tested.record.removeprefix("docs/").partition("#")[0]).is_file():
                yield Found(place, f"there is no {tested.record} below docs/")


def _tested_outside(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, tested in enumerate(version.compatibility.tested):
            minor = tested.facts.get("kubernetes", "")
            try:
                outside = minor and not version.compatibility.declared.admits(minor)
            except ValueError:
                outside = True
            if outside:
                place = at(version, "compatibility", "tested", index, "facts", "kubernetes")
                yield Found(place, f"tested on Kubernetes {minor}, declared for {version.compatibility.declared}")


def _empty_ranges(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        asked = [("requires", i, one.addon, one.range) for i, one in enumerate(version.requires)]
        asked += [("peers", i, one.addon, one.range) for i, one in enumerate(version.compatibility.peers)]
        for field, index, addon, wanted in asked:
            names = world.catalogue.names(addon)
            path = (field, index, "range") if field == "requires" else ("compatibility", field, index, "range")
            try:
                met = not names or any(wanted.admits(name) for name in names)
            except ValueError:
                continue  # another scheme, which is another rule's
            if not met:
                text = f"{version.addon} {version.version} wants {addon} {wanted}, there are {', '.join(names)}"
                yield Found(at(version, *path), text)


CHECKS: Mapping[str, Check] = {
    "CAT301": _guard_of_issue,
    "CAT302": _cost,
    "CAT303": _fixed,
    "CAT304": _fix_version,
    "CAT305": _check_ids,
    "CAT306": _issue_twice,
    "CAT401": _inverted,
    "CAT402": _unsourced,
    "CAT403": _constraint_source,
    "CAT404": _when,
    "CAT405": _admits_nothing,
    "CAT406": _record,
    "CAT407": _tested_outside,
    "CAT408": _empty_ranges,
}

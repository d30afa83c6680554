"""All rules over a catalogue. Loading, rules and lines; nothing is printed here."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from base.errors import SpecError
from catalog.lint import compatibility, package, sources, together, values
from catalog.lint.places import Places
from catalog.lint.rules import RULES
from catalog.lint.world import Check, Finding, Found, World
from catalog.model import Catalogue
from catalog.read.load import ROOT, load

__all__ = ["CHECKS", "lint", "lint_directory", "ordered"]

#: Every rule that looks at the catalogue's data alone.
CHECKS: Mapping[str, Check] = {
    **sources.CHECKS,
    **values.CHECKS,
    **compatibility.CHECKS,
    **together.CHECKS,
    **package.CHECKS,
}


def lint(world: World, places: Places) -> list[Finding]:
    """What the rules say of a catalogue that can be read, in the order of files and lines."""
    found = ((rule, one) for rule, check in CHECKS.items() for one in check(world))
    return ordered(placed(found, places))


def lint_directory(
    directory: Path = ROOT, *, docs: Path | None = None, tools: Iterable[str] = (), today: datetime.date | None = None
) -> tuple[list[Finding], Catalogue | None]:
    """What is wrong with the catalogue in a directory, and the catalogue; None where its files could not be read.

    What the reader refuses is a finding (CAT001) for each problem; other rules then have nothing to look at.
    """
    places = Places(directory)
    try:
        catalogue = load(directory, eager=True)
    except SpecError as error:
        rule = RULES["CAT001"]
        return ordered(
            Finding(rule, places.relative(problem.position), f"{problem.field}: {problem.message}".lstrip(": "))
            for problem in error.problems
        ), None
    world = World(catalogue, today or datetime.date.today(), docs, tools=frozenset(tools))
    return lint(world, places), catalogue


def placed(found: Iterable[tuple[str, Found]], places: Places) -> Iterator[Finding]:
    """Findings with their lines."""
    for rule, one in found:
        addon = "" if one.place.kind == "channel" else one.place.addon
        yield Finding(RULES[rule], places.position(one.place), one.message, addon)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """By file, line and rule. What several versions have from one place of one file is told once."""
    once: dict[tuple[str, object, str], Finding] = {}
    for finding in findings:
        shared = finding.position.line > 0 and not finding.position.file.rpartition("/")[0].endswith("versions")
        key = (finding.rule.id, finding.position, "" if shared and "/channels/" not in finding.position.file else finding.message)
        once.setdefault(key, finding)
    return sorted(once.values(), key=lambda f: (f.position.file, f.position.line, f.position.column, f.rule.id, f.message))

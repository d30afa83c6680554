"""Waivers: a finding that somebody answers for, until a date. The file is read with positions; matching is pure.

OLM's check can only be switched off whole; here one finding is waived, by name, and the waiver ends.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from base.errors import NotFound, Position, SpecError, Unavailable
from base.names import did_you_mean
from base.yamltree import Table, parse
from catalog.crds.changes import Change
from catalog.crds.rules import RULES
from spec.reader import Problems, Section

__all__ = ["Outcome", "Waived", "Waiver", "apply", "read_waivers"]

_FIELDS = ("crd", "path", "rule", "from", "to", "owner", "reason", "expires")


@dataclass(frozen=True, slots=True)
class Waiver:
    """``path`` is that of a finding; one that ends in ``.**`` is everything below. It holds through the day ``expires``."""

    crd: str
    path: str
    rule: str
    origin: str
    to: str
    owner: str
    reason: str
    expires: datetime.date
    position: Position

    def covers(self, change: Change) -> bool:
        if (self.crd, self.rule) != (change.crd, change.rule):
            return False
        if self.path.endswith(".**"):
            return change.path.startswith((self.path[:-2], f"{self.path[:-3]}["))
        return self.path == change.path


@dataclass(frozen=True, slots=True)
class Waived:
    change: Change
    waiver: Waiver


@dataclass(frozen=True, slots=True)
class Outcome:
    """``open`` are the findings that count, safe ones among them; ``notes`` say which waivers have expired or fit nothing."""

    open: tuple[Change, ...]
    waived: tuple[Waived, ...]
    expired: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def level(self) -> str:
        """The worst level that nobody waived: ``blocking``, ``at-risk`` or ``safe``."""
        levels = {change.level for change in self.open}
        return next((level for level in ("blocking", "at-risk") if level in levels), "safe")


def apply(changes: Sequence[Change], waivers: Sequence[Waiver], origin: str, to: str, today: datetime.date) -> Outcome:
    """Lay the waivers for ``origin`` -> ``to`` on the findings. Safe findings need none, and a waiver for one is unused."""
    ours = [waiver for waiver in waivers if (waiver.origin, waiver.to) == (origin, to)]
    valid = [waiver for waiver in ours if waiver.expires >= today]
    left, waived, used = [], [], set()
    for change in changes:
        waiver = next((w for w in valid if change.level != "safe" and w.covers(change)), None)
        if waiver is None:
            left.append(change)
        else:
            waived.append(Waived(change, waiver))
            used.add(id(waiver))
    expired = [
        f"{w.position}: the waiver of {w.rule} at {w.path} expired on {w.expires} and does not count; {w.owner} answers for it"
        for w in ours
        if w.expires < today
    ]
    unused = [f"{w.position}: the waiver of {w.rule} at {w.path} of {w.crd} fits no finding" for w in valid if id(w) not in used]
    return Outcome(tuple(left), tuple(waived), tuple(expired), tuple(unused))


def read_waivers(path: Path, *, versions: Collection[str] = ()) -> tuple[Waiver, ...]:
    """The waivers of a file, in its order. ``versions`` are those of the add-on; others are problems when any are given.

    SpecError with every problem: a missing owner, reason or date, an unknown rule, something that is no date. NotFound where
    there is no such file.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError):
        raise NotFound("there is no file of waivers", where=str(path)) from None
    except OSError as error:
        raise Unavailable(f"the waivers cannot be read: {error.strerror}", where=str(path)) from error
    tree, found = parse(data, str(path))
    problems = Problems()
    problems.found.extend(found)
    waivers: list[Waiver] = []
    if isinstance(tree, Table):
        section = Section(tree, "", ("waivers",), problems)
        waivers = [waiver for part in section.sections("waivers", _FIELDS) if (waiver := _waiver(part, versions))]
    elif tree is not None:
        problems.add(tree.position, "", "expected a mapping", "the first line is: waivers:")
    if problems.found:
        raise SpecError(problems.found, what="file of waivers")
    return tuple(waivers)


def _waiver(section: Section, versions: Collection[str]) -> Waiver | None:
    texts = {name: section.text(name, required=True) for name in _FIELDS}
    rule = texts["rule"]
    if rule and rule not in RULES:
        section.bad("rule", f"unknown rule {rule!r}", did_you_mean(rule, RULES))
    elif rule and RULES[rule].level == "safe":
        section.bad("rule", f"{rule} is safe and needs no waiver", "take it out")
    for name in ("from", "to"):
        if versions and texts[name] and texts[name] not in versions:
            section.bad(name, f"version {texts[name]} is not in the catalogue", did_you_mean(texts[name], versions))
    for name in ("owner", "reason"):
        if texts[name] and not texts[name].strip():
            section.bad(name, "is empty")
    try:
        expires = datetime.date.fromisoformat(texts["expires"])
    except ValueError:
        if texts["expires"]:
            section.bad("expires", f"{texts['expires']!r} is no date", 'write it as "2027-01-31"')
        return None
    return Waiver(
        texts["crd"], texts["path"], rule, texts["from"], texts["to"], texts["owner"], texts["reason"], expires,
        section.table.position,
    )  # fmt: skip

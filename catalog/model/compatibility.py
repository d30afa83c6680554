"""What a version needs of the cluster below it and of the add-ons beside it, and what is known of a cluster."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from catalog.model.versions import HOLDS, VersionRange, minor_number, range_words
from spec.facts import FACTS, ORDERED, FactName

__all__ = [
    "FACTS",
    "ORDERED",
    "Compatibility",
    "Constraint",
    "FactName",
    "Fingerprint",
    "KubernetesRange",
    "Peer",
    "Tested",
    "number",
    "number_range",
]

Number = tuple[int, ...]


def number(text: str) -> Number:
    """``580.95.05`` as numbers, for facts that have an order. What follows the numbers (``-generic``) does not count.

    ValueError for what does not begin with a number.
    """
    match = re.match(r"v?([0-9]+(?:\.[0-9]+)*)", text)
    if match is None:
        raise ValueError(f"{text!r} is no number")
    return tuple(int(part) for part in match[1].split("."))


def number_range(text: str) -> Callable[[str], bool | None]:
    """Whether a fact's value is within ``text`` (``>=580 <620``), as far as the range says: 2.1.5 is within ``<=2.1``.

    None for a value that does not say enough: ``580`` may or may not be within ``>=580.82``. ValueError for a text that is
    no range, and for a value that is no number.
    """
    bounds = []
    for word in range_words(text):
        match = re.match(r"(>=|<=|>|<|=)([0-9]+(?:\.[0-9]+)*)\Z", word)
        if match is None:
            raise ValueError(f"{word!r} is no bound of a range")
        bounds.append((match[1], number(match[2])))
    if not bounds:
        raise ValueError("a range has at least one bound")

    def admits(value: str) -> bool | None:
        answers = [_within(number(value), operator, bound) for operator, bound in bounds]
        if False in answers:
            return False
        return None if None in answers else True

    return admits


def _within(found: Number, operator: str, bound: Number) -> bool | None:
    """The answer for every number that ``found`` may stand for, None where they differ."""
    missing = len(bound) - len(found)
    if operator == "=" and missing > 0:
        return None if bound[: len(found)] == found else False
    holds = HOLDS[operator]
    least, most = (holds((*found[: len(bound)], *[rest] * missing), bound) for rest in (0, math.inf))
    return least if least == most else None


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is known of a cluster. ``facts`` maps a fact to every value seen on its nodes; a fact that is absent is unknown.

    ``sources`` says for each fact who said so: ``api`` (read from the cluster), ``nodes`` (labels), ``spec`` (stated by hand).
    """

    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KubernetesRange:
    """Kubernetes minors, both ends included; an empty ``maximum`` is open. ``source`` says who declared it and where."""

    minimum: str
    maximum: str
    source: str

    def admits(self, minor: str) -> bool:
        wanted = minor_number(minor)
        above = not self.maximum or wanted <= minor_number(self.maximum)
        return minor_number(self.minimum) <= wanted and above

    def __str__(self) -> str:
        return f"{self.minimum} to {self.maximum}" if self.maximum else f"{self.minimum} and newer"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One need of a version: ``fact`` must be within ``range`` (ordered facts: ``>=580``) or one of ``words`` (the others).

    ``reason`` says in half a sentence what breaks otherwise, ``source`` who declared it. ``when`` names a configuration value
    (dotted path in the typed config) that must be truthy for the constraint to hold; empty means always.
    """

    fact: FactName
    reason: str
    source: str
    range: str = ""
    words: tuple[str, ...] = ()
    when: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another add-on that must, where it is on the cluster, have a version in ``range``."""

    addon: str
    range: VersionRange
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Tested:
    """Something that we ran ourselves: the fact values, when (ISO date) and where it is recorded below ``docs/``."""

    facts: Mapping[str, str]
    on: str
    record: str


@dataclass(frozen=True, slots=True)
class Compatibility:
    """``declared`` by the upstream project (with ``constraints`` and ``peers``); ``tested`` by us. The two are never mixed."""

    declared: KubernetesRange
    constraints: tuple[Constraint, ...] = ()
    peers: tuple[Peer, ...] = ()
    tested: tuple[Tested, ...] = ()

"""Edges between versions: what is known about moving from one to the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from catalog.model.versions import VersionRange

#: safe: may run by itself. manual: somebody has steps to do. blocked: must not be taken. A pair without an edge is unknown,
#: which is not safe.
Verdict = Literal["safe", "manual", "blocked"]


@dataclass(frozen=True, slots=True)
class ValueMove:
    """A configuration value that has another place or meaning afterwards: dotted paths; an empty ``to`` drops it."""

    source: str
    to: str
    note: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A move from any version in ``origin`` to ``to``. ``code`` is a reason code in kebab case, ``reason`` its sentence.

    ``reversible`` says whether the way back may be taken; ``precondition`` is what has to be there before (a backup, say).
    ``steps`` are done by people, in order. ``checks`` are ids of checks that have to pass afterwards. ``affects`` names kinds
    or workloads that notice the move. ``references`` are upstream places that say so.
    """

    addon: str
    origin: VersionRange
    to: str
    verdict: Verdict
    code: str
    reason: str
    reversible: bool
    precondition: str = ""
    steps: tuple[str, ...] = ()
    moves: tuple[ValueMove, ...] = ()
    checks: tuple[str, ...] = ()
    affects: tuple[str, ...] = ()
    references: tuple[str, ...] = ()

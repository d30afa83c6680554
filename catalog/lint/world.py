"""What rules look at, and what they find."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from base.errors import Position
from catalog.model import Addon, AddonVersion, Catalogue

__all__ = ["Check", "Finding", "Found", "Place", "Rule", "Severity", "World", "at"]

T = TypeVar("T")
Severity = Literal["error", "warning", "note"]
Kind = Literal["addon", "version", "edges", "noops", "schema", "template", "channel"]


@dataclass(frozen=True, slots=True)
class Rule:
    """``why`` says what goes wrong for whom, ``documented`` where more is said about it."""

    id: str
    severity: Severity
    title: str
    why: str
    documented: str = "docs/catalogue.md"


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a file of the catalogue. ``path`` may lead into what a version has from addon.yaml: it is looked for there."""

    kind: Kind
    addon: str = ""
    version: str = ""
    path: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found, before anybody looked up the line."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """For people and programs: the rule, where, and what."""

    rule: Rule
    position: Position
    message: str
    addon: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """A catalogue and what may be known around it. ``docs`` is where records stand; without it none is looked for.

    ``tools`` are the names of external programs that there are; without them a program's name is not looked up.
    """

    catalogue: Catalogue
    today: datetime.date
    docs: Path | None = None
    tools: frozenset[str] = field(default_factory=frozenset)
    memo: dict[object, Any] = field(default_factory=dict, compare=False, repr=False)

    def versions(self) -> Iterator[tuple[Addon, AddonVersion]]:
        for name, addon in self.catalogue.addons.items():
            for version in self.catalogue.versions.get(name, ()):
                yield addon, version

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What several rules need, made when the first of them asks."""
        if key not in self.memo:
            self.memo[key] = make()
        found: T = self.memo[key]
        return found


Check = Callable[[World], Iterator[Found]]


def at(version: AddonVersion, *path: str | int) -> Place:
    """A field of a version's file."""
    return Place("version", version.addon, version.version, path)

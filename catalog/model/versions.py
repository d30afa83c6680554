"""Version numbers and ranges of them, by the scheme of the project that issues them.

Order only ever compares versions that the catalogue describes: a tag that appears upstream out of line (KAI v0.20.1, between
releases of 0.9) has no file here and so cannot be chosen, however high its number is.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

#: semver: MAJOR.MINOR.PATCH, a ``v`` before it means nothing, a pre-release comes before its release (semver.org 2.0).
#: calendar: YY.MM.PATCH of Slurm and of NVIDIA's operators; leading zeroes belong to the name, and ``25.11`` is 25.11.0.
Scheme = Literal["semver", "calendar"]

#: What stands after the hyphen: identifiers between dots, none of them empty.
_PRE = r"(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
_SEMVER = re.compile(rf"v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*){_PRE}(?:\+[0-9A-Za-z.-]+)?\Z")
_CALENDAR = re.compile(rf"v?([0-9]{{2}})\.([0-9]{{1,2}})(?:\.([0-9]+))?{_PRE}\Z")
_BOUND = re.compile(r"(>=|<=|>|<|=)?\s*(\S+)\Z")
_MINOR = re.compile(r"v?1\.([0-9]+)(?:[.+-].*)?\Z", re.DOTALL)

#: Sorts as the scheme says. Numbers before words within a pre-release; a release after all its pre-releases.
Key = tuple[tuple[int, int, int], bool, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=65536)
def version_key(version: str, scheme: Scheme = "semver") -> Key:
    """The place of a version in its order. ValueError for what is no version of the scheme."""
    match = (_SEMVER if scheme == "semver" else _CALENDAR).match(version)
    if match is None:
        raise ValueError(f"{version!r} is no {scheme} version")
    major, minor, patch, pre = match.groups()
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in (pre or "").split(".") if part)
    return (int(major), int(minor), int(patch or 0)), not pre, parts


#: The comparisons of a range, for keys of any one order.
HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions within bounds, all of which must hold: ``>=0.17.0 <0.19.0``. An empty text admits every version."""

    text: str
    scheme: Scheme = "semver"

    def __post_init__(self) -> None:
        _bounds(self.text, self.scheme)

    def admits(self, version: str) -> bool:
        """ValueError when ``version`` is no version of the scheme."""
        return self.admits_key(version_key(version, self.scheme))

    def admits_key(self, key: Key) -> bool:
        """The same for a key of this scheme, for whoever asks about many versions."""
        return all(holds(key, bound) for holds, bound in _bounds(self.text, self.scheme))

    def __str__(self) -> str:
        return self.text or "any version"


def range_words(text: str) -> list[str]:
    """The bounds of a range as they are written, each with its comparison: ``>= 1, < 2`` is ``>=1`` and ``<2``."""
    return re.sub(r"([<>=])\s+", r"\1", text.replace(",", " ")).split()


@lru_cache(maxsize=4096)
def _bounds(text: str, scheme: Scheme) -> tuple[tuple[Callable[[Key, Key], bool], Key], ...]:
    """The bounds of a range, once for each text: a search asks the same range of every version. ValueError for no range."""
    found = []
    for word in range_words(text):
        match = _BOUND.match(word)
        if match is None:
            raise ValueError(f"{word!r} is no bound of a range")
        found.append((HOLDS[match[1] or "="], version_key(match[2], scheme)))
    return tuple(found)


#: No bound at all.
ANY = VersionRange("")


def minor_number(version: str) -> int:
    """36 for ``1.36``, ``v1.36`` and ``1.36.3``. ValueError for anything else."""
    match = _MINOR.match(version)
    if match is None:
        raise ValueError(f"{version!r} is no Kubernetes version")
    return int(match[1])

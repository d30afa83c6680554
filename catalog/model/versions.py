"""Version numbers and ranges of them, by the scheme of the project that issues them.

Order only ever compares versions that the catalogue describes: a tag that appears upstream out of line (KAI v0.20.1, between
releases of 0.9) has no file here and so cannot be chosen, however high its number is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

#: semver: MAJOR.MINOR.PATCH, a ``v`` before it means nothing, a pre-release comes before its release (semver.org 2.0).
#: calendar: YY.MM.PATCH of Slurm and of NVIDIA's operators; leading zeroes belong to the name.
Scheme = Literal["semver", "calendar"]

_SEMVER = re.compile(r"v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?\Z")
_CALENDAR = re.compile(r"v?(\d{2})\.(\d{1,2})\.(\d+)(?:-([0-9A-Za-z.-]+))?\Z")
_BOUND = re.compile(r"(>=|<=|>|<|=)?\s*(\S+)\Z")

#: Sorts as the scheme says. Numbers before words within a pre-release; a release after all its pre-releases.
Key = tuple[tuple[int, int, int], bool, tuple[tuple[int, int, str], ...]]


def version_key(version: str, scheme: Scheme = "semver") -> Key:
    """The place of a version in its order. ValueError for what is no version of the scheme."""
    match = (_SEMVER if scheme == "semver" else _CALENDAR).match(version)
    if match is None:
        raise ValueError(f"{version!r} is no {scheme} version")
    major, minor, patch, pre = match.groups()
    parts = tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in (pre or "").split(".") if part)
    return (int(major), int(minor), int(patch)), not pre, parts


_HOLDS = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    "=": lambda a, b: a == b,
}


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions within bounds, all of which must hold: ``>=0.17.0 <0.19.0``. An empty text admits every version."""

    text: str
    scheme: Scheme = "semver"

    def __post_init__(self) -> None:
        self._bounds()

    def admits(self, version: str) -> bool:
        """ValueError when ``version`` is no version of the scheme."""
        key = version_key(version, self.scheme)
        return all(_HOLDS[operator](key, bound) for operator, bound in self._bounds())

    def _bounds(self) -> tuple[tuple[str, Key], ...]:
        """ValueError for a text that is no range."""
        found = []
        for word in re.sub(r"([<>=])\s+", r"\1", self.text.replace(",", " ")).split():
            match = _BOUND.match(word)
            if match is None:
                raise ValueError(f"{word!r} is no bound of a range")
            found.append((match[1] or "=", version_key(match[2], self.scheme)))
        return tuple(found)

    def __str__(self) -> str:
        return self.text or "any version"


#: No bound at all.
ANY = VersionRange("")


def minor_number(version: str) -> int:
    """36 for ``1.36``, ``v1.36`` and ``1.36.3``. ValueError for anything else."""
    major, dot, rest = version.removeprefix("v").partition(".")
    if major != "1" or not dot:
        raise ValueError(f"{version!r} is no Kubernetes version")
    return int(rest.split(".")[0])

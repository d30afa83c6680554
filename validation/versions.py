"""Versions as far as a check's bounds need them: numbers with dots, an optional leading v, an optional pre-release."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

from base.errors import InvalidInput

_SHAPE = re.compile(r"^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$")


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """Ordered as in semver, except that two pre-releases of one version are ordered as text."""

    numbers: tuple[int, int, int]
    pre: str = ""

    @classmethod
    def parse(cls, text: str) -> Version:
        """Missing numbers count as 0; InvalidInput for anything else."""
        shape = _SHAPE.match(text.strip())
        if shape is None:
            raise InvalidInput(f"{text!r} is not a version", todo="write it as 1.2.3 or v1.2.3")
        major, minor, patch, pre = shape.groups()
        return cls((int(major), int(minor or 0), int(patch or 0)), pre or "")

    def __lt__(self, other: Version) -> bool:
        # a pre-release comes before its release, hence the flag in the middle
        return (self.numbers, self.pre == "", self.pre) < (other.numbers, other.pre == "", other.pre)

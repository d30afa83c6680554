"""Version numbers of programs: read, compared, and matched against a pin. Pure."""

from __future__ import annotations

import re

from toolchain.pins import Accept


def parse(text: str) -> tuple[int, ...]:
    """``1.36.3`` or ``v1.36`` or ``go1.26.8`` -> ``(1, 36, 3)``; an empty tuple when there is no number."""
    found = re.search(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def accepts(found: str, pinned: str, rule: Accept) -> bool:
    """Whether a program of version ``found`` may stand in for the pinned one.

    ``exact``: equal. ``minor``: same major and minor. ``newer``: same major and not older. ``since``: not older.
    """
    have, want = parse(found), parse(pinned)
    if not have:
        return False
    if rule == "exact":
        return have == want
    if rule == "minor":
        return have[:2] == want[:2]
    if rule == "since":
        return have >= want
    return have[:1] == want[:1] and have >= want

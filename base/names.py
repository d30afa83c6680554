"""Names: what Kubernetes takes as one, and which known one somebody may have meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")


def label_problem(name: str) -> str:
    """Why ``name`` is no DNS label (RFC 1123: 1 to 63 of a-z, 0-9 and -, no - at an end); empty when it is one."""
    if not name:
        return "is empty"
    if len(name) > 63:
        return f"has {len(name)} characters, at most 63 are allowed"
    if not _LABEL.match(name):
        return f"{name!r} is no DNS label (a-z, 0-9 and -, beginning and ending with a letter or digit)"
    return ""


def nearest(name: str, known: Iterable[str], *, count: int = 3) -> tuple[str, ...]:
    """The known names most like ``name``, best first; none when nothing is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), sorted(by_lower), n=count, cutoff=0.55)
    return tuple(by_lower[candidate] for candidate in found)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence for a "to do": the nearest names, or all there are when nothing is near."""
    names = sorted(known)
    near = nearest(name, names)
    if near:
        return "did you mean " + " or ".join(near) + "?"
    return "known: " + ", ".join(names) if names else ""

"""One change of a CRD, and how bad it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["LEVELS", "Change", "Level"]

#: safe: what was valid and stored stays so. at-risk: somebody has to think. blocking: the API server refuses the new CRD, or
#: stored objects become invalid or lose data, or callers lose an address.
Level = Literal["safe", "at-risk", "blocking"]
LEVELS: tuple[Level, ...] = ("safe", "at-risk", "blocking")


@dataclass(frozen=True, slots=True)
class Change:
    """``rule`` is its id in :mod:`catalog.crds.rules`, ``crd`` the CRD's full name, ``version`` the API version it is about
    (empty: all of them; ``v1 -> v2`` where objects change from one to the other).

    ``path`` is the place in an object of that kind: ``.spec.pods[].name``, ``.spec.labels.*`` for the values of a map; or the
    place in the CRD itself (``spec.scope``), without a dot before it. ``before`` and ``after`` are what the keyword said,
    None where it said nothing; whole schemas are told in words. ``objects`` are stored objects (``namespace/name``) that show it.
    """

    rule: str
    level: Level
    crd: str
    version: str
    path: str
    before: Any
    after: Any
    why: str
    objects: tuple[str, ...] = ()

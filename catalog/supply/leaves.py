"""Two trees of values compared leaf by leaf, and what of them is not for showing. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ABSENT", "HIDDEN", "Difference", "compare_trees"]

#: Stands for a leaf that one side does not have; null is a value of its own in Helm.
ABSENT = "(absent)"
#: Stands for a value that is never shown.
HIDDEN = "(hidden)"


@dataclass(frozen=True, slots=True)
class Difference:
    """``path`` is dotted, lists of named things by name: ``spec.containers[main].image``. ``how`` is added, removed, changed."""

    path: str
    how: str
    before: Any
    after: Any


def compare_trees(old: Any, new: Any, path: str = "") -> Iterator[Difference]:
    """Every leaf that differs, in order of paths. A subtree that only one side has is one difference per leaf of it."""
    if isinstance(old, list) and isinstance(new, list):
        named = _named(old), _named(new)
        if named[0] is not None and named[1] is not None:
            yield from _keyed(named[0], named[1], path, "[{}]")
            return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _keyed(old, new, path, "." if path else "")
        return
    if isinstance(new, Mapping) and new and old is ABSENT:
        yield from _keyed({}, new, path, ".")
    elif isinstance(old, Mapping) and old and new is ABSENT:
        yield from _keyed(old, {}, path, ".")
    elif type(old) is not type(new) or old != new:
        how = "added" if old is ABSENT else "removed" if new is ABSENT else "changed"
        yield Difference(path, how, old, new)


def _keyed(old: Mapping[str, Any], new: Mapping[str, Any], path: str, step: str) -> Iterator[Difference]:
    for key in sorted({*old, *new}, key=str):
        place = path + (step.format(key) if "{}" in step else f"{step}{key}")
        yield from compare_trees(old.get(key, ABSENT), new.get(key, ABSENT), place)


def _named(members: list[Any]) -> dict[str, Any] | None:
    """A list as a mapping by ``name``, where every member has one of its own."""
    if not all(isinstance(member, Mapping) and isinstance(member.get("name"), str) for member in members):
        return None
    found = {member["name"]: member for member in members}
    return found if len(found) == len(members) else None

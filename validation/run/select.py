"""From what a user named to checks. Pure, apart from importing the suite to know its ids."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from base.errors import NotFound
from validation.checks import EVERY, SCHEDULER, Check, listing
from validation.context import Context

__all__ = ["choose"]


def choose(names: Sequence[str], context: Context) -> tuple[str, ...]:
    """Ids and cases of the checks that the names mean: an id, ``ID[case]``, a room, an add-on, or ``scheduler``.

    NotFound for a name that means nothing, with the nearest that do.
    """
    known = listing()
    wanted: list[str] = []
    for name in names:
        found = _meant(name, known, context)
        if not found:
            words = {item.id for item in known} | {item.room for item in known} | {item.addon for item in context.installed}
            near = difflib.get_close_matches(name, sorted(words), n=3, cutoff=0.4)
            hint = f"nearest: {', '.join(near)}" if near else "see `chandlery validate list`"
            raise NotFound(f"{name!r} is no check, room or add-on of this run", todo=hint)
        wanted += found
    return tuple(dict.fromkeys(wanted))


def _meant(name: str, known: Sequence[Check], context: Context) -> list[str]:
    word = name.lower()
    base, bracket, case = word.partition("[")
    if bracket:
        cases = {item.addon for item in context.installed}
        return [f"{item.id}[{case.rstrip(']')}]" for item in known if item.id.lower() == base and case.rstrip("]") in cases]
    by_id = [item.id for item in known if item.id.lower() == word]
    by_room = [item.id for item in known if item.room == word]
    if by_id or by_room:
        return by_id or by_room
    addons = {item.addon for item in context.installed}
    if word == SCHEDULER or word in addons:
        subjects = {word, SCHEDULER} if word in {SCHEDULER, context.scheduler} else {word}
        cases = {context.scheduler} if word == SCHEDULER else {word}
        return [item.id for item in known if item.subject in subjects] + [
            f"{item.id}[{case}]" for item in known if item.subject == EVERY for case in cases
        ]
    return []

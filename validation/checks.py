"""What a check says about itself, the decorator that says it, and the list of all checks.

A check is a pytest test function under :mod:`validation.suite`, decorated with :func:`check`. The room it stands in is the
name of its package. Its id never changes once released, because evidence and saved reports refer to it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from base.errors import InvalidInput, NotFound
from validation.versions import Version

__all__ = ["SCHEDULER", "TIERS", "Check", "KnownFault", "Tier", "check", "find", "listing", "of"]

Tier = Literal["api", "sched", "node", "gpu", "gpu-multi", "slurm-local"]

#: Lower tiers first; ``slurm-local`` stands beside the scale and is not in it.
TIERS: tuple[Tier, ...] = ("api", "sched", "node", "gpu", "gpu-multi")

#: ``subject`` of a check that looks at whichever scheduler is installed.
SCHEDULER = "scheduler"
#: ``subject`` of a check that is run once for every add-on of the plan.
EVERY = "every add-on"

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class KnownFault:
    """An upstream fault because of which a check fails on some versions, both ends included."""

    issue: str
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Check:
    """``seconds`` is the check's own deadline without clean-up. ``since`` and ``until`` bound the subject's version.

    ``own_nodes`` marks a check that needs simulated nodes of its own (exact GPU counts); ``disruptive`` one that changes
    something of the add-on under test for a while; ``reference`` False one that the reference engine does not claim to meet.
    """

    id: str
    title: str
    proves: str
    tier: Tier
    subject: str
    room: str
    seconds: float
    since: str
    until: str
    own_nodes: bool
    disruptive: bool
    reference: bool
    known_faults: tuple[KnownFault, ...]
    story: str
    where: str

    def fault_of(self, version: str) -> str:
        """The upstream issue because of which this check is expected to fail on ``version``, or an empty string."""
        here = Version.parse(version)
        for fault in self.known_faults:
            if Version.parse(fault.first) <= here <= Version.parse(fault.last):
                return fault.issue
        return ""


_BY_FUNCTION = "__chandlery_check__"


def check(
    id: str,
    title: str,
    *,
    proves: str,
    tier: Tier,
    subject: str = SCHEDULER,
    seconds: float = 180.0,
    since: str = "",
    until: str = "",
    own_nodes: bool = False,
    disruptive: bool = False,
    reference: bool = True,
    known_faults: tuple[KnownFault, ...] = (),
) -> Callable[[F], F]:
    """Say what a test function checks. The function's docstring tells how."""

    def mark(function: F) -> F:
        module = function.__module__
        info = Check(
            id=id,
            title=title,
            proves=proves,
            tier=tier,
            subject=subject,
            room=module.split(".")[2] if module.startswith("validation.suite.") else "",
            seconds=seconds,
            since=since,
            until=until,
            own_nodes=own_nodes,
            disruptive=disruptive,
            reference=reference,
            known_faults=known_faults,
            story=" ".join((function.__doc__ or "").split()),
            where=f"{module.replace('.', '/')}.py::{getattr(function, '__name__', '')}",
        )
        setattr(function, _BY_FUNCTION, info)
        return function

    return mark


def of(function: Any) -> Check | None:
    """What a function was marked with, or None."""
    return getattr(function, _BY_FUNCTION, None)


def listing() -> tuple[Check, ...]:
    """All checks of the suite, by room and id. InvalidInput when two carry the same id."""
    import validation.suite as suite

    found: dict[str, Check] = {}
    for module in pkgutil.walk_packages(suite.__path__, f"{suite.__name__}."):
        if not module.name.rpartition(".")[2].startswith("test_"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            info = of(value)
            if info is None:
                continue
            twin = found.setdefault(info.id, info)
            if twin.where != info.where:
                raise InvalidInput(f"two checks carry the id {info.id}", where=f"{twin.where} and {info.where}")
    return tuple(sorted(found.values(), key=lambda item: (item.room, item.id)))


def find(wanted: str) -> Check:
    """The check with that id (case does not matter); NotFound names what there is."""
    known = listing()
    for item in known:
        if item.id.lower() == wanted.lower():
            return item
    raise NotFound(f"no check has the id {wanted}", todo=f"the ids are: {', '.join(item.id for item in known)}")

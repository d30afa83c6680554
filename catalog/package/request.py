"""What a spec asks of one add-on, against what its version takes. Pure; every problem is told, with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from base.errors import Position, Problem
from base.yamltree import locate
from catalog.model import AddonVersion, NoOp
from catalog.package.config import config_problems
from spec.model import AddonRequest

__all__ = ["noop_of", "request_problems"]


def request_problems(version: AddonVersion, request: AddonRequest, file: str) -> list[Problem]:
    """All that is wrong with ``config`` and ``values`` of a request before a chart is looked at: unknown keys, wrong types,
    bounds, and values that are known to do nothing. ``file`` is used where the request has no text of its own.
    """

    def at(*prefix: str | int) -> Position:
        if request.body is not None:
            return locate(request.body, prefix)
        return Position(file, request.line, 1 if request.line else 0)

    problems = config_problems(version, request.config, lambda path: at("config", *path))
    for path, noop in _noops(version, request.values):
        field = f"addons.{version.addon}.values.{'.'.join(path)}"
        message = f"does nothing in {version.addon} {version.version} ({noop.source})"
        problems.append(Problem(at("values", *path), field, message, noop.instead))
    return problems


def noop_of(noops: Sequence[NoOp], path: Sequence[str]) -> NoOp | None:
    """The entry that says that the value at ``path``, or a mapping that it is in, does nothing."""
    for noop in noops:
        steps = noop.path.replace("[]", "").split(".")
        if list(path[: len(steps)]) == steps:
            return noop
    return None


def _noops(
    version: AddonVersion, values: Mapping[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], NoOp]]:
    for key, value in values.items():
        here = (*path, key)
        noop = noop_of(version.noops, here)
        if noop is not None:
            yield here, noop
        elif isinstance(value, Mapping):
            yield from _noops(version, value, here)

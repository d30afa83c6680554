"""Charts that render something else each time: found by rendering twice, and refused or made once and kept. Pure."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from base.errors import Refused
from catalog.model import Generated
from catalog.package.objects import Object

__all__ = ["MADE_ONCE", "Made", "settled", "with_made"]

#: Stands in a rendering for what is made once; no secret enters a cache or a digest.
MADE_ONCE = "made-once"

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Made:
    """A value that a chart made up: the object that it is in (its namespace as the chart wrote it), the path, the value."""

    kind: str
    namespace: str
    name: str
    path: Path
    value: Any


def settled(
    first: Sequence[Object], second: Sequence[Object], known: Sequence[Generated], origin: str
) -> tuple[tuple[Object, ...], tuple[Made, ...]]:
    """The objects of two renderings of the same inputs, and what was made up in them.

    Equal ones come back as they are. A value that differs, in an object that the package declares under ``generated``, is
    replaced by :data:`MADE_ONCE`; any other is refused, with its object and path: an ``up`` without a change would change it.
    """
    if first == second:
        return tuple(first), ()
    if [_name(obj) for obj in first] != [_name(obj) for obj in second]:
        raise Refused("renders other objects each time", where=origin, todo="find what is random in its templates")
    declared = {(one.kind, one.name) for one in known}
    objects: list[Object] = []
    made: list[Made] = []
    stray: list[str] = []
    for one, other in zip(first, second, strict=True):
        paths = list(_differences(one, other))
        kind, namespace, name = _name(one)
        if paths and (kind, name) not in declared:
            stray += [f"{kind} {name} at {'.'.join(str(step) for step in path)}" for path in paths]
        fixed = copy.deepcopy(one) if paths else one
        for path in paths:
            made.append(Made(kind, namespace, name, path, _at(one, path)))
            _put(fixed, path, MADE_ONCE)
        objects.append(fixed)
    if stray:
        more = f" and {len(stray) - 5} more" if len(stray) > 5 else ""
        raise Refused(
            f"renders something else each time: {', '.join(stray[:5])}{more}",
            where=origin,
            todo="give the value in the package's values, or declare the object under `generated` of addon.yaml",
        )
    return tuple(objects), tuple(made)


def with_made(objects: Sequence[Object], made: Sequence[Made], namespace: str) -> tuple[Object, ...]:
    """The objects with the kept values in their places; ``namespace`` is that of objects for which the chart wrote none."""
    wanted: dict[tuple[str, str, str], list[Made]] = {}
    for one in made:
        wanted.setdefault((one.kind, one.namespace or namespace, one.name), []).append(one)
    result = []
    for obj in objects:
        kind, place, name = _name(obj)
        mine = wanted.get((kind, place or namespace, name), ())
        changed = copy.deepcopy(obj) if mine else obj
        for one in mine:
            _put(changed, one.path, one.value)
        result.append(changed)
    return tuple(result)


def _name(obj: Mapping[str, Any]) -> tuple[str, str, str]:
    meta = obj["metadata"]
    return obj["kind"], str(meta.get("namespace") or ""), str(meta["name"])


def _differences(one: Any, other: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys():
        for key in one:
            yield from _differences(one[key], other[key], (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (here, there) in enumerate(zip(one, other, strict=True)):
            yield from _differences(here, there, (*path, index))
    elif one != other:
        yield path


def _at(node: Any, path: Path) -> Any:
    for step in path:
        node = node[step]
    return node


def _put(node: Any, path: Path, value: Any) -> None:
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value

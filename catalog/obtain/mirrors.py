"""Registry mirrors of a user or a site: ``registries.yaml``, which says where else the content of a registry is to be had."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from base.errors import Problem, SpecError, Unavailable
from base.places import config_dir
from base.yamltree import Table, parse
from spec.reader import Problems, Section, root

__all__ = ["Mirrors", "mirrors_file", "read_mirrors"]

#: ``host[:port]`` and a path; no scheme, no user, no tag.
_PLACE = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*\Z")


def mirrors_file() -> Path:
    """``registries.yaml`` in the user's configuration directory."""
    return config_dir() / "registries.yaml"


def read_mirrors(file: Path) -> Mapping[str, tuple[str, ...]]:
    """Mirrors by the registry (or repository prefix) that they stand for. Empty where there is no file.

    SpecError with every problem and its place.
    """
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Unavailable(f"the registries file cannot be read: {error.strerror}", where=str(file)) from error
    problems = Problems()
    tree, found = parse(data, str(file))
    problems.found.extend(found)
    top = root(tree, ("mirrors",), problems, hint="write: mirrors: {ghcr.io: [mirror.example:5000/ghcr]}") if tree else None
    table = top.mapping("mirrors") if top else None
    made = _mirrors(table, problems) if table else {}
    if problems.found:
        raise SpecError(problems.found, what="registries file")
    return made


def _mirrors(table: Table, problems: Problems) -> dict[str, tuple[str, ...]]:
    section = Section(table, "mirrors", tuple(table.entries), problems)
    made = {}
    for name, entry in table.entries.items():
        made[name] = section.words(name)
        for place, position in [(name, entry.position), *((word, entry.position) for word in made[name])]:
            if not _PLACE.match(place):
                message = f"{_without_user(place)!r} is no registry, with or without a path below it"
                problems.found.append(Problem(position, f"mirrors.{name}", message, "write host:port/path, without https://"))
    return made


def _without_user(place: str) -> str:
    """A password that somebody wrote before the host stays out of messages."""
    return place.rpartition("@")[2][:60]


class Mirrors:
    """Read from ``file`` when first asked; None means that there are none."""

    def __init__(self, file: Path | None = None, *, known: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._file = file
        self._known = known

    def places(self, name: str) -> tuple[str, ...]:
        """Where ``registry/repository`` is looked for, in order: its mirrors, then the registry itself.

        The longest prefix that has mirrors decides: ``quay.io/jetstack`` before ``quay.io``.
        """
        if self._known is None:
            self._known = read_mirrors(self._file) if self._file else {}
        prefix = max((one for one in self._known if name == one or name.startswith(f"{one}/")), key=len, default="")
        rest = name.removeprefix(prefix)
        return (*(f"{mirror}{rest}" for mirror in self._known.get(prefix, ())), name)

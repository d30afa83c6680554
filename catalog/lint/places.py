"""From a place in the catalogue's files to file, line and column. Files are read when a finding asks for one."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from base.errors import Position
from base.yamltree import Node, Table, locate, parse
from catalog.lint.world import Place

__all__ = ["Places"]


class Places:
    """``root`` is the catalogue's directory, ``base`` the one that paths in messages are relative to.

    A file that is not there (a catalogue made in memory) has no lines.
    """

    def __init__(self, root: Path, base: Path | None = None) -> None:
        self._root, self._base = root, base or root.parent
        self._tree = cache(self._parsed)

    def position(self, place: Place) -> Position:
        """Where a place stands; its file alone where the line is not known."""
        files = [self._root / path for path in self._files(place)]
        there = [file for file in files if file.is_file()]
        if place.kind == "template" and there:
            return Position(self._shown(there[0]), _line(there[0], place.path), 1)
        trees = [(file, tree) for file in there if (tree := self._tree(file)) is not None]
        said = [one for one in trees if place.path and isinstance(one[1], Table) and str(place.path[0]) in one[1].entries]
        for file, tree in said or trees[:1]:
            found = locate(tree, place.path)
            return Position(self._shown(file), found.line, found.column)
        return Position(self._shown((there or files)[0]))

    def relative(self, position: Position) -> Position:
        """A position of the reader with its file as it is shown here."""
        return Position(self._shown(Path(position.file)), position.line, position.column)

    def _files(self, place: Place) -> list[str]:
        """The files in which a place may stand, the first that has it counts."""
        addon, version = f"addons/{place.addon}", f"addons/{place.addon}/versions/{place.version}"
        match place.kind:
            case "version":
                return [f"{version}.yaml", f"{addon}/addon.yaml"]
            case "schema":
                return [f"{version}.config.schema.json", f"{addon}/config.schema.json"]
            case "template":
                return [f"{version}.values.yaml.j2", f"{addon}/values.yaml.j2"]
            case "channel":
                return [f"channels/{place.addon}.yaml"]
            case kind:
                return [f"{addon}/{kind}.yaml"]

    def _parsed(self, file: Path) -> Node | None:
        try:
            return parse(file.read_bytes(), str(file))[0]
        except OSError:
            return None

    def _shown(self, file: Path) -> str:
        try:
            return file.relative_to(self._base).as_posix()
        except ValueError:
            return str(file)


def _line(file: Path, path: tuple[str | int, ...]) -> int:
    """The first line of a template that has the last word of the path as a key, or anywhere."""
    if not path:
        return 1
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    word = re.escape(str(path[-1]))
    for pattern in (rf"^\s*[\"']?{word}[\"']?\s*:", rf"\b{word}\b"):
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line):
                return number
    return 1

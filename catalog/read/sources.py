"""Files of the catalogue as sections, texts and JSON, with every fault noted and none raised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from base.errors import Position, Unavailable
from base.names import did_you_mean
from base.yamltree import parse
from catalog.read.shape import Shape
from spec.reader import Problems, Section, root

__all__ = ["Found", "open_section", "read_json", "read_text"]


class Found(Problems):
    """The problems of the catalogue's files, and the add-ons that they name, to be looked for when all have been read."""

    def __init__(self) -> None:
        super().__init__()
        self.mentions: list[tuple[Position, str, str, str]] = []

    def mention(self, position: Position, field: str, addon: str, by: str) -> None:
        self.mentions.append((position, field, addon, by))

    def check_mentions(self, known: frozenset[str]) -> None:
        """Note every add-on that is named and not there, or that names itself."""
        for position, field, addon, by in self.mentions:
            if addon == by:
                self.add(position, field, f"{addon} names itself")
            elif addon not in known:
                self.add(position, field, f"unknown add-on {addon!r}", did_you_mean(addon, known))
        self.mentions.clear()


def open_section(path: Path, shape: Shape, problems: Problems) -> Section | None:
    """The file as a section; None when it is missing or no mapping. Unavailable when the disk does not give it."""
    data = _bytes(path, problems)
    if data is None:
        return None
    tree, found = parse(data, str(path))
    problems.found.extend(found)
    return root(tree, tuple(shape.fields), problems, hint="") if tree is not None else None


def read_text(path: Path, problems: Problems) -> str:
    """A text file, empty where there is none or where it is not UTF-8."""
    if not path.is_file():
        return ""
    data = _bytes(path, problems) or b""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.add(Position(str(path), line, 1), "", "is not UTF-8", "save the file as UTF-8")
        return ""


def read_json(path: Path, problems: Problems) -> dict[str, Any] | None:
    """A JSON object; None where there is no such file or it holds something else."""
    if not path.is_file():
        return None
    try:
        found = json.loads(_bytes(path, problems) or b"", parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        problems.add(Position(str(path), error.lineno, error.colno), "", f"is no JSON: {error.msg}")
        return None
    except (ValueError, RecursionError) as error:
        problems.add(Position(str(path), 1, 1), "", f"is no JSON: {str(error)[:120]}")
        return None
    if not isinstance(found, dict):
        problems.add(Position(str(path), 1, 1), "", "is no JSON object")
        return None
    return found


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def _bytes(path: Path, problems: Problems) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        problems.add(Position(str(path)), "", "is missing")
        return None
    except OSError as error:
        raise Unavailable(f"the catalogue cannot be read: {error.strerror}", where=str(path)) from error

"""YAML with positions: the text of a file in, a tree of nodes or all its problems out. Never an exception of the parser.

What people write by hand is read strictly: one document, UTF-8, no aliases (a file of a few lines may stand for gigabytes),
no tags, no merge keys, no duplicate keys. Plain scalars follow the YAML 1.2 core schema, so that ``no`` is a word and ``1.30``
keeps its text. Parsing is PyYAML's binding of libyaml, which bounds the nesting itself; only its node graph is used, nothing of
its constructors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from base.errors import Position, Problem

__all__ = ["Array", "Entry", "Leaf", "Node", "Table", "describe", "locate", "parse", "plain"]

#: Larger than any file that a person writes; a limit because the tree is kept in memory.
SIZE_LIMIT = 4 * 1024 * 1024
#: Levels of nesting; libyaml stops at 1,000, which is more than Python's stack takes.
DEPTH_LIMIT = 64

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_RESOLVER: Any = yaml.resolver.Resolver()
_NULL = {"", "~", "null", "Null", "NULL"}
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+\Z|0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPECIAL = re.compile(r"([-+])?\.(inf|Inf|INF|nan|NaN|NAN)\Z")
_MAP_TAG, _SEQ_TAG = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar: its value, and its text as written (without quotes)."""

    value: str | int | float | bool | None
    text: str
    position: Position


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a table with its own position, and what it holds."""

    position: Position
    node: Node


@dataclass(frozen=True, slots=True)
class Table:
    entries: Mapping[str, Entry]
    position: Position


@dataclass(frozen=True, slots=True)
class Array:
    items: tuple[Node, ...]
    position: Position


Node = Leaf | Table | Array


def parse(data: bytes, file: str) -> tuple[Node | None, list[Problem]]:
    """The tree of one document, and what is wrong with it. No tree where the text is no YAML or says nothing."""
    text, problem = _decode(data, file)
    if problem:
        return None, [problem]
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        return None, _syntax_problems(error, text, file)
    except (RecursionError, ValueError) as error:  # the pure Python loader, where libyaml is missing
        return None, [Problem(Position(file), "", f"cannot be read as YAML: {type(error).__name__}")]
    if node is None:
        return None, [Problem(Position(file, 1, 1), "", "the file says nothing", "write at least one field")]
    walker = _Walker(file)
    tree = walker.convert(node, "")
    if walker.shared:
        walker.problems.extend(_alias_problems(text, file))
    return tree, walker.problems


def plain(node: Node) -> Any:
    """The tree as dictionaries, lists and scalars."""
    if isinstance(node, Table):
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, Array):
        return [plain(item) for item in node.items]
    return node.value


def locate(node: Node, path: Sequence[str | int]) -> Position:
    """The place of the deepest node along ``path`` that exists; a missing field is reported at its parent."""
    place = node.position
    for step in path:
        if isinstance(node, Table) and str(step) in node.entries:
            entry = node.entries[str(step)]
            node, place = entry.node, entry.position
        elif isinstance(node, Array) and isinstance(step, int) and 0 <= step < len(node.items):
            node = node.items[step]
            place = node.position
        else:
            break
    return place


def describe(node: Node) -> str:
    """What a person would call it in "expected X, found Y"."""
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Array):
        return "a list"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return f"the truth value {node.text}"
    if isinstance(node.value, int | float):
        return f"the number {node.text[:40]}"
    return f"the text {node.text[:40]!r}"


def _decode(data: bytes, file: str) -> tuple[str, Problem | None]:
    if len(data) > SIZE_LIMIT:
        return "", Problem(Position(file), "", f"{len(data)} bytes are too large (limit {SIZE_LIMIT})")
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        message = f"is not UTF-8 (byte 0x{data[error.start]:02x})"
        return "", Problem(Position(file, line, column), "", message, "save the file as UTF-8")


def _syntax_problems(error: yaml.YAMLError, text: str, file: str) -> list[Problem]:
    tabs = [
        Problem(Position(file, number, line.index("\t") + 1), "", "a tab in the indentation", "indent with spaces")
        for number, line in enumerate(text.splitlines(), 1)
        if line.lstrip(" ").startswith("\t") and line.strip()
    ]
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    message = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    if mark is not None:
        place = Position(file, mark.line + 1, mark.column + 1)
    elif isinstance(getattr(error, "position", None), int):
        before = text[: error.position]  # type: ignore[attr-defined]
        place = Position(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
    else:
        place = Position(file)
    if tabs and any(tab.position.line == place.line for tab in tabs):
        return tabs
    context = getattr(error, "context", None)
    text_of = f"{message} ({context})" if context and context != message else str(message)
    return [Problem(place, "", f"is not YAML: {text_of}"), *tabs]


def _alias_problems(text: str, file: str) -> Iterator[Problem]:
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            mark: Any = event.start_mark
            place = Position(file, mark.line + 1, mark.column + 1)
            yield Problem(place, "", f"alias *{event.anchor} is not supported", "write the value out")


class _Walker:
    """Turns PyYAML's nodes into ours, collecting problems. A node that is reached twice was reached through an alias."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.shared = False
        self._seen: set[int] = set()
        self._depth = 0

    def convert(self, node: yaml.Node, path: str) -> Node:
        place = self._place(node)
        if id(node) in self._seen:
            self.shared = True
            return Leaf(None, "", place)
        self._seen.add(id(node))
        if not isinstance(node, yaml.ScalarNode):
            if self._depth >= DEPTH_LIMIT:
                self.problems.append(Problem(place, path[:80], f"nested more than {DEPTH_LIMIT} levels deep"))
                return Leaf(None, "", place)
            self._depth += 1
            try:
                return self._collection(node, path, place)
            finally:
                self._depth -= 1
        value = node.value
        if not node.style:
            self._check_tag(node, str(_RESOLVER.resolve(yaml.ScalarNode, value, (True, False))), path)
            return Leaf(_typed(value), value, place)
        return Leaf(value, value, place)

    def _collection(self, node: yaml.Node, path: str, place: Position) -> Table | Array:
        if isinstance(node, yaml.MappingNode):
            self._check_tag(node, _MAP_TAG, path)
            return Table(self._entries(node, path), place)
        self._check_tag(node, _SEQ_TAG, path)
        return Array(tuple(self.convert(item, f"{path}[{index}]") for index, item in enumerate(node.value)), place)

    def _entries(self, node: yaml.MappingNode, path: str) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for key_node, value_node in node.value:
            place = self._place(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem(place, path, "a key must be a word"))
                continue
            key = key_node.value
            field = f"{path}.{key}" if path else key
            if key == "<<" and not key_node.style:
                self.problems.append(Problem(place, field, "merge keys are not supported", "write the fields out"))
                continue
            value = self.convert(value_node, field)
            if key in entries:
                first = entries[key].position
                message = f"appears twice (first in line {first.line})"
                self.problems.append(Problem(place, field, message, "keep one of them"))
                continue
            entries[key] = Entry(place, value)
        return entries

    def _check_tag(self, node: yaml.Node, expected: str, path: str) -> None:
        if node.tag != expected:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            self.problems.append(Problem(self._place(node), path, f"tag {tag} is not supported", "write the plain value"))

    def _place(self, node: yaml.Node) -> Position:
        return Position(self.file, node.start_mark.line + 1, node.start_mark.column + 1)


def _typed(text: str) -> str | int | float | bool | None:
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    special = _SPECIAL.match(text)
    if special:
        return math.nan if special[2].lower() == "nan" else math.copysign(math.inf, -1 if special[1] == "-" else 1)
    if _INT.match(text):
        try:
            return int(text, 0 if text.startswith(("0o", "0x")) else 10)
        except ValueError:  # more digits than Python converts
            return text
    return float(text) if _FLOAT.match(text) else text

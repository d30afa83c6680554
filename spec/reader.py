"""Reading typed fields out of a YAML tree, collecting every problem instead of stopping at the first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from base.errors import Position, Problem
from base.names import did_you_mean, label_problem
from base.yamltree import Array, Entry, Leaf, Node, Table, describe

#: Kubernetes quantities, which people write out of habit where a plain number is meant.
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)B?\Z")
_BYTES = {"k": 1e3, "Ki": 2**10, "M": 1e6, "Mi": 2**20, "G": 1e9, "Gi": 2**30, "T": 1e12, "Ti": 2**40, "P": 1e15, "Pi": 2**50}


class Problems:
    """The problems of one file, in the order found."""

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, position: Position, field: str, message: str, todo: str = "") -> None:
        self.found.append(Problem(position, field, message, todo))


class Section:
    """One mapping of the file whose fields are known. Unknown fields are reported when it is made.

    Every reading method returns the field's value, or its default after a problem was noted, so that reading goes on.
    """

    def __init__(self, table: Table, path: str, fields: Sequence[str], problems: Problems) -> None:
        self.table = table
        self.path = path
        self.problems = problems
        for key, entry in table.entries.items():
            if key not in fields:
                problems.add(entry.position, self.at(key), "unknown field", did_you_mean(key, fields))

    def at(self, name: str) -> str:
        """The dotted path of a field."""
        return f"{self.path}.{name}" if self.path else name

    def position(self, name: str) -> Position:
        """The place of a field, or of the section where the field is missing."""
        entry = self.table.entries.get(name)
        return entry.position if entry else self.table.position

    def has(self, name: str) -> bool:
        """True when the field is written, and not as null."""
        entry = self.table.entries.get(name)
        return entry is not None and not (isinstance(entry.node, Leaf) and entry.node.value is None)

    def is_list(self, name: str) -> bool:
        """True when the field is written as a list."""
        entry = self.table.entries.get(name)
        return entry is not None and isinstance(entry.node, Array)

    def bad(self, name: str, message: str, todo: str = "") -> None:
        self.problems.add(self.position(name), self.at(name), message, todo)

    def text(
        self, name: str, *, default: str = "", required: bool = False, choices: Sequence[str] = (), blank: bool = False
    ) -> str:
        """A word. A number is taken as it is written, so that ``kubernetes: 1.30`` is not 1.3. ``blank``: ``""`` will do."""
        leaf = self._leaf(name, "a word", required)
        if leaf is None:
            return default
        if isinstance(leaf.value, bool) or not (leaf.text or blank):
            self.bad(name, f"expected a word, found {describe(leaf)}")
            return default
        if choices and leaf.text not in choices:
            self.bad(name, f"{leaf.text!r} is not one of {', '.join(choices)}", did_you_mean(leaf.text, choices))
            return default
        return leaf.text

    def label(self, name: str, *, default: str = "", required: bool = False) -> str:
        """A word that is a DNS label, as names of clusters, queues and node pools must be."""
        word = self.text(name, default=default, required=required)
        if word and (problem := label_problem(word)):
            self.bad(name, problem)
        return word

    def whole(self, name: str, *, default: int, minimum: int, maximum: int) -> int:
        """A whole number within bounds."""
        leaf = self._leaf(name, "a whole number", required=False)
        if leaf is None:
            return default
        if isinstance(leaf.value, bool) or not isinstance(leaf.value, int):
            self.bad(name, f"expected a whole number, found {describe(leaf)}", _unquoted(leaf))
            return default
        if not minimum <= leaf.value <= maximum:
            self.bad(name, f"{leaf.value} is not between {minimum} and {maximum}")
            return default
        return leaf.value

    def number(self, name: str, *, unit: str) -> float | None:
        """A finite number that must be there; None after a problem."""
        leaf = self._leaf(name, f"a number of {unit}", required=True)
        if leaf is None:
            return None
        if isinstance(leaf.value, bool) or not isinstance(leaf.value, int | float):
            self.bad(name, f"expected a number of {unit}, found {describe(leaf)}", _converted(leaf.text, unit) or _unquoted(leaf))
            return None
        try:
            value = float(leaf.value)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            self.bad(name, f"{leaf.text[:20]} is not a finite number", "write -1 for unlimited")
            return None
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A truth value."""
        leaf = self._leaf(name, "true or false", required=False)
        if leaf is None:
            return default
        if not isinstance(leaf.value, bool):
            self.bad(name, f"expected true or false, found {describe(leaf)}")
            return default
        return leaf.value

    def words(self, name: str, *, required: bool = False) -> tuple[str, ...]:
        """A list of words, each as it is written."""
        entry = self._entry(name, required)
        if entry is None or (isinstance(entry.node, Leaf) and entry.node.value is None):
            return ()
        if not isinstance(entry.node, Array):
            self.bad(name, f"expected a list of words, found {describe(entry.node)}")
            return ()
        for index, item in enumerate(entry.node.items):
            if not isinstance(item, Leaf) or item.value is None:
                self.problems.add(item.position, f"{self.at(name)}[{index}]", f"expected a word, found {describe(item)}")
        return tuple(item.text for item in entry.node.items if isinstance(item, Leaf) and item.value is not None)

    def mapping(self, name: str, *, required: bool = False, shape: str = "a mapping") -> Table | None:
        """A nested mapping; an empty one where the field is written as null."""
        entry = self._entry(name, required)
        if entry is None:
            return None
        if isinstance(entry.node, Leaf) and entry.node.value is None:
            return Table({}, entry.position)
        if not isinstance(entry.node, Table):
            self.bad(name, f"expected {shape}, found {describe(entry.node)}")
            return None
        return entry.node

    def sections(self, name: str, fields: Sequence[str]) -> Iterator[Section]:
        """The mappings in a list, each with the same fields."""
        for table, path in self.tables(name):
            yield Section(table, path, fields, self.problems)

    def tables(self, name: str) -> Iterator[tuple[Table, str]]:
        """The mappings in a list with their dotted paths."""
        entry = self._entry(name, required=False)
        if entry is None or (isinstance(entry.node, Leaf) and entry.node.value is None):
            return
        if not isinstance(entry.node, Array):
            self.bad(name, f"expected a list, found {describe(entry.node)}", "begin each element with a dash")
            return
        for index, node in enumerate(entry.node.items):
            path = f"{self.at(name)}[{index}]"
            if isinstance(node, Table):
                yield node, path
            else:
                self.problems.add(node.position, path, f"expected a mapping, found {describe(node)}")

    def _entry(self, name: str, required: bool) -> Entry | None:
        entry = self.table.entries.get(name)
        if entry is None and required:
            self.bad(name, "is missing")
        return entry

    def _leaf(self, name: str, what: str, required: bool) -> Leaf | None:
        entry = self._entry(name, required)
        if entry is None:
            return None
        if not isinstance(entry.node, Leaf):
            self.bad(name, f"expected {what}, found {describe(entry.node)}")
            return None
        if entry.node.value is None:
            if required:
                self.bad(name, "is missing")
            return None
        return entry.node


def root(
    node: Node, fields: Sequence[str], problems: Problems, *, hint: str = "the first line is usually: cluster: NAME"
) -> Section | None:
    """The whole file as a section; None when it is no mapping, with ``hint`` for whoever wrote it."""
    if isinstance(node, Table):
        return Section(node, "", fields, problems)
    problems.add(node.position, "", f"expected a mapping, found {describe(node)}", hint)
    return None


def _unquoted(leaf: Leaf) -> str:
    return "write it without quotes" if re.fullmatch(r"-?[0-9.]+", leaf.text) else ""


def _converted(text: str, unit: str) -> str:
    """What a Kubernetes quantity would be in the field's own unit."""
    match = _QUANTITY.match(text)
    if not match:
        return ""
    amount, suffix = float(match[1]), match[2]
    if unit == "MB" and suffix in _BYTES:
        return f"{text} is {amount * _BYTES[suffix] / 1e6:g} MB (10^6 bytes)"
    if unit == "cores" and suffix == "m":
        return f"{text} is {amount / 1000:g} cores"
    return ""

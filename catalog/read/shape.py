"""The shape of a file as data: one description that reads a section, with positions, and that becomes a JSON Schema.

A kind of field has two sides. ``read`` takes it out of a :class:`spec.reader.Section` and notes what is wrong with it; ``schema``
says the same to an editor. A schema never refuses what the reader takes; the reader also checks what no schema can say (whether
a range is one, whether a name exists).

Kinds are never compared or printed: what a dataclass makes for that would be paid for whenever a cluster is planned.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from base.names import did_you_mean
from base.yamltree import Table
from spec.reader import Section

__all__ = ["Field", "Flag", "Group", "Label", "Many", "Shape", "TextMap", "Values", "Variant", "Word", "Words", "WordsMap"]

#: What the reader takes for a word: a number is taken as it is written.
_TEXT = ["string", "number"]
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


class Values(dict[str, Any]):
    """The fields of one section by name, absent ones with their default, and the section for further checks."""

    def __init__(self, section: Section, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.section = section


class Field(Protocol):
    """A kind of field. ``doc`` is the sentence that an editor shows."""

    @property
    def doc(self) -> str: ...
    @property
    def required(self) -> bool: ...
    def read(self, section: Section, name: str) -> Any: ...
    def schema(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Word:
    """A word, or a number as it is written. ``pattern`` is of the whole word; ``wrong`` says what the word then is not.

    ``blank``: an empty word in quotes means something.
    """

    doc: str
    required: bool = False
    choices: tuple[str, ...] = ()
    pattern: str = ""
    wrong: str = ""
    todo: str = ""
    default: str = ""
    blank: bool = False

    def read(self, section: Section, name: str) -> str:
        text = section.text(name, default=self.default, required=self.required, choices=self.choices, blank=self.blank)
        if text and self.pattern and not re.fullmatch(self.pattern, text):
            section.bad(name, f"{text[:60]!r} {self.wrong}", self.todo)
        return text

    def schema(self) -> dict[str, Any]:
        if self.choices:
            return {"enum": [*self.choices, *([] if self.required else [None])]}
        made: dict[str, Any] = {"type": _TEXT if self.required else [*_TEXT, "null"]}
        if not self.blank:
            made["minLength"] = 1
        if self.pattern:
            made["pattern"] = f"^(?:{self.pattern})$"
        return made


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Label:
    """A word that is a DNS label (RFC 1123)."""

    doc: str
    required: bool = False

    def read(self, section: Section, name: str) -> str:
        return section.label(name, required=self.required)

    def schema(self) -> dict[str, Any]:
        kind = _TEXT if self.required else [*_TEXT, "null"]
        return {"type": kind, "minLength": 1, "maxLength": 63, "pattern": f"^{_LABEL}$"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Flag:
    """A truth value."""

    doc: str
    default: bool = False
    required: bool = False

    def read(self, section: Section, name: str) -> bool:
        if self.required and not section.has(name):
            section.bad(name, "is missing")
        return section.flag(name, default=self.default)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"} if self.required else {"type": ["boolean", "null"], "default": self.default}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Words:
    """A list of words; with at least one where it is required."""

    doc: str
    required: bool = False
    choices: tuple[str, ...] = ()

    def read(self, section: Section, name: str) -> tuple[str, ...]:
        words = section.words(name, required=self.required)
        if self.required and not words and name in section.table.entries:
            section.bad(name, "names nothing")
        for word in words:
            if self.choices and word not in self.choices:
                known = ", ".join(self.choices)
                section.bad(name, f"{word[:60]!r} is not one of {known}", did_you_mean(word, self.choices))
        return words

    def schema(self) -> dict[str, Any]:
        items = {"enum": list(self.choices)} if self.choices else {"type": [*_TEXT, "boolean"]}
        return {"type": "array", "items": items, "minItems": 1} if self.required else {"type": ["array", "null"], "items": items}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextMap:
    """Names with a word each."""

    doc: str
    required: bool = False

    def read(self, section: Section, name: str) -> dict[str, str]:
        table = section.mapping(name, required=self.required) or Table({}, section.table.position)
        inner = Section(table, section.at(name), tuple(table.entries), section.problems)
        return {key: inner.text(key, required=True) for key in table.entries}

    def schema(self) -> dict[str, Any]:
        return {"type": ["object", "null"], "additionalProperties": {"type": _TEXT, "minLength": 1}}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WordsMap:
    """Lists of words under names that are known."""

    doc: str
    names: tuple[str, ...]
    required: bool = False

    def read(self, section: Section, name: str) -> dict[str, tuple[str, ...]]:
        table = section.mapping(name, required=self.required) or Table({}, section.table.position)
        inner = Section(table, section.at(name), self.names, section.problems)
        return {key: inner.words(key) for key in table.entries}

    def schema(self) -> dict[str, Any]:
        one = Words("").schema()
        return {"type": ["object", "null"], "properties": dict.fromkeys(self.names, one), "additionalProperties": False}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Shape:
    """A mapping whose fields are known. Of the fields in ``either`` at least one is written; ``lacking`` says what else."""

    fields: Mapping[str, Field]
    doc: str = ""
    either: tuple[str, ...] = ()
    lacking: str = ""

    def read(self, section: Section) -> Values:
        values = Values(section, {name: kind.read(section, name) for name, kind in self.fields.items()})
        if self.either and not any(values[name] for name in self.either):
            place = next(name for name in self.fields if name not in self.either)
            section.bad(place, self.lacking, f"write {' or '.join(self.either)}")
        return values

    def open(self, table: Table, path: str, within: Section) -> Values:
        return self.read(Section(table, path, tuple(self.fields), within.problems))

    def needed(self) -> list[str]:
        return [name for name, kind in self.fields.items() if kind.required]

    def schema(self) -> dict[str, Any]:
        made: dict[str, Any] = {"type": "object"}
        if self.doc:
            made["description"] = self.doc
        made["properties"] = {name: {"description": kind.doc, **kind.schema()} for name, kind in self.fields.items()}
        if needed := self.needed():
            made["required"] = needed
        if self.either:
            made["anyOf"] = [{"required": [name]} for name in self.either]
        return {**made, "additionalProperties": False}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Group:
    """A mapping within a mapping. None where it is not written."""

    doc: str
    shape: Shape
    required: bool = False

    def read(self, section: Section, name: str) -> Values | None:
        table = section.mapping(name, required=self.required)
        if table is None or not (self.required or section.has(name)):
            return None
        return self.shape.open(table, section.at(name), section)

    def schema(self) -> dict[str, Any]:
        made = self.shape.schema()
        if not (self.required and self.shape.needed()):
            made["type"] = ["object", "null"]
        return made


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variant:
    """A mapping whose field ``by`` says which other fields it has. ``cases`` maps groups of words to shapes.

    The values hold ``by`` too; None where that word is missing or unknown, because nothing else can be judged then.
    """

    doc: str
    by: str
    cases: Mapping[tuple[str, ...], Shape] = field(default_factory=dict)
    required: bool = False

    def read(self, section: Section, name: str) -> Values | None:
        table = section.mapping(name, required=self.required)
        return None if table is None else self.open(table, section.at(name), section)

    def open(self, table: Table, path: str, within: Section) -> Values | None:
        loose = Section(table, path, tuple(table.entries), within.problems)
        word = loose.text(self.by, required=True, choices=tuple(word for words in self.cases for word in words))
        for words, shape in self.cases.items():
            if word in words:
                fields = (self.by, *shape.fields)
                values = shape.read(Section(table, path, fields, within.problems))
                values[self.by] = word
                return values
        return None

    def schema(self) -> dict[str, Any]:
        made = []
        for words, shape in self.cases.items():
            one = shape.schema()
            one["properties"] = {
                self.by: {"description": "Decides which other fields there are.", "enum": list(words)},
                **one["properties"],
            }
            one["required"] = [self.by, *one.get("required", [])]
            made.append(one)
        return {"oneOf": made}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Many:
    """A list of mappings of one shape. What could not be read of it is left out."""

    doc: str
    shape: Shape | Variant
    required: bool = False

    def read(self, section: Section, name: str) -> tuple[Values, ...]:
        if self.required and not section.has(name):
            section.bad(name, "is missing")
        found = [self.shape.open(table, path, section) for table, path in section.tables(name)]
        return tuple(values for values in found if values is not None)

    def schema(self) -> dict[str, Any]:
        return {"type": "array" if self.required else ["array", "null"], "items": self.shape.schema()}

"""What every verb is given: where things are kept, and how to tell what goes on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from base.events import JsonReporter, Reporter, TextReporter
from base.places import state_dir


@dataclass(frozen=True, slots=True)
class App:
    """``state`` holds clusters and stacks; ``as_json`` turns results and events into JSON."""

    state: Path
    as_json: bool
    reporter: Reporter

    @classmethod
    def make(cls, *, as_json: bool = False, state: Path | None = None) -> App:
        reporter: Reporter = JsonReporter() if as_json else TextReporter()
        return cls(state.absolute() if state else state_dir(), as_json, reporter)

    def print(self, value: Any, text: str) -> None:
        """The result of a verb: ``value`` with ``--json``, else ``text``."""
        click.echo(json.dumps(value, indent=2, sort_keys=True, default=str) if self.as_json else text)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as their widest cell, two spaces apart; the last column is not padded."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(header))]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row[:-1], widths, strict=False)), row[-1]]).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])

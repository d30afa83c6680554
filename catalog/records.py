"""What is kept with a cluster between runs: the facts about it, and which scheduler it was given and why."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from base.errors import InvalidInput, NotFound
from base.files import write_json
from catalog.plan import Facts
from catalog.resolve.choice import Choice

__all__ = ["load_choice", "load_facts", "save_choice", "save_facts"]

_PATHS = ("kubeconfig", "state_dir", "kai_binaries", "mirror", "bundle")


def save_facts(directory: Path, facts: Facts) -> None:
    """Write ``facts.json`` of a cluster's directory."""
    raw = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(facts).items()}
    write_json(directory / "facts.json", raw)


def load_facts(directory: Path) -> Facts:
    """The facts of a cluster; NotFound where nobody has looked at it yet, or the file is damaged."""
    raw = _read(directory / "facts.json")
    values: dict[str, Any] = {key: Path(value) if key in _PATHS and value else value for key, value in raw.items()}
    nodes = values.pop("nodes", {})
    try:
        return Facts(**values, nodes={str(fact): tuple(map(str, seen)) for fact, seen in dict(nodes).items()})
    except (TypeError, ValueError):
        raise NotFound(
            "nothing is known about this cluster yet", where=str(directory), todo="run `chandlery plan -c SPEC` once"
        ) from None


def save_choice(directory: Path, choice: Choice) -> None:
    """Write ``choice.json`` of a cluster's directory."""
    write_json(directory / "choice.json", {"scheduler": choice.scheduler, "reason": choice.reason})


def load_choice(directory: Path) -> Choice | None:
    """The scheduler that the cluster was given, or None before it was given one."""
    raw = _read(directory / "choice.json")
    if not raw.get("scheduler"):
        return None
    return Choice(str(raw["scheduler"]), str(raw.get("reason", "")), fresh=False)


def _read(path: Path) -> dict[str, Any]:
    """The record, empty where there is none. A damaged one is an error: it would be forgotten in silence otherwise."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot be read ({error})", where=str(path), todo="delete it; it is then settled anew") from error
    if not isinstance(raw, dict):
        raise InvalidInput("is no record", where=str(path), todo="delete it; it is then settled anew")
    return raw

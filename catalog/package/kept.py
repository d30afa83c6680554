"""Values that charts made up once, kept with the cluster that they were made for. Not a cache: who loses it makes new ones."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from base.errors import InvalidInput
from base.files import lock, write_json
from catalog.package.repeat import Made

__all__ = ["Kept"]


class Kept:
    """``directory`` is the cluster's own; the file of an add-on is readable by its owner only."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def of(self, addon: str) -> tuple[Made, ...]:
        """What was kept for an add-on; nothing where nothing was."""
        path = self._path(addon)
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            return tuple(
                Made(one["kind"], one["namespace"], one["name"], tuple(one["path"]), one["value"]) for one in raw["made"]
            )
        except FileNotFoundError:
            return ()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(
                f"cannot be read ({error})",
                where=str(path),
                todo="restore it; deleted, its passwords and certificates are made anew",
            ) from error

    def settle(self, addon: str, made: Iterable[Made]) -> tuple[Made, ...]:
        """Keep what is new in ``made`` and give back all of it, each value as it was first made. Safe for runs at once."""
        with lock(self._directory / f".{addon}.lock", f"making secrets of {addon}", wait=30.0):
            known = {_key(one): one for one in self.of(addon)}
            whole = tuple(known.get(_key(one), one) for one in made)
            fresh = [one for one in whole if _key(one) not in known]
            if fresh:
                entries = [asdict(one) for one in (*known.values(), *fresh)]
                write_json(self._path(addon), {"addon": addon, "made": entries}, mode=0o600)
            return whole

    def _path(self, addon: str) -> Path:
        return self._directory / f"{addon}.json"


def _key(one: Made) -> tuple[object, ...]:
    return one.kind, one.namespace, one.name, one.path

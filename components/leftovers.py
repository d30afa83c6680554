"""What a killed run may have made without recording it: written down before, put right by the next run.

The engine is told to save its state once, at its end, and not twice per object: with megabytes of CRDs in the state the
many saves take four times as long as all the rest (97 resources: 21 s of CPU instead of 6). What is lost by that when it is
killed is the record of objects made in that very run. Repeating the run makes up for it, since server-side apply takes over
what is there; only objects that the next run does not declare any more would be forgotten. So the intended objects are
written down before the run, and struck out when the engine has ended by itself, its state saved.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from base.deadlines import Deadline, poll
from base.errors import NotFound
from base.events import Reporter
from base.files import write_json
from base.kube import Cluster
from components.objects import ADDON_ANNOTATION, Resource, retained, stage_of
from components.stackfile import Pending

#: How long an object that is deleted may take to go (a namespace takes at least five seconds).
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True, order=True)
class Intended:
    """An object that a run was about to make. ``stage`` orders deletion, latest first."""

    stage: int
    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def intended(resources: Iterable[Resource]) -> frozenset[Intended]:
    """What is to be written down: everything but what outlives the stack anyway."""
    return frozenset(_identity(r.body, int(r.stage)) for r in resources if not r.retain)


def interrupted(pending: Iterable[Pending]) -> frozenset[Intended]:
    """The objects whose creation somebody's engine had begun and not recorded the end of."""
    objects = [op.object for op in pending if op.operation == "creating" and op.object]
    return frozenset(_identity(obj, int(stage_of(obj, frozenset()))) for obj in objects if not retained(obj))


def read(file: Path) -> frozenset[Intended]:
    """What killed runs had intended; nothing where the last run ended by itself."""
    try:
        return frozenset(Intended(**entry) for entry in json.loads(file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return frozenset()


def write(file: Path, objects: Iterable[Intended]) -> None:
    """Write the objects down before the run that is to make them; without any, the file goes away."""
    entries = [asdict(entry) for entry in sorted(objects)]
    if entries:
        write_json(file, entries)
    else:
        file.unlink(missing_ok=True)


def remove(cluster: Cluster, objects: Iterable[Intended], reporter: Reporter) -> int:
    """Delete those of the objects that exist and carry our mark, later stages first; returns how many.

    An object of the same name that somebody else made has no such mark and stays.
    """
    removed = 0
    for entry in sorted(objects, reverse=True):
        with contextlib.suppress(NotFound):  # a kind that is not served any more has no objects
            kind = cluster.discover(entry.api_version, entry.kind)
            live = cluster.get(kind, entry.name, entry.namespace or None)
            if ADDON_ANNOTATION not in (live["metadata"].get("annotations") or {}):
                continue
            cluster.delete(kind, entry.name, entry.namespace or None, propagation="Foreground", uid=live["metadata"]["uid"])
            poll(
                lambda kind=kind, entry=entry: cluster.find(kind, entry.name, entry.namespace or None) is None,  # type: ignore[misc]
                Deadline.after(_PATIENCE),
                f"deletion of {entry}",
                every=0.2,
            )
            removed += 1
            reporter.event("leftover-removed", f"removed {entry}, which an interrupted run had made", object=str(entry))
    return removed


def _identity(obj: Mapping[str, Any], stage: int) -> Intended:
    meta = obj["metadata"]
    return Intended(stage, str(obj["apiVersion"]), str(obj["kind"]), str(meta.get("namespace", "")), str(meta["name"]))

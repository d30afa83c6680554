"""The engine's events, told as progress: which object is being worked on, how many are done, what went wrong."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from base.events import Reporter, Step
from components.objects import retained

_MARKUP = re.compile(r"<\{%.*?%\}>")
_WORDS = {
    "create": "created",
    "update": "updated",
    "delete": "deleted",
    "replace": "replaced",
    "create-replacement": "replaced",
    "delete-replaced": "deleted",
    "read": "read",
    "refresh": "refreshed",
    "same": "unchanged",
    "discard": "forgotten",
}
_QUIET = {"same", "refresh", "read"}


@dataclass(frozen=True, slots=True)
class Changes:
    """Numbers of resources (objects, components, the provider and the stack itself) by what happened to them.

    ``released`` ones left the stack and stay on the cluster: CRDs, queues and what a chart marks as kept.
    """

    create: int = 0
    update: int = 0
    same: int = 0
    delete: int = 0
    replace: int = 0
    released: int = 0

    @property
    def any(self) -> bool:
        return bool(self.create or self.update or self.delete or self.replace or self.released)

    def with_released(self, number: int) -> Changes:
        """The engine counts what it only lets go of among the deleted."""
        return replace(self, delete=self.delete - number, released=number)

    @classmethod
    def of(cls, counts: Mapping[Any, int]) -> Changes:
        """From the engine's summary, by operation."""
        named = {str(getattr(op, "value", op)): number for op, number in counts.items()}
        return cls(
            create=named.get("create", 0),
            update=named.get("update", 0),
            same=named.get("same", 0),
            delete=named.get("delete", 0) + named.get("discard", 0),
            replace=named.get("replace", 0),
        )

    def __str__(self) -> str:
        said = {
            "created": self.create,
            "updated": self.update,
            "replaced": self.replace,
            "deleted": self.delete,
            "released (still on the cluster)": self.released,
        }
        parts = [f"{number} {word}" for word, number in said.items() if number]
        return ", ".join([*parts, f"{self.same} unchanged"]) if parts else f"nothing changed ({self.same} unchanged)"


@dataclass(slots=True)
class Progress:
    """Takes the engine's events one by one, from whatever thread they come on.

    ``errors`` are the engine's error diagnostics in order, without markup; ``failed`` the objects that could not be made or
    did not become ready, as they were to be; ``changes`` the engine's summary.
    """

    reporter: Reporter
    step: Step
    preview: bool = False
    errors: list[str] = field(default_factory=list)
    failed: list[Mapping[str, Any]] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)
    released: int = 0
    _begun: dict[str, float] = field(default_factory=dict)
    _done: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, event: Any) -> None:
        with self._lock:
            if event.resource_pre_event:
                self._begin(event.resource_pre_event.metadata)
            elif event.res_outputs_event:
                self._end(event.res_outputs_event.metadata)
            elif event.res_op_failed_event:
                self._fail(event.res_op_failed_event.metadata)
            elif event.diagnostic_event:
                self._diagnose(event.diagnostic_event)
            elif event.summary_event:
                self.changes = Changes.of(event.summary_event.resource_changes).with_released(self.released)

    def _begin(self, step: Any) -> None:
        self._begun[step.urn] = time.monotonic()
        self._note(short(step.urn))

    def _end(self, step: Any) -> None:
        self._done += 1
        operation = str(getattr(step.op, "value", step.op))
        begun = self._begun.pop(step.urn, time.monotonic())
        self._note()
        if operation in _QUIET or not step.type.startswith("kubernetes:"):
            return
        elapsed = time.monotonic() - begun
        word = _WORDS.get(operation, operation)
        old = step.old.inputs if operation == "delete" and step.old is not None else None
        if old and old.get("metadata") and old.get("apiVersion") and retained(old):
            self.released += 1
            word = "released (it stays on the cluster)"
        if self.preview:
            word = f"would be {word}"
        self.reporter.event(
            "resource", f"{word} {short(step.urn)}", urn=step.urn, operation=operation, elapsed_s=round(elapsed, 3)
        )

    def _fail(self, step: Any) -> None:
        self._begun.pop(step.urn, None)
        wanted = step.new.inputs if step.new is not None else None
        if wanted and wanted.get("apiVersion") and wanted.get("metadata"):
            self.failed.append(wanted)
        self.reporter.event("resource-failed", f"failed {short(step.urn)}", urn=step.urn)

    def _diagnose(self, event: Any) -> None:
        text = _MARKUP.sub("", event.message).strip()
        if not text:
            return
        if event.severity == "error":
            self.errors.append(f"{short(event.urn)}: {text}" if event.urn else text)
        elif event.urn in self._begun:
            # What the provider says about an object while it waits for it, warnings too, holds for that moment only.
            self._note(f"{short(event.urn)}: {text.splitlines()[0]}")
        elif event.severity == "warning":
            self.reporter.event("warning", text, urn=event.urn or "")

    def _note(self, about: str = "") -> None:
        # The oldest unfinished one is what the rest waits for.
        about = about or (short(next(iter(self._begun))) if self._begun else "")
        self.step.note(f"{self._done} done{f', {about}' if about else ''}")


def short(urn: str) -> str:
    """``Kind namespace/name`` of a resource's URN; the add-on's name, which begins the resource name, is left out."""
    parts = urn.split("::")
    if len(parts) < 4:
        return urn
    kind = parts[2].rsplit("$", 1)[-1].rsplit(":", 1)[-1]
    name = "::".join(parts[3:])
    return f"{kind} {name.partition('/')[2] or name}"

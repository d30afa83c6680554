"""What the workers of a run have said so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from base.events import Reporter, Step
from validation.outcomes import Outcome
from validation.run.crew import Worker
from validation.run.desk import Desk
from validation.run.results import CheckResult

__all__ = ["Book"]


@dataclass(slots=True)
class Book:
    """``planned`` and ``done`` by name. ``labs`` says which check made which laboratory, for leftovers found at the end."""

    planned: dict[str, CheckResult] = field(default_factory=dict)
    done: dict[str, CheckResult] = field(default_factory=dict)
    alone: list[str] = field(default_factory=list)
    labs: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    stopped: str = ""

    def take(self, worker: Worker, message: dict[str, Any], reporter: Reporter, step: Step) -> None:
        """Write down one message and tell the user what is worth telling."""
        kind = message["type"]
        if kind == "plan" and not self.planned:
            results = [CheckResult.from_json(raw) for raw in message["checks"]]
            self.planned = {item.name: item for item in results}
            self.alone = list(message["alone"])
        elif kind == "ready":
            worker.ready = True
        elif kind == "start":
            self.running.append(message["name"])
        elif kind == "result":
            self._result(message, reporter)
        elif kind == "stopped" and not self.stopped:
            self.stopped = message["text"]
            reporter.event("stopped", self.stopped)
        elif kind == "end":
            worker.ended = True
        step.note(f"{len(self.done)} of {len(self.planned)} done; running {', '.join(self.running) or 'nothing'}")

    def desk(self) -> Desk:
        """The desk that hands out what was planned."""
        return Desk([name for name in self.planned if name not in self.alone], list(self.alone))

    def blame(self, text: str, reporter: Reporter) -> None:
        """Something was left: the check whose laboratory is named has failed, however it came out."""
        for lab, name in self.labs.items():
            if lab in text and name in self.done:
                old = self.done[name]
                said = f"clean-up: namespace {lab} does not go away"
                reason = "\n".join(part for part in (old.reason, said) if part)
                self.done[name] = replace(old, outcome=Outcome.FAILED, reason=reason)
                reporter.event("leftover", said, id=name)

    def results(self, why_missing: str) -> tuple[CheckResult, ...]:
        """All planned checks by room and name; those without a verdict are unknown, and say why."""
        found = [
            self.done.get(name) or replace(item, outcome=Outcome.UNKNOWN, reason=why_missing)
            for name, item in self.planned.items()
        ]
        return tuple(sorted(found, key=lambda item: (item.room, item.id, item.case)))

    def _result(self, message: dict[str, Any], reporter: Reporter) -> None:
        raw = {key: value for key, value in message.items() if key not in {"type", "labs"}}
        item = CheckResult.from_json(raw)
        self.done[item.name] = item
        self.labs |= dict.fromkeys(message["labs"], item.name)
        if item.name in self.running:
            self.running.remove(item.name)
        text = f"{item.outcome:<15} {item.name:<10} {item.title}  ({item.seconds:.1f} s)"
        if item.outcome is not Outcome.PASSED and item.reason:
            text += f"\n{'':>18}{item.reason.splitlines()[0][:200]}"
        reporter.event("check", text, id=item.name, outcome=str(item.outcome), seconds=item.seconds, reason=item.reason)

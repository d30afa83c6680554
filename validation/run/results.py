"""What a run of the suite found. Frozen; reports and the summary table are made from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from catalog.plan import State
from validation.harness.timeline import Seen
from validation.outcomes import Outcome

__all__ = ["AddonRow", "CheckResult", "RunResult", "Verdict", "summary", "verdict"]

Verdict = Literal["passed", "failed", "incomplete"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check, or one case of it. ``seconds`` is its wall time with set-up and clean-up; ``seen`` its timeline."""

    id: str
    case: str
    title: str
    proves: str
    story: str
    room: str
    tier: str
    addon: str
    where: str
    outcome: Outcome
    reason: str
    seconds: float
    seen: tuple[Seen, ...] = ()

    @property
    def name(self) -> str:
        """``T10``, or ``I01[cert-manager]`` for a case."""
        return f"{self.id}[{self.case}]" if self.case else self.id

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> CheckResult:
        seen = tuple(Seen(float(item["at"]), str(item["what"])) for item in raw["seen"])
        return cls(**{**raw, "outcome": Outcome(raw["outcome"]), "seen": seen})


@dataclass(frozen=True, slots=True)
class AddonRow:
    """One add-on's line of the summary. ``undecided`` counts unknown; known upstream faults count as neither."""

    addon: str
    version: str
    state: State
    passed: int
    failed: int
    skipped: int
    undecided: int
    known_faults: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run. ``started`` is ISO 8601 with offset; ``notes`` are things about the run itself, such as leftovers removed."""

    run: str
    cluster: str
    cluster_uid: str
    spec: str
    target: str
    kubernetes: str
    scheduler: str
    scheduler_version: str
    scheduler_state: State | Literal["absent"]
    scheduler_reason: str
    started: str
    seconds: float
    addons: tuple[AddonRow, ...]
    checks: tuple[CheckResult, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return verdict(self.checks)

    def counts(self) -> dict[Outcome, int]:
        """How many checks came out how; every outcome is present."""
        counted = Counter(item.outcome for item in self.checks)
        return {outcome: counted.get(outcome, 0) for outcome in Outcome}


def verdict(checks: Iterable[CheckResult]) -> Verdict:
    """Passed only if something passed and nothing failed or stayed open: no check at all is not a pass."""
    outcomes = {item.outcome for item in checks}
    if Outcome.FAILED in outcomes:
        return "failed"
    if Outcome.UNKNOWN in outcomes or Outcome.PASSED not in outcomes:
        return "incomplete"
    return "passed"


def summary(addon: str, version: str, state: State, checks: Iterable[CheckResult]) -> AddonRow:
    """The line of one add-on, from the checks that are about it."""
    counted = Counter(item.outcome for item in checks if item.addon == addon)
    return AddonRow(
        addon=addon,
        version=version,
        state=state,
        passed=counted[Outcome.PASSED],
        failed=counted[Outcome.FAILED],
        skipped=counted[Outcome.SKIPPED] + counted[Outcome.UNSUPPORTED],
        undecided=counted[Outcome.UNKNOWN],
        known_faults=counted[Outcome.EXPECTED_FAIL] + counted[Outcome.UNEXPECTED_PASS],
    )

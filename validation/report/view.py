"""The data behind every report, as plain values: what stands where is decided here, how it looks in the template. Pure."""

from __future__ import annotations

import importlib
import shlex
from dataclasses import asdict
from typing import Any

from validation.outcomes import Outcome
from validation.run.results import CheckResult, RunResult

__all__ = ["SCHEMA", "data", "rerun", "view"]

#: Changes with every incompatible change of report.json.
SCHEMA = "chandlery.dev/validation-report/v1"

_TITLES = {
    "passed": "Passed",
    "failed": "Failed",
    "incomplete": "Incomplete",
}
#: Worst first: the order in which a reader wants to see them.
_ORDER = (
    Outcome.FAILED,
    Outcome.UNKNOWN,
    Outcome.UNEXPECTED_PASS,
    Outcome.EXPECTED_FAIL,
    Outcome.PASSED,
    Outcome.SKIPPED,
    Outcome.UNSUPPORTED,
)
_OPEN = {Outcome.FAILED, Outcome.UNKNOWN, Outcome.UNEXPECTED_PASS}


def rerun(result: RunResult, check: CheckResult) -> str:
    """The command that runs just this check again."""
    return f"chandlery validate run -c {shlex.quote(result.spec)} --only {shlex.quote(check.name)}"


def data(result: RunResult) -> dict[str, Any]:
    """The content of report.json: the run, its verdict and counts, one record per add-on and per check.

    Times in seconds; ``started`` in ISO 8601; ``outcome`` is one of passed, failed, skipped, unknown, expected-fail,
    unexpected-pass, unsupported; ``state`` is real, simulated or reference.
    """
    raw = asdict(result)
    raw["schema"] = SCHEMA
    raw["verdict"] = result.verdict
    raw["counts"] = {str(outcome): count for outcome, count in result.counts().items()}
    for record, check in zip(raw["checks"], result.checks, strict=True):
        record["name"] = check.name
        record["outcome"] = str(check.outcome)
        record["rerun"] = rerun(result, check)
    return raw


def view(result: RunResult) -> dict[str, Any]:
    """What the HTML template is given."""
    counts = result.counts()
    states = {row.addon: row.state for row in result.addons}
    rooms: dict[str, list[dict[str, Any]]] = {}
    for check in result.checks:
        rooms.setdefault(check.room, []).append(
            {
                "check": check,
                "open": check.outcome in _OPEN,
                "rerun": rerun(result, check),
                "state": states.get(check.addon, ""),
                "headline": check.reason.splitlines()[0] if check.reason else "",
            }
        )
    return {
        "result": result,
        "title": _TITLES[result.verdict],
        "when": _when(result.started),
        "sentence": _sentence(result, counts),
        "counts": [(str(outcome), counts[outcome]) for outcome in _ORDER if counts[outcome]],
        "rooms": [
            {
                "name": name,
                "about": _about(name),
                "items": items,
                "counts": _counted(items),
            }
            for name, items in sorted(rooms.items(), key=lambda pair: (_worst(pair[1]), pair[0]))
        ],
        "simulated": [row.addon for row in result.addons if row.state == "simulated"],
        "reference": result.scheduler_state == "reference",
        "schema": SCHEMA,
    }


def _when(started: str) -> str:
    """``2026-03-01 12:00 +0000`` of an ISO 8601 time."""
    return f"{started[:10]} {started[11:16]} {started[19:]}".strip()


def _counted(items: list[dict[str, Any]]) -> list[tuple[str, int]]:
    outcomes = [item["check"].outcome for item in items]
    return [(str(outcome), outcomes.count(outcome)) for outcome in _ORDER if outcome in outcomes]


def _worst(items: list[dict[str, Any]]) -> int:
    """0 for a room that needs a look, 1 for the others."""
    return 0 if any(item["open"] for item in items) else 1


def _sentence(result: RunResult, counts: dict[Outcome, int]) -> str:
    total = len(result.checks)
    ran = total - counts[Outcome.SKIPPED] - counts[Outcome.UNSUPPORTED]
    if result.verdict == "failed":
        return f"{counts[Outcome.FAILED]} of the {_many(ran)} that could run here failed."
    if result.verdict == "passed":
        return f"All {ran} checks that could run here passed." if counts[Outcome.PASSED] == ran else _mixed(counts, ran)
    if counts[Outcome.UNKNOWN]:
        return f"{counts[Outcome.UNKNOWN]} of the {_many(ran)} that could run here came to no verdict, which is not a pass."
    return "No check came to a pass."


def _mixed(counts: dict[Outcome, int], ran: int) -> str:
    known = counts[Outcome.EXPECTED_FAIL] + counts[Outcome.UNEXPECTED_PASS]
    return f"{counts[Outcome.PASSED]} of {ran} checks passed; {known} concern known upstream faults."


def _many(count: int) -> str:
    return f"{count} check{'s' if count != 1 else ''}"


def _about(room: str) -> str:
    """The first line of a room's docstring."""
    try:
        text = importlib.import_module(f"validation.suite.{room}").__doc__ or ""
    except ImportError:
        return ""
    return text.strip().splitlines()[0] if text.strip() else ""

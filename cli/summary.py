"""The table that ends a run: per add-on what is there and what its checks said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from base.errors import Exit
from cli.context import App, table
from validation.report import Reports
from validation.run import RunResult

#: "Could not tell" is neither a pass nor a failure: it is a run that did not come to its end in time.
EXIT_OF = {"passed": Exit.OK, "failed": Exit.CHECK_FAILED, "incomplete": Exit.TIMED_OUT}


def summary_data(result: RunResult, reports: Reports) -> dict[str, Any]:
    """For ``--json``: verdict, scheduler, a record per add-on, where the reports are."""
    return {
        "cluster": result.cluster,
        "verdict": result.verdict,
        "scheduler": {
            "name": result.scheduler,
            "version": result.scheduler_version,
            "state": result.scheduler_state,
            "reason": result.scheduler_reason,
        },
        "addons": [
            {
                "addon": row.addon,
                "version": row.version,
                "state": row.state,
                "passed": row.passed,
                "failed": row.failed,
                "skipped": row.skipped,
                "undecided": row.undecided,
                "knownFaults": row.known_faults,
            }
            for row in result.addons
        ],
        "counts": {str(outcome): count for outcome, count in result.counts().items()},
        "reports": {"html": str(reports.html), "junit": str(reports.junit), "json": str(reports.json)},
        "seconds": result.seconds,
    }


def summary_text(result: RunResult, reports: Reports) -> str:
    """For people."""
    header = ("add-on", "version", "state", "passed", "failed", "skipped", "undecided", "known faults")
    rows = [(r.addon, r.version, r.state, r.passed, r.failed, r.skipped, r.undecided, r.known_faults) for r in result.addons]
    lines = [
        table(header, rows),
        "",
        f"verdict: {result.verdict} ({_counted(result)} in {result.seconds:.0f} s)",
        f"scheduler: {result.scheduler} {result.scheduler_version} ({result.scheduler_state}): {result.scheduler_reason}",
    ]
    if result.scheduler_state == "reference":
        lines.append("           a reference run shows how the path works; it is no evidence about KAI")
    told = [check for check in result.checks if _open(check.outcome)]
    lines += [f"{check.outcome}: {check.name} {check.title}: {_first(check.reason)}" for check in told]
    lines += [f"report: {reports.html}"]
    return "\n".join(lines)


def tell_leftovers(app: App, queues: Sequence[str]) -> None:
    """Queues outlive the spec that named them; what still holds quota is said at every up."""
    for name in queues:
        app.reporter.event(
            "leftover-queue",
            f"queue {name} is not in the spec any more and keeps its quota; `kubectl delete queue {name}` ends that",
            queue=name,
        )


def _counted(result: RunResult) -> str:
    return ", ".join(f"{number} {outcome}" for outcome, number in result.counts().items() if number)


def _open(outcome: str) -> bool:
    return outcome not in {"passed", "skipped", "unsupported"}


def _first(reason: str) -> str:
    return reason.splitlines()[0] if reason else ""

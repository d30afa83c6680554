"""Reports of a run: report.html for people, junit.xml for continuous integration, report.json for programs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from base.files import write_atomic, write_json
from validation.report import html, junit
from validation.report.view import SCHEMA, data, rerun
from validation.run.results import RunResult

__all__ = ["SCHEMA", "Reports", "data", "rerun", "write"]


@dataclass(frozen=True, slots=True)
class Reports:
    """Where the reports of one run are."""

    html: Path
    junit: Path
    json: Path


def write(result: RunResult, folder: Path) -> Reports:
    """Write all three, each whole or not at all; Unavailable when the disk is full."""
    reports = Reports(folder / "report.html", folder / "junit.xml", folder / "report.json")
    page, suites, record = html.render(result), junit.render(result), data(result)
    write_atomic(reports.html, page)
    write_atomic(reports.junit, suites)
    write_json(reports.json, record)
    return reports

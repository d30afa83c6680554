"""report.html: one file that needs nothing from anywhere, readable in light and dark and on paper."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from validation.report.view import view
from validation.run.results import RunResult

__all__ = ["render"]

_TEMPLATES = Path(__file__).parent / "templates"


def render(result: RunResult) -> str:
    """The page. Every value is escaped: object names and messages come from a cluster that may belong to anybody."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["duration"] = duration
    page = environment.get_template("report.html.j2").render(view(result))
    # half a surrogate pair can come out of JSON, but cannot go into a file
    return page.encode("utf-8", "replace").decode()


def duration(seconds: float) -> str:
    """``3.2 s``, ``4 min 05 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"

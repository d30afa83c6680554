"""``python -m tests.bench [target|planning|policy|catalogue|install ...]``: measure and print; all write docs/benchmarks.md."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from base.events import TextReporter
from base.files import write_atomic
from base.places import REPOSITORY
from cli.context import App
from tests.bench import catalogue, install, planning, policy, target
from tests.bench.measure import Figure, page


def main(chosen: list[str]) -> int:
    """Exit 1 when a figure is missed."""
    load = os.getloadavg()[0]
    reporter = TextReporter()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="chandlery-bench-") as folder:
        app = App(Path(folder), as_json=False, reporter=reporter)
        parts = {
            "target": lambda: target.figures(app.state, reporter),
            "planning": lambda: planning.figures(app),
            "policy": policy.figures,
            "catalogue": catalogue.figures,
            "install": lambda: install.figures(app),
        }
        for name in chosen or list(parts):
            for figure in parts[name]():
                figures.append(figure)
                word = "met" if figure.met else "MISSED"
                reporter.event("figure", f"{figure.what}: {figure.value:.2f} {figure.unit} (at most {figure.wanted:g}): {word}")
    if not chosen:
        write_atomic(REPOSITORY / "docs" / "benchmarks.md", page(figures, load))
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

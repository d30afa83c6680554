"""How long the decisions take: rendering, resolving, planning."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from base.places import REPOSITORY
from cli.context import App
from cli.options import Wishes
from cli.session import open_session, packager
from tests.bench.measure import Figure, clock

_PLAN = """
import time
from pathlib import Path
from catalog.resolve.choice import Choice
from catalog.read.load import load as load_catalogue
from catalog.plan import Facts
from catalog.resolve.resolver import resolve
from spec.load import load
spec = load(Path("clusters/quickstart.yaml"))
facts = Facts("embedded", "1.36", Path("k"), "uid", Path("s"))
plan = resolve(spec, load_catalogue(), facts, Choice("kai-reference", "bench"))
assert len(plan.items) == 4
print(time.process_time())
"""


def figures(app: App) -> Iterator[Figure]:
    """Rendering with an empty render cache and with a full one; resolving in a process of its own, imports included."""
    session = open_session(app, REPOSITORY / "clusters" / "quickstart.yaml", Wishes("kai-reference"), decide_only=True)
    shared = packager(app, session.catalogue, None)
    for item in session.plan.items:
        shared.render(item)  # the charts are in the cache from here on
    cold = packager(app, session.catalogue, None, renders=app.state / "renders")
    with clock() as first:
        rendered = [cold.render(item) for item in session.plan.items]
    if not all(r.objects or r.crds for r in rendered):
        raise RuntimeError("a chart rendered nothing")
    yield Figure(f"rendering {len(rendered)} add-ons of the quickstart", first.wall, 2.0, "s", "charts in the cache")
    with clock() as second:
        for item in session.plan.items:
            cold.render(item)
    yield Figure("rendering one add-on again (cache hit)", 1000 * second.wall / len(rendered), 20.0, "ms")
    child = subprocess.run(
        [sys.executable, "-c", _PLAN], cwd=REPOSITORY, env=os.environ, capture_output=True, text=True, check=True
    )
    yield Figure("resolving and planning one cluster, CPU with imports", float(child.stdout), 0.3, "s")

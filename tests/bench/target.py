"""How long the embedded target takes, with its programs in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import toolchain
from base.events import Reporter
from spec.model import NodePool
from tests.bench.measure import Figure, clock
from validation.targets import embedded
from validation.targets.embedded import TargetRequest


def figures(state: Path, reporter: Reporter) -> Iterator[Figure]:
    """8 and 500 nodes, from nothing to all Ready."""
    tools = toolchain.obtain_all(embedded.TOOLS, reporter)
    for count, wanted in ((8, 10.0), (500, 30.0)):
        name = f"bench-{count}"
        request = TargetRequest(name, state, "1.36", (NodePool("default", count),))
        try:
            with clock() as taken:
                status = embedded.up(request, tools, reporter)
            if not status.ready or status.nodes_ready != count:
                raise RuntimeError(f"{status.nodes_ready} of {count} nodes are ready")
        finally:
            embedded.down(state, name, delete=True, reporter=reporter)
        yield Figure(f"embedded target: API and {count} nodes ({count * 8} GPUs) Ready", taken.wall, wanted, "s")

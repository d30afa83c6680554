"""One measured figure, and the page that holds them."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """``value`` against ``wanted``, an upper bound; both in ``unit``."""

    what: str
    value: float
    wanted: float
    unit: str
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.wanted


@dataclass(slots=True)
class Clock:
    """Seconds of wall clock and of this process's CPU, set when the block ends."""

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def clock() -> Iterator[Clock]:
    taken = Clock()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        yield taken
    finally:
        taken.wall, taken.cpu = time.perf_counter() - wall, time.process_time() - cpu


def page(figures: Iterable[Figure], load: float) -> str:
    """The Markdown page, with the machine that the figures were taken on."""
    rows = [
        f"| {f.what} | {f.value:.2f} {f.unit} | {f.wanted:g} {f.unit} | {'met' if f.met else '**missed**'} | {f.note} |"
        for f in figures
    ]
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench`. A figure is a measurement on one machine, never a test.",
            "",
            f"{time.strftime('%Y-%m-%d')}, {machine()}, load average at the start {load:.1f}.",
            "",
            "| what | measured | at most | | |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def machine() -> str:
    """Cores, processor, memory, kernel and Python."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0))
    return f"{cores} cores of {model}, {memory:.0f} GiB, Linux {platform.release()}, Python {platform.python_version()}"

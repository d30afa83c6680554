"""All the times of the suite in one place, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Times"]


@dataclass(frozen=True, slots=True)
class Times:
    """``must``: what must happen has this long. ``quiet``: what must not happen is watched this long.

    A scheduling cycle takes about a second and a single action shows in two or three, so 30 s of quiet are many cycles;
    what must happen gets twice that, because a busy machine is no fault of the scheduler's. ``settled`` is the quiet
    window for a workload about which the scheduler has already told its verdict. ``clean`` is for the removal of a
    check's objects and ``namespaces`` for the end of all namespaces after the last check.
    """

    must: float = 60.0
    quiet: float = 30.0
    settled: float = 12.0
    clean: float = 60.0
    namespaces: float = 90.0

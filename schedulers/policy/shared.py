"""GPUs of one node that pods share. Whole GPUs stay whole until the first share is put on them.

A shared GPU is a group with a name. Three amounts of memory decide about it: ``held`` by pods that stay, ``leaving`` with
pods that are being deleted, ``promised`` to pods that wait for that. Whatever happens to a group follows from these
alone, so that every change can be taken back exactly. Source: KAI api/node_info/gpu_sharing_node_info.go; reference 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from schedulers.policy.devices import taken
from schedulers.policy.workload import GpuShare

HELD, LEAVING, PROMISED = 0, 1, 2
_NOISE = 1e-6


class SharedGpus:
    """The shared GPUs of a node whose GPUs have ``memory`` MiB each."""

    __slots__ = ("groups", "memory")

    def __init__(self, memory: float) -> None:
        self.memory = memory
        self.groups: dict[str, list[float]] = {}

    def change(self, share: GpuShare, groups: Sequence[str], column: int, sign: float) -> tuple[float, float]:
        """Book a share on its groups. Returns by how much whole idle GPUs and whole releasing GPUs change."""
        amount = sign * taken(share, self.memory)
        idle = releasing = 0.0
        for name in groups:
            state = self.groups.get(name)
            if state is None:
                state = self.groups[name] = [0.0, 0.0, 0.0]
            before = _effect(state)
            state[column] += amount
            after = _effect(state)
            idle += after[0] - before[0]
            releasing += after[1] - before[1]
            if max(state) < _NOISE:
                del self.groups[name]
        return idle, releasing

    def joinable(self, share: GpuShare) -> list[str]:
        """Groups that have room for one device of the share once everything is gone that is leaving."""
        want = taken(share, self.memory)
        return [
            name
            for name, (held, _, promised) in self.groups.items()
            if held + promised > _NOISE and self._room(held, promised, want)
        ]

    def _room(self, held: float, promised: float, want: float) -> bool:
        return self.memory - held - promised - want >= -_NOISE

    def free_now(self, name: str, share: GpuShare) -> bool:
        """Room on this group right now."""
        held, leaving, _ = self.groups[name]
        return held + leaving > _NOISE and self.memory - held - leaving - taken(share, self.memory) >= -_NOISE

    def used(self, name: str) -> float:
        """Part of the group's GPU that is in use or promised, 0 to 1."""
        return sum(self.groups[name]) / self.memory

    def free(self) -> float:
        """GPUs' worth of room on GPUs that are shared already, once everything is gone that is leaving."""
        rooms = (self.memory - held - promised for held, _, promised in self.groups.values() if held + promised > _NOISE)
        return sum(rooms) / self.memory

    def fits_device(self, share: GpuShare) -> bool:
        """The share is no larger than a GPU of this node."""
        return taken(share, self.memory) <= self.memory + _NOISE

    def choose(self, share: GpuShare, whole: int, spread: bool) -> list[str | None] | None:
        """The GPUs for a share, None standing for a whole one; None where there are too few of them.

        Packing takes the fullest groups first and whole GPUs last, spreading the other way round (plugins/gpupack, gpuspread).
        """
        if not self.fits_device(share):
            return None
        groups = sorted(self.joinable(share), key=lambda name: (self.used(name) if spread else -self.used(name), name))
        fresh: list[str | None] = [None] * whole
        found = ([*fresh, *groups] if spread else [*groups, *fresh])[: share.devices]
        return found if len(found) == share.devices else None


def _effect(state: list[float]) -> tuple[float, float]:
    held, leaving, promised = (amount > _NOISE for amount in state)
    if held or leaving:
        return -1.0, 1.0 if not held and not promised else 0.0
    return 0.0, -1.0 if promised else 0.0

"""Amounts of the three resources that KAI counts in queues, and what -1 means in a comparison."""

from __future__ import annotations

from typing import NamedTuple

#: A quota or limit without bound (pkg/common/constants, UnlimitedResourceQuantity).
UNLIMITED = -1.0

#: Order in which KAI looks at resources; the first one that is exceeded is named in a message
#: (plugins/proportion/resource_share, AllResources). Indexes into :class:`Amounts`.
CHECK_ORDER = (1, 2, 0)
NAMES = ("GPU", "CPU", "Memory")


class Amounts(NamedTuple):
    """GPUs, millicores, bytes. In a quota or limit -1 is unlimited."""

    gpu: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0

    def plus(self, other: Amounts) -> Amounts:
        return Amounts(self.gpu + other.gpu, self.cpu + other.cpu, self.memory + other.memory)

    def minus(self, other: Amounts) -> Amounts:
        return Amounts(self.gpu - other.gpu, self.cpu - other.cpu, self.memory - other.memory)


ZERO = Amounts()
UNBOUNDED = Amounts(UNLIMITED, UNLIMITED, UNLIMITED)


def total(amounts: list[Amounts] | tuple[Amounts, ...]) -> Amounts:
    """Sum of amounts, resource by resource."""
    gpu = cpu = memory = 0.0
    for one in amounts:
        gpu += one[0]
        cpu += one[1]
        memory += one[2]
    return Amounts(gpu, cpu, memory)


def exceeds(amount: float, bound: float) -> bool:
    """True when ``amount`` is above ``bound``; unlimited is above everything but unlimited (compareQuantities)."""
    if bound == UNLIMITED:
        return False
    return amount == UNLIMITED or amount > bound


def within(amounts: Amounts, bounds: Amounts) -> bool:
    """True when no resource exceeds its bound (ResourceQuantities.LessEqual)."""
    return not (exceeds(amounts[0], bounds[0]) or exceeds(amounts[1], bounds[1]) or exceeds(amounts[2], bounds[2]))

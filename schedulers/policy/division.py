"""How one resource of one level is divided among the queues of that level.

Source: KAI docs/fairness; pkg/scheduler/plugins/proportion/resource_division/resource_division.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schedulers.policy.resources import UNLIMITED


@dataclass(frozen=True, slots=True)
class Claim:
    """What one queue brings to the table for one resource. ``rank`` orders equals: age first, then name."""

    deserved: float
    limit: float
    weight: float
    requested: float
    priority: int
    rank: tuple[float, str]
    usage: float = 0.0

    @property
    def requestable(self) -> float:
        """The request, cut at the limit (ResourceShare.GetRequestableShare)."""
        return self.requested if self.limit == UNLIMITED else min(self.limit, self.requested)


def divide(amount: float, claims: Sequence[Claim], k_value: float = 1.0) -> list[float]:
    """Fair shares, in the order of the claims.

    First everybody gets the smaller of its quota and its request, also where quotas add up to more than there is.
    Then the surplus goes to the claims of the highest priority, by weight and in whole units, then to the next priority.
    What rounding down left over goes out in single units, largest fraction first.
    """
    shares = [min(amount if claim.deserved == UNLIMITED else claim.deserved, claim.requestable) for claim in claims]
    surplus = amount - sum(shares)
    if surplus <= 0:
        return shares
    leftovers: dict[int, dict[int, float]] = {}
    buckets: dict[int, list[int]] = {}
    for index in sorted(range(len(claims)), key=lambda i: claims[i].rank):
        buckets.setdefault(claims[index].priority, []).append(index)
    for priority in sorted(buckets, reverse=True):
        surplus, leftovers[priority] = _by_weight(surplus, claims, buckets[priority], shares, k_value)
    for priority in sorted(buckets, reverse=True):
        fractions = leftovers[priority]
        for index in sorted(fractions, key=lambda i: (-fractions[i], claims[i].rank)):
            if surplus <= 0:
                return shares
            unit = min(1.0, surplus)
            shares[index] += unit
            surplus -= unit
    return shares


def _by_weight(
    surplus: float, claims: Sequence[Claim], bucket: Iterable[int], shares: list[float], k_value: float
) -> tuple[float, dict[int, float]]:
    """Rounds over one priority bucket, until nobody asks for less than its part. Returns what is left and the fractions."""
    fractions: dict[int, float] = {}
    bucket = tuple(bucket)
    while surplus > 0:
        weights = _weights(claims, bucket, shares, k_value)
        whole = sum(weights.values())
        if whole == 0:
            break
        again = False
        to_give = surplus
        for index, weight in weights.items():
            if claims[index].weight == 0 or surplus <= 0:
                continue
            missing = _missing(claims[index], shares[index])
            part = to_give * weight / whole
            if missing <= part:
                given = missing
                fractions.pop(index, None)
            else:
                given = max(0.0, float(math.floor(part)))
                if part > given:
                    fractions[index] = part - given
            if given:
                shares[index] += given
                surplus -= given
                again = again or missing < part
        if not again:
            break
    return surplus, fractions


def _weights(claims: Sequence[Claim], bucket: Iterable[int], shares: list[float], k_value: float) -> dict[int, float]:
    """Weight of each unsatisfied claim, less what it used in the past (calcShareWeights)."""
    open_claims = [index for index in bucket if not _satisfied(claims[index], shares[index])]
    whole = sum(claims[index].weight for index in open_claims if _missing(claims[index], shares[index]) > 0)
    if whole == 0:
        return {}
    result = {}
    for index in open_claims:
        part = claims[index].weight / whole
        result[index] = max(0.0, part + k_value * (part - claims[index].usage))
    return result


def _satisfied(claim: Claim, share: float) -> bool:
    return claim.requested <= share or (claim.limit != UNLIMITED and claim.limit <= share)


def _missing(claim: Claim, share: float) -> float:
    return max(0.0, claim.requestable - share)

"""Who goes first: among queues, among the groups of a queue, and among victims.

Sources: KAI plugins/proportion/queue_order/queue_order.go; plugins/priority, plugins/elastic; Session.JobOrderFn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schedulers.policy.resources import UNLIMITED, ZERO, Amounts, exceeds
from schedulers.policy.session import Job, Session

#: Weighs use of a resource of which a queue has no share at all (noFairShareDrfMultiplier).
_NO_SHARE = 1000.0
_INFINITE = float("inf")

Key = tuple[Any, ...]


def job_key(job: Job, active: int | None = None) -> Key:
    """Smaller goes first: higher priority, then groups below their minimum before those at it before those above it, then age.

    ``active`` stands in for the number of pods that the group has now.
    """
    active = job.active if active is None else active
    fullness = 0 if active < job.group.min_member else 1 if active == job.group.min_member else 2
    return (-job.group.priority, fullness, *job.rank)


def queue_key(
    session: Session, queue: int, *, job: Amounts = ZERO, victims: Amounts = ZERO, held: Sequence[float] | None = None
) -> Key:
    """Smaller is served first. ``job`` is what the queue's next group asks for, ``victims`` what it would lose, ``held``
    stands in for what the queue has allocated now.

    Stages: not above fair share in everything; within quota with the job; queue priority; no use of what it has no share
    of; smaller dominant share with the job; and without; smaller allocatable share; age. KAI leaves queues equal whose
    allocatable shares cannot be compared; here CPU, memory, GPU decide in that order, so that the order is total.
    """
    values = session.tree.queues[queue]
    held = session.allocated[queue] if held is None else held
    fair = session.fair[queue]
    own = session.own[queue]
    over = held[0] > fair[0] and held[1] > fair[1] and held[2] > fair[2]
    above_quota = any(exceeds(held[r] + job[r], values.deserved[r]) for r in range(3))
    without_share = any(own[r] == 0 and held[r] + job[r] > 0 for r in range(3))
    with_job = _dominant(session, own, [held[r] + job[r] - victims[r] for r in range(3)])
    weakest = tuple(_INFINITE if own[r] == UNLIMITED else own[r] for r in (1, 2, 0))
    return (
        over,
        above_quota,
        -values.priority,
        without_share,
        with_job,
        _dominant(session, own, held),
        weakest,
        values.created,
        values.name,
    )


def _dominant(session: Session, own: Amounts, held: Sequence[float]) -> float:
    """The largest ratio of what is held to what is the queue's own (GetDominantResourceShare)."""
    largest = 0.0
    for r in range(3):
        share = session.total[r] if own[r] == UNLIMITED else own[r]
        ratio = held[r] * _NO_SHARE if share == 0 else held[r] / share
        largest = max(largest, ratio)
    return largest

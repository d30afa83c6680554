"""Who goes first: among queues, among the groups of a queue, and among victims.

Sources: KAI plugins/proportion/queue_order/queue_order.go; plugins/priority, plugins/elastic; Session.JobOrderFn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from schedulers.policy.jobs import Job
from schedulers.policy.resources import UNLIMITED, ZERO, Amounts, exceeds
from schedulers.policy.session import Session

#: Weighs use of a resource of which a queue has no share at all (noFairShareDrfMultiplier).
_NO_SHARE = 1000.0
_INFINITE = float("inf")

Key = tuple[Any, ...]


def job_key(job: Job, fullness: int | None = None) -> Key:
    """Smaller goes first: higher priority, then groups below their minimum before those at it before those above it, then age.

    ``fullness`` stands in for that of the group now.
    """
    return (-job.group.priority, job.fullness() if fullness is None else fullness, *job.rank)


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
    gpu, cpu, memory = held
    over = gpu > fair[0] and cpu > fair[1] and memory > fair[2]
    asked = (gpu + job[0], cpu + job[1], memory + job[2])
    quota = values.deserved
    above_quota = exceeds(asked[0], quota[0]) or exceeds(asked[1], quota[1]) or exceeds(asked[2], quota[2])
    without_share = (own[0] == 0 and asked[0] > 0) or (own[1] == 0 and asked[1] > 0) or (own[2] == 0 and asked[2] > 0)
    with_job = _dominant(session, own, (asked[0] - victims[0], asked[1] - victims[1], asked[2] - victims[2]))
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

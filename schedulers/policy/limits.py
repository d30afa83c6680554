"""May a queue take this much more? Checked on the queue and on every queue above it.

Source: KAI plugins/proportion/capacity_policy (max_allowed_check.go, quota_check.go); docs/queues.
"""

from __future__ import annotations

from schedulers.policy import messages
from schedulers.policy.decisions import QueueFigures, Reason
from schedulers.policy.jobs import Job
from schedulers.policy.resources import CHECK_ORDER, UNLIMITED, ZERO, Amounts
from schedulers.policy.session import Session


def blocked(session: Session, job: Job, request: Amounts) -> bool:
    """True when placing ``request`` would break a limit, or the quota where the group is non-preemptible."""
    return _over_limit(session, job, request) is not None or _over_quota(session, job, request) is not None


def over_quota(session: Session, job: Job, request: Amounts) -> bool:
    """True when the group is non-preemptible and would exceed the quota of its queue or of one above."""
    return _over_quota(session, job, request) is not None


def reason(session: Session, job: Job, request: Amounts) -> Reason | None:
    """Why ``request`` may not be placed, or None when it may. Limits of all levels are looked at before quotas."""
    found = _over_limit(session, job, request)
    if found is not None:
        queue, r = found
        values = session.tree.queues[queue]
        text = messages.over_limit(values.name, r, values.limit[r], session.allocated[queue][r], request[r])
        return Reason(messages.OVER_LIMIT, text, _figures(session, job, queue, request))
    found = _over_quota(session, job, request)
    if found is not None:
        queue, r = found
        values = session.tree.queues[queue]
        text = messages.over_quota(values.name, r, values.deserved[r], session.non_preemptible[queue][r], request[r])
        return Reason(messages.NON_PREEMPTIBLE_OVER_QUOTA, text, _figures(session, job, queue, request))
    return None


def _over_limit(session: Session, job: Job, request: Amounts) -> tuple[int, int] | None:
    for queue in job.path:
        limit, held = session.tree.queues[queue].limit, session.allocated[queue]
        for r in CHECK_ORDER:
            if limit[r] != UNLIMITED and request[r] and limit[r] < held[r] + request[r]:
                return queue, r
    return None


def _over_quota(session: Session, job: Job, request: Amounts) -> tuple[int, int] | None:
    if job.group.preemptible:
        return None
    for queue in job.path:
        deserved, held = session.tree.queues[queue].deserved, session.non_preemptible[queue]
        for r in CHECK_ORDER:
            if deserved[r] != UNLIMITED and request[r] and deserved[r] < held[r] + request[r]:
                return queue, r
    return None


def _figures(session: Session, job: Job, queue: int, request: Amounts) -> QueueFigures:
    values = session.tree.queues[queue]
    return QueueFigures(
        name=values.name,
        requested=session.requested[queue],
        deserved=values.deserved,
        allocated=Amounts(*session.allocated[queue]),
        allocated_non_preemptible=Amounts(*session.non_preemptible[queue]),
        limit=values.limit,
        group_requested=request,
        group_requested_non_preemptible=ZERO if job.group.preemptible else request,
    )

"""Groups that lost pods and do not get them back: after a while the rest goes too.

Source: KAI actions/stalegangeviction/stalegangeviction.go, PodGroupInfo.IsStale; reference 2.2, T16, T17.
"""

from __future__ import annotations

from schedulers.policy import messages
from schedulers.policy.decisions import Eviction
from schedulers.policy.gang import DEFAULT
from schedulers.policy.jobs import At, Job
from schedulers.policy.session import Session

_PRESENT = (At.HELD, At.ALLOCATED, At.PIPELINED, At.EVICTED, At.LEAVING)
_ACTIVE = (At.HELD, At.ALLOCATED, At.PIPELINED)


def evict_stale(session: Session) -> tuple[list[Eviction], dict[str, float]]:
    """Evict what is left of groups that have been stale for their grace period. Also says since when groups are stale, by key.

    Pods that are being deleted still count as present. The group's own grace period goes before the shard's; below zero nothing
    is ever evicted.
    """
    evictions: list[Eviction] = []
    since: dict[str, float] = {}
    now = session.snapshot.now
    for key, job in sorted(session.jobs.items()):
        if not stale(session, job):
            continue
        began = since[key] = now if job.group.stale_since is None else job.group.stale_since
        own = job.group.staleness_grace
        grace = session.settings.staleness_grace if own is None else own
        if grace < 0 or now - began < grace:
            continue
        rest = [pod for pod in job.pods if session.at[pod] in _ACTIVE]
        evictions += [_evict(session, job, pod, len(rest)) for pod in rest if session.at[pod] is At.HELD]
        for pod in rest:
            if session.at[pod] is At.HELD:
                session.evict(pod)
            else:
                session.unplace(pod)
    return evictions, since


def stale(session: Session, job: Job) -> bool:
    """Some pods are there, but in one leaf fewer than it needs, although no pod ended well. KAI looks at every leaf, also at
    those that ``minSubGroup`` makes optional.
    """
    if job.group.succeeded:
        return False
    present = {name: sum(session.at[pod] in _PRESENT for pod in leaf.pods) for name, leaf in job.sets.items()}
    return any(present.values()) and any(present[name] < leaf.minimum for name, leaf in job.sets.items())


def _evict(session: Session, job: Job, pod: int, size: int) -> Eviction:
    values, leaf = session.pods[pod], session.set_of[pod]
    assert leaf is not None
    name = "" if leaf.name == DEFAULT and not job.group.subgroups else leaf.name
    text = messages.stale(f"{values.namespace}/{values.name}", leaf.minimum, name)
    return Eviction(values.uid, values.group, "stalegangeviction", "", size, text)

"""Who is protected from losing pods, and who may not take any yet: minimal run times and preemption delays.

Sources: KAI plugins/minruntime (minruntime.go, resolver.go), PodGroupInfo.PreemptionDelayEnd; reference 2.3, 2.4, T25, T37.
"""

from __future__ import annotations

from schedulers.policy.jobs import Job
from schedulers.policy.session import Session
from schedulers.policy.settings import Action


class Protection:
    """Answers for one session. A group is protected until it ran for its minimal time since it last started."""

    def __init__(self, session: Session) -> None:
        self._session = session
        settings, queues = session.settings, session.tree.queues
        self._preempt = settings.preempt_min_runtime > 0 or any(queue.preempt_min_runtime for queue in queues)
        self._reclaim = settings.reclaim_min_runtime > 0 or any(queue.reclaim_min_runtime for queue in queues)

    def idle(self, action: Action) -> bool:
        """True when nobody can be protected from this action."""
        return not (self._preempt if action == "preempt" else self._reclaim if action == "reclaim" else False)

    def protects(self, victim: Job, taker: Job, action: Action) -> bool:
        """The victim has not run for as long as it is promised to. Its surplus pods may be taken all the same."""
        if victim.group.started is None or self.idle(action):
            return False
        promised = self._for_preempt(victim) if action == "preempt" else self._for_reclaim(victim, taker)
        return self._session.snapshot.now < victim.group.started + promised

    def _for_preempt(self, victim: Job) -> float:
        """The nearest queue that says something, from the victim's own upwards; else the shard."""
        for queue in victim.path:
            said = self._session.tree.queues[queue].preempt_min_runtime
            if said is not None:
                return said
        return self._session.settings.preempt_min_runtime

    def _for_reclaim(self, victim: Job, taker: Job) -> float:
        """By the method ``queue`` as for preemption. By ``lca`` the search begins at the victim's ancestor just below the lowest
        queue that both have in common; of two different top-level queues only the victim's says something.
        """
        path = list(victim.path)
        if self._session.settings.reclaim_resolve == "lca":
            shared = set(victim.path) & set(taker.path)
            if shared:
                below = [queue for queue in path if queue not in shared]
                path = below[-1:] + [queue for queue in path if queue in shared]
            else:
                path = path[-1:]
        for queue in path:
            said = self._session.tree.queues[queue].reclaim_min_runtime
            if said is not None:
                return said
        return self._session.settings.reclaim_min_runtime


def delay_left(session: Session, job: Job) -> float:
    """Seconds for which the group may not yet take pods from others: its delay counts from its creation or its last eviction."""
    if job.group.preemption_delay <= 0:
        return 0.0
    since = max(job.group.created, job.group.evicted or 0.0)
    return max(0.0, since + job.group.preemption_delay - session.snapshot.now)

"""The reclaim and preempt actions: room for a waiting group at the expense of running ones.

Reclaim works across queues, for queues below their share. Preempt works inside one queue, for strictly higher priority.
Only preemptible groups are victims. Sources: KAI docs/priority, docs/fairness; actions/{reclaim,preempt}.
"""

from __future__ import annotations

from collections.abc import Callable

from schedulers.policy import limits, messages
from schedulers.policy.agenda import Agenda
from schedulers.policy.allocate import waiting
from schedulers.policy.decisions import Action, Eviction
from schedulers.policy.placement import Placer
from schedulers.policy.reclaim import Ledger, level, may_reclaim
from schedulers.policy.resources import Amounts
from schedulers.policy.session import Job, Session
from schedulers.policy.solver import Solution, Solver
from schedulers.policy.victims import candidates

_Tell = Callable[[int], str]


def reclaim(session: Session, placer: Placer) -> list[Eviction]:
    """Take back for queues that are below their fair share. Leaves victims EVICTED and pods PIPELINED in the session."""

    backlog = waiting(session)

    def attempt(job: Job, pods: list[int], request: Amounts) -> tuple[Solution | None, _Tell]:
        tell = _reclaim_message(session, job)
        if not may_reclaim(session, job, request):
            return None, tell
        solver = Solver(session, placer, job, pods, ledger=lambda: Ledger(session, job, request), backlog=backlog)
        first = Ledger(session, job, request)
        queues = [queue for queue in session.members if queue != job.queue and first.accepts(queue)]
        return solver.solve(candidates(session, queues)), tell

    return _act(session, "reclaim", backlog, attempt)


def preempt(session: Session, placer: Placer) -> list[Eviction]:
    """Make room for higher priority inside a queue. Leaves victims EVICTED and pods PIPELINED in the session."""

    def attempt(job: Job, pods: list[int], request: Amounts) -> tuple[Solution | None, _Tell]:
        def tell(pod: int) -> str:
            return messages.preempted(_name(session, pod), job.key)

        if limits.over_quota(session, job, request):
            return None, tell
        solver = Solver(session, placer, job, pods)
        return solver.solve(candidates(session, [job.queue], below=job.group.priority)), tell

    return _act(session, "preempt", waiting(session), attempt)


def _act(
    session: Session,
    action: Action,
    backlog: list[Job],
    attempt: Callable[[Job, list[int], Amounts], tuple[Solution | None, _Tell]],
) -> list[Eviction]:
    """Try each waiting group once, in order of fairness. Groups just like one that failed are not tried again."""
    evictions: list[Eviction] = []
    failed: set[object] = set()
    agenda = Agenda(session, backlog)
    while (job := agenda.pop()) is not None:
        pods = session.to_place(job)
        likeness = _likeness(session, job, pods)
        if not pods or likeness in failed:
            continue
        solution, tell = attempt(job, pods, session.request(pods))
        if solution is None:
            failed.add(likeness)
            continue
        victims = [pod for piece in solution.victims for pod in piece.pods]
        for pod in victims:
            values = session.pods[pod]
            evictions.append(Eviction(values.uid, values.group, action, job.key, len(victims), tell(pod)))
    return evictions


def _likeness(session: Session, job: Job, pods: list[int]) -> object:
    """What decides whether victims can be found: a scheduling signature of the group."""
    kinds = sorted((session.shape_of[pod], repr(session.pods[pod].constraints)) for pod in pods)
    return (job.queue, job.group.priority, job.group.preemptible, tuple(kinds))


def _reclaim_message(session: Session, reclaimer: Job) -> _Tell:
    """Messages with the figures from before anything was evicted."""
    held = [Amounts(*amounts) for amounts in session.allocated]

    def figures(queue: int) -> str:
        values = session.tree.queues[queue]
        return messages.queue_figures(values.name, held[queue], values.deserved, session.fair[queue], values.priority)

    def tell(pod: int) -> str:
        victim = session.jobs[session.pods[pod].group]
        mine, theirs = level(reclaimer.path, victim.path)
        return messages.reclaimed(_name(session, pod), reclaimer.key, figures(theirs), figures(mine))

    return tell


def _name(session: Session, pod: int) -> str:
    return f"{session.pods[pod].namespace}/{session.pods[pod].name}"

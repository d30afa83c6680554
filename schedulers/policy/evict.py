"""The reclaim, preempt and consolidation actions: room for a waiting group at the expense of running ones.

Reclaim works across queues, for queues below their share. Preempt works inside one queue, for strictly higher priority.
Consolidation moves work anywhere, so that nobody loses anything but time. Only preemptible groups are victims.
Sources: KAI docs/priority, docs/fairness; actions/{reclaim,preempt,consolidation}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from schedulers.policy import limits, messages
from schedulers.policy.agenda import Agenda
from schedulers.policy.allocate import Findings, waiting
from schedulers.policy.consolidate import Moves
from schedulers.policy.decisions import Eviction, Reason
from schedulers.policy.jobs import Job
from schedulers.policy.placement import Placer
from schedulers.policy.protection import Protection, delay_left
from schedulers.policy.putting import Putter
from schedulers.policy.reclaim import Ledger, level, may_reclaim
from schedulers.policy.resources import Amounts
from schedulers.policy.session import Session
from schedulers.policy.settings import Action
from schedulers.policy.solver import Solution, Solver, Terms
from schedulers.policy.turn import Turn
from schedulers.policy.victims import Book, by_queue

_Tell = Callable[[int], str]
_Attempt = Callable[[Job, list[int], Amounts], tuple[Solution | None, _Tell]]


@dataclass(frozen=True, slots=True)
class Tools:
    """What the actions of one cycle share."""

    session: Session
    placer: Placer
    putter: Putter
    findings: Findings


def reclaim(tools: Tools) -> list[Eviction]:
    """Take back for queues that are below their fair share. Leaves victims EVICTED and pods PIPELINED in the session."""
    session = tools.session
    backlog = waiting(session)
    book, protection, turn = Book(session), Protection(session), Turn(session, tools.putter, backlog)

    def attempt(job: Job, pods: list[int], request: Amounts) -> tuple[Solution | None, _Tell]:
        tell = _reclaim_message(session, job)
        if not may_reclaim(session, job, request):
            return None, tell
        first = Ledger(session, job, request)
        queues = [queue for queue in session.members if queue != job.queue and first.accepts(queue)]
        jobs = {queue: book.jobs(queue) for queue in queues}
        idle = protection.idle("reclaim")
        if not idle:
            jobs = _unprotected(jobs, protection, job, "reclaim")
        terms = Terms(
            ledger=lambda: Ledger(session, job, request),
            agrees=lambda kept: turn.keeps(job, pods, kept),
            spared=None if idle else lambda victim: protection.protects(victim, job, "reclaim"),
            all_of_them=idle,
            most_gpus=first.most_gpus(book, queues),
        )
        return Solver(book, tools.placer, tools.putter, job, pods, terms).solve(jobs), tell

    return _act(tools, "reclaim", backlog, book, attempt)


def preempt(tools: Tools) -> list[Eviction]:
    """Make room for higher priority inside a queue. Leaves victims EVICTED and pods PIPELINED in the session."""
    session = tools.session
    book, protection = Book(session), Protection(session)

    def attempt(job: Job, pods: list[int], _: Amounts) -> tuple[Solution | None, _Tell]:
        def tell(pod: int) -> str:
            return messages.preempted(_name(session, pod), job.key)

        if limits.over_quota(session, job, session.least_request(pods)):
            return None, tell
        found = [victim for victim in book.jobs(job.queue) if victim.group.priority < job.group.priority]
        jobs = _unprotected({job.queue: found}, protection, job, "preempt")
        terms = Terms(spared=lambda victim: protection.protects(victim, job, "preempt"))
        return Solver(book, tools.placer, tools.putter, job, pods, terms).solve(jobs), tell

    return _act(tools, "preempt", waiting(session), book, attempt)


def consolidate(tools: Tools) -> list[Eviction]:
    """Move preemptible work together so that a preemptible group fits. Leaves victims PIPELINED where they go."""
    session = tools.session
    book = Book(session)
    moves = Moves(session, tools.putter)
    backlog = [job for job in waiting(session) if job.group.preemptible]
    turn = Turn(session, tools.putter, backlog)

    def attempt(job: Job, pods: list[int], request: Amounts) -> tuple[Solution | None, _Tell]:
        def tell(pod: int) -> str:
            return messages.consolidated(_name(session, pod))

        if not moves.enough_gpus(request):
            return None, tell
        found = by_queue(j for queue in session.members for j in book.jobs(queue) if j is not job)
        terms = Terms(agrees=lambda kept: moves.possible(job, pods, kept) and turn.keeps(job, pods, kept))
        solution = Solver(book, tools.placer, tools.putter, job, pods, terms).solve(found)
        if solution is not None:
            moves.carry_out(solution.victims)
        return solution, tell

    return _act(tools, "consolidation", backlog, book, attempt)


def _unprotected(jobs: dict[int, list[Job]], protection: Protection, taker: Job, action: Action) -> dict[int, list[Job]]:
    """Groups that may lose something: protected ones only if they have surplus to lose."""
    if protection.idle(action):
        return jobs
    return {
        queue: [victim for victim in found if victim.elastic or not protection.protects(victim, taker, action)]
        for queue, found in jobs.items()
    }


def _act(tools: Tools, action: Action, backlog: Sequence[Job], book: Book, attempt: _Attempt) -> list[Eviction]:
    """Try each waiting group once, in order of fairness. Groups that ask for no less than one that failed are not tried
    (actions/common/minimal_job_comparison.go).
    """
    session = tools.session
    evictions: list[Eviction] = []
    failed: dict[object, list[_Size]] = {}
    agenda = Agenda(session, backlog)
    while (job := agenda.pop()) is not None:
        pods = session.to_place(job)
        if not pods:
            continue
        left = delay_left(session, job)
        if left > 0:
            tools.findings.delay(job, Reason(messages.PREEMPTION_DELAY, messages.delayed(left)))
            continue
        size = _Size(job.group.priority, len(pods), [session.shapes[session.shape_of[pod]][0] for pod in pods])
        sizes = failed.setdefault(_likeness(tools, job, pods), [])
        if any(known.easier(size) for known in sizes):
            continue
        solution, tell = attempt(job, pods, session.request(pods))
        if solution is None:
            sizes.append(size)
            continue
        book.update([job, *(piece.job for piece in solution.victims)])
        victims = [pod for piece in solution.victims for pod in piece.pods]
        for pod in victims:
            values = session.pods[pod]
            evictions.append(Eviction(values.uid, values.group, action, job.key, len(victims), tell(pod), session.moved_to(pod)))
    return evictions


class _Size:
    """How much a group asks for, so that it can be compared with one that failed."""

    __slots__ = ("_count", "_largest", "_priority", "_smallest")

    def __init__(self, priority: int, count: int, wants: Sequence[Amounts]) -> None:
        self._priority = priority
        self._count = count
        self._largest = Amounts(*(max(column) for column in zip(*wants, strict=True)))
        self._smallest = Amounts(*(min(column) for column in zip(*wants, strict=True)))

    def easier(self, other: _Size) -> bool:
        """What holds for this one holds for the other all the more: it asks for no less, and with no higher priority."""
        if self._priority < other._priority or self._count > other._count:
            return False
        return all(mine <= theirs for mine, theirs in zip(self._largest, other._smallest, strict=True))


def _likeness(tools: Tools, job: Job, pods: list[int]) -> object:
    """What groups must have in common to be compared by size: queue, preemptibility, and where their pods may run."""
    session = tools.session
    if not job.simple:
        return (job.key,)
    kinds = {(session.pods[p].constraints, session.pods[p].extra, session.pods[p].share, session.pods[p].claimed) for p in pods}
    return (job.queue, job.group.preemptible, frozenset(kinds))


def _reclaim_message(session: Session, reclaimer: Job) -> _Tell:
    """Messages with the figures from before anything was evicted."""
    held: dict[int, Amounts] = {}
    start = [tuple(amounts) for amounts in session.allocated]

    def figures(queue: int) -> str:
        values = session.tree.queues[queue]
        if queue not in held:
            held[queue] = Amounts(*start[queue])
        return messages.queue_figures(values.name, held[queue], values.deserved, session.fair[queue], values.priority)

    def tell(pod: int) -> str:
        victim = session.jobs[session.pods[pod].group]
        mine, theirs = level(reclaimer.path, victim.path)
        return messages.reclaimed(_name(session, pod), reclaimer.key, figures(theirs), figures(mine))

    return tell


def _name(session: Session, pod: int) -> str:
    return f"{session.pods[pod].namespace}/{session.pods[pod].name}"

"""One scheduling cycle: allocate, consolidate, reclaim, preempt, evict stale gangs (KAI's default order of actions)."""

from __future__ import annotations

from schedulers.policy import messages
from schedulers.policy.allocate import Findings, allocate, unsupported
from schedulers.policy.decisions import Bind, Decisions, Eviction, Pipelined, Reason, Waiting
from schedulers.policy.evict import Tools, consolidate, preempt, reclaim
from schedulers.policy.jobs import At, Job
from schedulers.policy.placement import Placer
from schedulers.policy.putting import Putter
from schedulers.policy.session import Session
from schedulers.policy.settings import Action
from schedulers.policy.snapshot import Snapshot
from schedulers.policy.stale import evict_stale
from schedulers.policy.workload import PodState

_TAKING = {"consolidation": consolidate, "reclaim": reclaim, "preempt": preempt}


def cycle(snapshot: Snapshot) -> Decisions:
    """What to do about this snapshot. Pure: the same snapshot gives the same decisions."""
    session = Session(snapshot)
    placer = Placer(session)
    tools = Tools(session, placer, Putter(session, placer), Findings())
    promised: dict[int, Pipelined] = {}
    evictions: list[Eviction] = []
    stale: dict[str, float] = {}
    for action in snapshot.settings.actions:
        if not snapshot.settings.does(action):
            continue
        if action == "allocate":
            allocate(session, tools.putter, tools.findings)
        elif action == "stalegangeviction":
            gone, stale = evict_stale(session)
            evictions += gone
        else:
            evictions += _TAKING[action](tools)
        _promise(session, action, promised)
    binds = [
        Bind(session.pods[pod].uid, session.nodes[session.on[pod]].name, session.pods[pod].group, tuple(session.groups[pod]))
        for pod, at in enumerate(session.at)
        if at is At.ALLOCATED
    ]
    binds.sort(key=lambda bind: bind.group)
    waiting, pods, not_ready, settled = _explain(session, tools.findings)
    shares = {figure.queue.name: figure for figure in session.figures}
    kept = tuple(pipelined for pod, pipelined in promised.items() if session.at[pod] is At.PIPELINED)
    return Decisions(tuple(binds), tuple(evictions), kept, waiting, pods, not_ready, settled, shares, stale)


def _promise(session: Session, action: Action, promised: dict[int, Pipelined]) -> None:
    """Note the waiting pods that the action just done placed onto room that is being released."""
    for pod, at in enumerate(session.at):
        if at is At.PIPELINED and pod not in promised and session.pods[pod].state is PodState.PENDING:
            values = session.pods[pod]
            promised[pod] = Pipelined(values.uid, session.nodes[session.on[pod]].name, values.group, action)


def _explain(session: Session, findings: Findings) -> tuple[tuple[Waiting, ...], dict[str, str], dict[str, str], tuple[str, ...]]:
    waiting: list[Waiting] = []
    pods: dict[str, str] = {}
    not_ready: dict[str, str] = {}
    settled: list[str] = []
    for key, job in sorted(session.jobs.items()):
        for pod in job.strays:
            if session.at[pod] is At.PENDING:
                pods[session.pods[pod].uid] = messages.stray(session.pods[pod].subgroup, key)
        pending = [pod for pod in job.pods if session.at[pod] is At.PENDING]
        if not pending and not job.gated:
            if not any(_awaits_bind(session, pod) for pod in job.pods):
                settled.append(key)
            continue
        if not job.ready:
            not_ready[key] = messages.not_ready(job.needed, job.alive, job.gated)
            continue
        if not pending:
            continue
        reasons = _reasons(session, job, findings)
        text = messages.group([(reason.reason, reason.message) for reason in reasons])
        waiting.append(Waiting(key, text, reasons, running=job.active > 0))
        for pod in pending:
            pods[session.pods[pod].uid] = findings.pods.get(pod) or (text if reasons else messages.DEFAULT_POD_ERROR)
    return tuple(waiting), pods, not_ready, tuple(settled)


def _awaits_bind(session: Session, pod: int) -> bool:
    """Until a binding is confirmed the last explanation stays, in case it fails (hasTasksAwaitingBind)."""
    return session.at[pod] in (At.ALLOCATED, At.PIPELINED) or session.pods[pod].state is PodState.BINDING


def _reasons(session: Session, job: Job, findings: Findings) -> tuple[Reason, ...]:
    """A queue that does not exist says so; a queue with queues below it says nothing, as in KAI."""
    if job.group.queue not in session.tree.index:
        return (Reason(messages.QUEUE_DOES_NOT_EXIST, messages.queue_missing(job.group.queue)),)
    why = unsupported(session, job)
    if why:
        return (Reason(messages.UNSUPPORTED, f"the reference engine does not support {why}"),)
    return tuple(findings.groups.get(job.key, ()))

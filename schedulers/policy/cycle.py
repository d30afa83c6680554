"""One scheduling cycle: allocate, then reclaim, then preempt (KAI's default order of actions, without consolidation)."""

from __future__ import annotations

from schedulers.policy import messages
from schedulers.policy.allocate import Findings, allocate, unsupported
from schedulers.policy.decisions import Action, Bind, Decisions, Pipelined, Reason, Waiting
from schedulers.policy.evict import preempt, reclaim
from schedulers.policy.placement import Placer
from schedulers.policy.session import At, Job, Session
from schedulers.policy.snapshot import PodState, Snapshot


def cycle(snapshot: Snapshot) -> Decisions:
    """What to do about this snapshot. Pure: the same snapshot gives the same decisions."""
    session = Session(snapshot)
    placer = Placer(session)
    findings = Findings()
    allocate(session, placer, findings)
    promised: dict[int, Pipelined] = {}
    _promise(session, "allocate", promised)
    evictions = reclaim(session, placer)
    _promise(session, "reclaim", promised)
    evictions += preempt(session, placer)
    _promise(session, "preempt", promised)
    binds = [
        Bind(session.pods[pod].uid, session.nodes[session.on[pod]].name, session.pods[pod].group)
        for pod, at in enumerate(session.at)
        if at is At.ALLOCATED
    ]
    binds.sort(key=lambda bind: bind.group)
    waiting, pods, not_ready, settled = _explain(session, findings)
    shares = {figure.queue.name: figure for figure in session.figures}
    return Decisions(tuple(binds), tuple(evictions), tuple(promised.values()), waiting, pods, not_ready, settled, shares)


def _promise(session: Session, action: Action, promised: dict[int, Pipelined]) -> None:
    """Note the pods that the action just done placed onto room that is being released."""
    for pod, at in enumerate(session.at):
        if at is At.PIPELINED and pod not in promised:
            values = session.pods[pod]
            promised[pod] = Pipelined(values.uid, session.nodes[session.on[pod]].name, values.group, action)


def _explain(session: Session, findings: Findings) -> tuple[tuple[Waiting, ...], dict[str, str], dict[str, str], tuple[str, ...]]:
    waiting: list[Waiting] = []
    pods: dict[str, str] = {}
    not_ready: dict[str, str] = {}
    settled: list[str] = []
    for key, job in sorted(session.jobs.items()):
        pending = [pod for pod in job.pods if session.at[pod] is At.PENDING]
        if not pending and not job.gated:
            if not any(_awaits_bind(session, pod) for pod in job.pods):
                settled.append(key)
            continue
        if not job.ready:
            not_ready[key] = messages.not_ready(job.group.min_member, job.alive, job.gated)
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

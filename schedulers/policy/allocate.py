"""The allocate action: waiting pods onto free room, gangs whole or not at all, surplus pods one at a time.

Source: KAI pkg/scheduler/actions/allocate/allocate.go, actions/common/allocate.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schedulers.policy import limits, messages
from schedulers.policy.agenda import Agenda
from schedulers.policy.decisions import Reason
from schedulers.policy.placement import Placer
from schedulers.policy.session import At, Job, Session


@dataclass(slots=True)
class Findings:
    """Why groups and pods could not be placed, as far as the actions found out. By group key and by pod."""

    groups: dict[str, list[Reason]] = field(default_factory=dict)
    pods: dict[int, str] = field(default_factory=dict)

    def add(self, job: Job, reason: Reason) -> None:
        self.groups.setdefault(job.key, []).append(reason)


def allocate(session: Session, placer: Placer, findings: Findings) -> None:
    """Place what fits, queue after queue as fairness orders them. Leaves pods ALLOCATED or PIPELINED in the session.

    A gang of which a part fits only onto room that is still being released is pipelined as a whole: nothing of it is
    bound before all of it can be.
    """
    agenda = Agenda(session, waiting(session))
    while (job := agenda.pop()) is not None:
        pods = session.to_place(job)
        if not pods or not _place(session, placer, job, pods, findings):
            continue
        if session.to_place(job):
            agenda.push(job)


def waiting(session: Session) -> list[Job]:
    """Groups that have a pending pod, enough pods in all, a usable queue, and nothing that the model does not know."""
    return [
        job
        for job in session.jobs.values()
        if job.queue >= 0 and job.ready and not unsupported(session, job) and session.to_place(job)
    ]


def unsupported(session: Session, job: Job) -> str:
    """What the group or one of its waiting pods asks for that the model cannot honour; empty when nothing."""
    if job.group.unsupported:
        return job.group.unsupported
    return next(
        (session.pods[pod].unsupported for pod in job.pods if session.pods[pod].unsupported and session.at[pod] is At.PENDING), ""
    )


def _place(session: Session, placer: Placer, job: Job, pods: list[int], findings: Findings) -> bool:
    """All of ``pods`` or none."""
    blocked = limits.reason(session, job, session.request(pods))
    if blocked is not None:
        findings.add(job, blocked)
        return False
    for count, pod in enumerate(pods):
        if not placer.place(pod):
            _explain(session, placer, job, pod, count, findings)
            for placed in reversed(pods[:count]):
                session.unplace(placed)
            return False
    if any(session.at[pod] is At.PIPELINED for pod in pods) and _bindable(session, job) < job.group.min_member:
        for pod in pods:
            if session.at[pod] is At.ALLOCATED:
                session.defer(pod)
    return True


def _bindable(session: Session, job: Job) -> int:
    """Pods of the group that run or can be bound in this cycle (PodGroupInfo.ShouldPipelineJob)."""
    return sum(session.at[pod] in (At.HELD, At.ALLOCATED) for pod in job.pods)


def _explain(session: Session, placer: Placer, job: Job, pod: int, found: int, findings: Findings) -> None:
    because = placer.explain(pod)
    findings.pods[pod] = because
    if job.group.min_member > 1 and job.active < job.group.min_member:
        text = messages.gang(found, job.group.min_member, because)
    else:
        text = messages.single(f"{session.pods[pod].namespace}/{session.pods[pod].name}", because)
    findings.add(job, Reason(messages.POD_SCHEDULING_ERRORS, text))

"""The allocate action: waiting pods onto free room, gangs whole or not at all, surplus pods one at a time.

Source: KAI pkg/scheduler/actions/allocate/allocate.go, actions/common/allocate.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from schedulers.policy import limits, messages
from schedulers.policy.agenda import Agenda
from schedulers.policy.decisions import Reason
from schedulers.policy.jobs import At, Job
from schedulers.policy.putting import Putter
from schedulers.policy.session import Session


@dataclass(slots=True)
class Findings:
    """Why groups and pods could not be placed, as far as the actions found out. By group key and by pod."""

    groups: dict[str, list[Reason]] = field(default_factory=dict)
    pods: dict[int, str] = field(default_factory=dict)

    def add(self, job: Job, reason: Reason) -> None:
        self.groups.setdefault(job.key, []).append(reason)

    def delay(self, job: Job, reason: Reason) -> None:
        """Add a reason that several actions come upon once."""
        if all(known.reason != reason.reason for known in self.groups.get(job.key, ())):
            self.add(job, reason)


def allocate(session: Session, putter: Putter, findings: Findings) -> None:
    """Place what fits, queue after queue as fairness orders them. Leaves pods ALLOCATED or PIPELINED in the session.

    A gang of which a part fits only onto room that is still being released is pipelined as a whole: nothing of it is
    bound before all of it can be.
    """
    agenda = Agenda(session, waiting(session))
    while (job := agenda.pop()) is not None:
        pods = session.to_place(job)
        if not pods or not _place(session, putter, job, pods, findings):
            continue
        if session.to_place(job):
            agenda.push(job)


def waiting(session: Session) -> list[Job]:
    """Groups that have a pending pod, enough pods in all, a usable queue, and nothing that the model does not know."""
    return [
        job
        for job in session.jobs.values()
        if job.queue >= 0 and job.ready and session.to_place(job) and not unsupported(session, job)
    ]


def unsupported(session: Session, job: Job) -> str:
    """What the group or one of its waiting pods asks for that the model cannot honour; empty when nothing."""
    if job.group.unsupported:
        return job.group.unsupported
    return next(
        (session.pods[pod].unsupported for pod in job.pods if session.pods[pod].unsupported and session.at[pod] is At.PENDING), ""
    )


def _place(session: Session, putter: Putter, job: Job, pods: list[int], findings: Findings) -> bool:
    """All of ``pods`` or none."""
    blocked = limits.reason(session, job, session.least_request(pods))
    if blocked is not None:
        findings.add(job, blocked)
        return False
    if not putter.put(job, pods):
        _explain(session, putter, job, findings)
        return False
    if session.tight(job):
        for pod in job.pods:
            if session.at[pod] is At.ALLOCATED:
                session.defer(pod)
    return True


def _explain(session: Session, putter: Putter, job: Job, findings: Findings) -> None:
    if putter.problem:
        findings.add(job, Reason(messages.POD_SCHEDULING_ERRORS, putter.problem))
    pod = putter.failed
    if pod < 0:
        return
    because = findings.pods[pod] = putter.because
    leaf = session.set_of[pod]
    assert leaf is not None, "strays are never placed"
    if all(part.minimum <= 1 for part in job.sets.values()) or leaf.satisfied:
        text = messages.single(f"{session.pods[pod].namespace}/{session.pods[pod].name}", because)
    elif job.group.subgroups:
        text = messages.gang_part(putter.found, leaf.name, leaf.minimum, because)
    else:
        text = messages.gang(putter.found, leaf.minimum, because)
    findings.add(job, Reason(messages.POD_SCHEDULING_ERRORS, text))

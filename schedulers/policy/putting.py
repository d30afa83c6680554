"""Putting the pods of one group somewhere: part by part, in one topology domain after another, all of them or none.

Source: KAI actions/common/allocate.go (AllocateJob, allocateSubGroupSet, allocatePodSet).
"""

from __future__ import annotations

from collections.abc import Iterable

from schedulers.policy.gang import Part, PodSet, rank
from schedulers.policy.jobs import At, Job
from schedulers.policy.placement import Area, Placer
from schedulers.policy.session import Session
from schedulers.policy.topology import Topologies

#: A pod that was placed, and where it was before.
Undo = tuple[int, At, int]

_ACTIVE = (At.HELD, At.ALLOCATED, At.PIPELINED)


class Putter:
    """Puts groups down in one session. After a failure ``failed`` is the pod that found no room and ``found`` how many did before
    it, ``because`` why (only when placing ``now``); ``problem`` says what is wrong with the topology, where that is the reason.
    """

    def __init__(self, session: Session, placer: Placer) -> None:
        self._session = session
        self._placer = placer
        self._topologies = Topologies(session)
        self._later = False
        self.failed = -1
        self.found = 0
        self.problem = ""
        self.because = ""

    def put(self, job: Job, pods: list[int], *, now: bool = True, later: bool = False) -> bool:
        """Place all of ``pods`` of a group or none; ``now`` and ``later`` as in :meth:`Placer.place`."""
        self._later = later
        self.failed, self.found, self.problem = -1, 0, ""
        if job.simple:
            return self._each(pods, None, now, [])
        done: list[Undo] = []
        if self._part(job, job.root, pods, None, now, done):
            return True
        self._back(done, 0)
        return False

    def take_back(self, pods: Iterable[int]) -> None:
        """The inverse of :meth:`put`, for pods that waited before."""
        for pod in reversed([*pods]):
            self._session.unplace(pod)

    def _part(self, job: Job, part: Part, wanted: list[int], area: Area | None, now: bool, done: list[Undo]) -> bool:
        leaves = (part,) if isinstance(part, PodSet) else tuple(part.leaves())
        mine = [pod for pod in wanted if self._session.set_of[pod] in leaves]
        if not mine:
            return True
        mark = len(done)
        for choice in self._areas(job, part, leaves, mine, area):
            if self._inside(job, part, mine, choice, now, done):
                return True
            self._back(done, mark)
        return False

    def _inside(self, job: Job, part: Part, mine: list[int], area: Area | None, now: bool, done: list[Undo]) -> bool:
        if isinstance(part, PodSet):
            return self._each(mine, area, now, done)
        members = sorted(part.members, key=rank)
        return all(self._part(job, member, mine, area, now, done) for member in members)

    def _areas(self, job: Job, part: Part, leaves: tuple[PodSet, ...], pods: list[int], area: Area | None) -> list[Area | None]:
        constraint = part.topology
        if constraint is None:
            return [area]
        name = f", subgroup {part.name}" if part.name else ""
        self.problem = self._topologies.problem(constraint)
        if self.problem:
            return []
        active = [pod for leaf in leaves for pod in leaf.pods if self._session.at[pod] in _ACTIVE]
        found: list[Area | None] = [*self._topologies.areas(constraint, pods, active, area)]
        if not found:
            self.problem = (
                f"topology {constraint.topology}, requirement {constraint.required} couldn't be satisfied for "
                f"job <{job.key}>{name}"
            )
        return found

    def _each(self, pods: list[int], area: Area | None, now: bool, done: list[Undo]) -> bool:
        mark = len(done)
        for pod in pods:
            before = (pod, self._session.at[pod], self._session.on[pod])
            if not self._placer.place(pod, now=now, area=area, later=self._later):
                self.failed, self.found = pod, len(done)
                if now:
                    self.because = self._placer.explain(pod)
                self._back(done, mark)
                return False
            done.append(before)
        return True

    def _back(self, done: list[Undo], mark: int) -> None:
        while len(done) > mark:
            self._session.unplace(*done.pop())

"""The working state of one cycle: what is free on nodes, what queues hold, where pods are. Internal and mutable.

Every change has an exact inverse, so that a search tries things and takes them back. Semantics of idle, releasing and
pipelined resources: KAI pkg/scheduler/api/node_info (addTaskResources).
"""

from __future__ import annotations

from collections.abc import Sequence

from schedulers.policy import devices
from schedulers.policy.constraints import refusals
from schedulers.policy.devices import Kind
from schedulers.policy.fit import Constraints
from schedulers.policy.gang import DEFAULT, PodSet, next_pods
from schedulers.policy.jobs import START, At, Job
from schedulers.policy.queues import Tree, allocatable, capacity, gpu_memories, shares, tree
from schedulers.policy.resources import ZERO, Amounts
from schedulers.policy.shared import HELD, LEAVING, PROMISED, SharedGpus
from schedulers.policy.snapshot import Node, Snapshot
from schedulers.policy.workload import GpuShare, Pod, PodState

#: What a pod asks of a node: GPUs, millicores, bytes, other resources, a share of GPUs.
Shape = tuple[Amounts, tuple[tuple[str, float], ...], GpuShare | None]


class Session:
    """Indexes of a snapshot and the state that actions change."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.settings = snapshot.settings
        self.nodes: tuple[Node, ...] = tuple(sorted(snapshot.nodes, key=lambda node: node.name))
        self.node_index = {node.name: position for position, node in enumerate(self.nodes)}
        self.tree: Tree = tree(snapshot.queues)
        self.total = capacity(snapshot)
        figures = shares(self.tree, snapshot, self.total)
        self.figures = figures
        self.fair = [figure.fair_share for figure in figures]
        self.requested = [figure.requested for figure in figures]
        #: Up to where a queue's use is its own.
        self.own = [allocatable(figure.queue, figure.fair_share) for figure in figures]
        self.allocated = [list(figure.allocated) for figure in figures]
        self.non_preemptible = [list(figure.allocated_non_preemptible) for figure in figures]
        #: Bumped whenever a queue's allocation changes, so that orderings know what to compute again.
        self.version = [0] * len(figures)
        self.memories = [devices.memory(node) for node in self.nodes]
        self.least_memory, self.most_memory = gpu_memories(snapshot.nodes)
        self.idle = [[*node.allocatable, float(node.pods)] for node in self.nodes]
        self.releasing = [[0.0, 0.0, 0.0, 0.0] for _ in self.nodes]
        self.idle_extra = [dict(node.extra) for node in self.nodes]
        self.releasing_extra: list[dict[str, float]] = [{} for _ in self.nodes]
        self.gpus: dict[int, SharedGpus] = {}
        #: Nodes in the order in which they changed; searches remember how far they have read.
        self.journal: list[int] = []
        self.jobs: dict[str, Job] = {}
        #: Groups of each usable queue.
        self.members: dict[int, list[Job]] = {}
        for group in snapshot.groups:
            queue = self.tree.index.get(group.queue, -1)
            if queue >= 0 and not self.tree.leaf(queue):
                queue = -1
            job = self.jobs[group.key] = Job(group, queue, self.tree.paths[queue] if queue >= 0 else ())
            if queue >= 0:
                self.members.setdefault(queue, []).append(job)
        self.pods: tuple[Pod, ...] = tuple(sorted(snapshot.pods, key=_pod_order))
        self.at = [At.PENDING] * len(self.pods)
        self.on = [-1] * len(self.pods)
        self.set_of: list[PodSet | None] = [None] * len(self.pods)
        #: Shared GPUs that pods hold now.
        self.groups: list[Sequence[str]] = [pod.gpu_groups for pod in self.pods]
        self.shapes: list[Shape] = []
        self.kinds: list[Kind] = []
        self.shape_of = self._intern_shapes()
        #: What each pod costs its queue where it is, or would roughly cost.
        self.cost: list[Amounts] = [ZERO] * len(self.pods)
        #: Pods that were on each node when the cycle began.
        self.residents: list[list[int]] = [[] for _ in self.nodes]
        self._sites: dict[tuple[Constraints, Kind], tuple[list[int], dict[str, int]]] = {}
        for index, pod in enumerate(self.pods):
            self._enter(index, pod)

    def _intern_shapes(self) -> list[int]:
        known: dict[Shape, int] = {}
        result = []
        for pod in self.pods:
            shape = (pod.request, pod.extra, pod.share)
            number = known.get(shape)
            if number is None:
                number = known[shape] = len(self.shapes)
                self.shapes.append(shape)
                self.kinds.append(devices.kind(pod))
            result.append(number)
        return result

    def _enter(self, index: int, pod: Pod) -> None:
        state = START[pod.state]
        node = self.node_index.get(pod.node, -1)
        self.at[index] = state
        self.on[index] = node if state in (At.HELD, At.LEAVING) else -1
        self.cost[index] = self.cost_on(index, self.on[index])
        if self.on[index] >= 0:
            self.residents[node].append(index)
            if pod.share is not None and len(pod.gpu_groups) != pod.share.devices:
                self.groups[index] = tuple(f"{pod.uid}.{number}" for number in range(pod.share.devices))
            self._move(node, index, -1.0, 0.0, HELD if pod.state is not PodState.RELEASING else LEAVING, 1.0)
            if pod.state is PodState.RELEASING:
                self._move(node, index, 0.0, 1.0, LEAVING, 0.0)
        job = self.jobs.get(pod.group)
        if job is None:
            return
        leaf = job.sets.get(pod.subgroup or DEFAULT)
        if leaf is None:
            job.strays.append(index)
            return
        self.set_of[index] = leaf
        job.pods.append(index)
        leaf.pods.append(index)
        for part in (job, leaf):
            part.active += state is At.HELD
            part.gated += state is At.GATED
            part.alive += state in (At.PENDING, At.GATED, At.HELD)
        leaf.used += state in (At.HELD, At.LEAVING)

    def cost_on(self, pod: int, node: int) -> Amounts:
        """What the pod costs its queue on a node; below zero is no node."""
        values = self.pods[pod]
        if node < 0:
            return devices.estimate(values, self.least_memory)
        return devices.cost(values, self.memories[node])

    # -- sites --------------------------------------------------------------------------------------------------

    def site(self, pod: int) -> tuple[list[int], dict[str, int]]:
        """Nodes that may take pods just like this one, and how many others refuse for which reason. Cached."""
        constraints, kind = self.pods[pod].constraints, self.kinds[self.shape_of[pod]]
        found = self._sites.get((constraints, kind))
        if found is None:
            may: list[int] = []
            counts: dict[str, int] = {}
            for index, node in enumerate(self.nodes):
                reasons = refusals(node, constraints)
                if not reasons:
                    unlike = devices.refusal(node, kind, self.settings.restrict_nodes)
                    reasons = (unlike,) if unlike else ()
                if not reasons:
                    may.append(index)
                for reason in reasons:
                    counts[reason] = counts.get(reason, 0) + 1
            found = self._sites[(constraints, kind)] = (may, counts)
        return found

    # -- room ---------------------------------------------------------------------------------------------------

    def fits(self, shape: Shape, node: int) -> bool:
        """Room for a pod of this shape among what is idle or being released."""
        idle, releasing, want = self.idle[node], self.releasing[node], shape[0]
        if (
            idle[0] + releasing[0] < want[0]
            or idle[1] + releasing[1] < want[1]
            or idle[2] + releasing[2] < want[2]
            or idle[3] + releasing[3] < 1
        ):
            return False
        if shape[1]:
            extra, soon = self.idle_extra[node], self.releasing_extra[node]
            if not all(extra.get(name, 0.0) + soon.get(name, 0.0) >= amount for name, amount in shape[1]):
                return False
        return shape[2] is None or self._fits_share(shape[2], node)

    def _fits_share(self, share: GpuShare, node: int) -> bool:
        """A share may need a reservation pod beside its own, so two pod slots must be free (checkMaxPodsWithGpuGroupReservation;
        v0.17.0 asks for them also where the share joins a GPU that is shared already, reference 9).
        """
        if self.idle[node][3] + self.releasing[node][3] < 2:
            return False
        return self.has_gpus_for(share, node)

    def has_gpus_for(self, share: GpuShare, node: int) -> bool:
        """Enough GPUs of the node have room for a device of the share, once what is being released is gone."""
        gpus = self.shared(node)
        whole = int(self.idle[node][0] + self.releasing[node][0])
        if not gpus.fits_device(share):
            return False
        return whole >= share.devices or whole + len(gpus.joinable(share)) >= share.devices

    def shared(self, node: int) -> SharedGpus:
        """The shared GPUs of a node."""
        found = self.gpus.get(node)
        if found is None:
            found = self.gpus[node] = SharedGpus(self.memories[node] or devices.UNKNOWN_MEMORY)
        return found

    def fits_now(self, shape: Shape, node: int) -> bool:
        """Room among what is idle alone. Only meaningful where :meth:`fits` holds too: idle room may be promised already."""
        idle, want, share = self.idle[node], shape[0], shape[2]
        if idle[0] < want[0] or idle[1] < want[1] or idle[2] < want[2] or idle[3] < 1:
            return False
        if shape[1]:
            extra = self.idle_extra[node]
            if not all(extra.get(name, 0.0) >= amount for name, amount in shape[1]):
                return False
        if share is None:
            return True
        chosen = self._choose(share, node)
        if chosen is None:
            return False
        gpus = self.shared(node)
        return sum(name is None for name in chosen) <= int(idle[0]) and all(
            name is None or gpus.free_now(name, share) for name in chosen
        )

    def _choose(self, share: GpuShare, node: int) -> list[str | None] | None:
        whole = int(self.idle[node][0] + self.releasing[node][0])
        return self.shared(node).choose(share, whole, self.settings.gpu_strategy == "spread")

    def count(self, shape: Shape, node: int) -> int:
        """How many pods of this shape, without a share, the node has room for."""
        idle, releasing = self.idle[node], self.releasing[node]
        want, extra, _ = shape
        most = idle[3] + releasing[3]
        for r in (0, 1, 2):
            if want[r] > 0:
                most = min(most, (idle[r] + releasing[r]) // want[r])
        for name, amount in extra:
            if amount > 0:
                there = self.idle_extra[node].get(name, 0.0) + self.releasing_extra[node].get(name, 0.0)
                most = min(most, there // amount)
        return int(most) if most > 0 else 0

    # -- changes ------------------------------------------------------------------------------------------------

    def place(self, pod: int, node: int, *, now: bool) -> None:
        """Put a pending (or evicted) pod onto a node: bound in this cycle, or pipelined onto what is being released."""
        share = self.pods[pod].share
        if share is not None:
            chosen = self._choose(share, node) or []
            self.groups[pod] = tuple(name or f"{self.pods[pod].uid}.{number}" for number, name in enumerate(chosen))
        self._move(node, pod, -1.0 if now else 0.0, 0.0 if now else -1.0, HELD if now else PROMISED, 1.0)
        self.at[pod] = At.ALLOCATED if now else At.PIPELINED
        self.on[pod] = node
        self.journal.append(node)
        self.jobs[self.pods[pod].group].placed += 1
        if share is not None:
            self.cost[pod] = self.cost_on(pod, node)
        self._charge(pod, 1)

    def unplace(self, pod: int, back: At = At.PENDING, node: int = -1) -> None:
        """The inverse of :meth:`place`; ``back`` and ``node`` are where the pod was before."""
        held, now = self.on[pod], self.at[pod] is At.ALLOCATED
        self._move(held, pod, 1.0 if now else 0.0, 0.0 if now else 1.0, HELD if now else PROMISED, -1.0)
        self.at[pod] = back
        self.on[pod] = node
        self.journal.append(held)
        self.jobs[self.pods[pod].group].placed -= 1
        self._charge(pod, -1)
        leaf = self.set_of[pod]
        if leaf is not None:
            leaf.first = 0
        if self.pods[pod].share is not None:
            self.cost[pod] = self.cost_on(pod, node)
            self.groups[pod] = self.pods[pod].gpu_groups

    def defer(self, pod: int) -> None:
        """Turn a placement of this cycle into a pipelined one (ConvertAllAllocatedToPipelined)."""
        node = self.on[pod]
        self._move(node, pod, 1.0, -1.0, HELD, -1.0)
        self._move(node, pod, 0.0, 0.0, PROMISED, 1.0)
        self.at[pod] = At.PIPELINED
        self.journal.append(node)

    def evict(self, pod: int) -> None:
        """Make a held pod a victim: its resources are being released, its queue no longer holds them."""
        self._leave(pod, At.EVICTED, 1.0)

    def unevict(self, pod: int) -> None:
        """The inverse of :meth:`evict`."""
        self._leave(pod, At.HELD, -1.0)

    def _leave(self, pod: int, state: At, sign: float) -> None:
        node = self.on[pod]
        self.at[pod] = state
        if node >= 0:
            self._move(node, pod, 0.0, sign, HELD, -sign)
            self._move(node, pod, 0.0, 0.0, LEAVING, sign)
            self.journal.append(node)
        self._charge(pod, -int(sign))

    def _move(self, node: int, pod: int, idle: float, releasing: float, column: int, share_sign: float) -> None:
        """Add the pod's request ``idle`` times to what is idle and ``releasing`` times to what is being released on the node;
        book its share in a column of its GPUs.
        """
        want, more, share = self.shapes[self.shape_of[pod]]
        if idle:
            room = self.idle[node]
            room[0] += idle * want[0]
            room[1] += idle * want[1]
            room[2] += idle * want[2]
            room[3] += idle
        if releasing:
            room = self.releasing[node]
            room[0] += releasing * want[0]
            room[1] += releasing * want[1]
            room[2] += releasing * want[2]
            room[3] += releasing
        for name, amount in more:
            self.idle_extra[node][name] = self.idle_extra[node].get(name, 0.0) + idle * amount
            self.releasing_extra[node][name] = self.releasing_extra[node].get(name, 0.0) + releasing * amount
        if share is not None and share_sign:
            now, soon = self.shared(node).change(share, self.groups[pod], column, share_sign)
            self.idle[node][0] += now
            self.releasing[node][0] += soon

    def _charge(self, pod: int, sign: int) -> None:
        job, leaf = self.jobs[self.pods[pod].group], self.set_of[pod]
        job.active += sign
        if leaf is not None:
            leaf.active += sign
        gpu, cpu, memory = self.cost[pod]
        for queue in job.path:
            self.version[queue] += 1
            held = self.allocated[queue]
            held[0] += sign * gpu
            held[1] += sign * cpu
            held[2] += sign * memory
            if not job.group.preemptible:
                held = self.non_preemptible[queue]
                held[0] += sign * gpu
                held[1] += sign * cpu
                held[2] += sign * memory

    # -- questions ----------------------------------------------------------------------------------------------

    def to_place(self, job: Job, *, evicted: bool = False) -> list[int]:
        """Pods to place next, in task order: what is missing to the minimum, then one step at a time (GetTasksToAllocate).

        With ``evicted`` the victims of this cycle count as waiting again.
        """
        if job.simple:
            leaf = job.sets[DEFAULT]
            return self._waiting(leaf, max(1, leaf.minimum - leaf.active), evicted)
        return next_pods(job.root, lambda leaf, enough: self._waiting(leaf, enough, evicted))

    def _waiting(self, leaf: PodSet, enough: int, evicted: bool) -> list[int]:
        at, pods = self.at, leaf.pods
        if evicted:
            return [pod for pod in pods if at[pod] is At.PENDING or at[pod] is At.EVICTED][:enough]
        while leaf.first < len(pods) and at[pods[leaf.first]] is not At.PENDING:
            leaf.first += 1
        found: list[int] = []
        for place in range(leaf.first, len(pods)):
            if at[pods[place]] is At.PENDING:
                found.append(pods[place])
                if len(found) == enough:
                    break
        return found

    def request(self, pods: Sequence[int]) -> Amounts:
        """What pods cost their queue, where they are or would be."""
        gpu = cpu = memory = 0.0
        for pod in pods:
            want = self.cost[pod]
            gpu += want[0]
            cpu += want[1]
            memory += want[2]
        return Amounts(gpu, cpu, memory)

    def least_request(self, pods: Sequence[int]) -> Amounts:
        """The same, with requests for GPU memory compared with the largest GPUs: what they cost at the very least."""
        total = ZERO
        for pod in pods:
            total = total.plus(devices.estimate(self.pods[pod], self.most_memory))
        return total

    def moved_to(self, pod: int) -> str:
        """Name of the node where a victim of this cycle is to run again; empty where it has to wait."""
        return self.nodes[self.on[pod]].name if self.at[pod] is At.PIPELINED else ""

    def tight(self, job: Job) -> bool:
        """Pods were placed for the group and some of them wait for room, while what can be bound is not enough for one of its
        leaves (PodGroupInfo.ShouldPipelineJob).
        """
        at = self.at
        for leaf in job.sets.values():
            waits = any(at[pod] is At.PIPELINED for pod in leaf.pods)
            if waits and sum(at[pod] in (At.HELD, At.ALLOCATED) for pod in leaf.pods) < leaf.minimum:
                return True
        return False


def _pod_order(pod: Pod) -> tuple[bool, int, float, str]:
    """Inside a group: labelled pods first, higher order first, then age (plugins/taskorder, Session.TaskOrderFn)."""
    return (pod.order is None, -(pod.order or 0), pod.created, pod.uid)

"""The laboratory of one check: a namespace, queues and (where the target allows) GPU nodes that nobody else uses.

Quotas and fair shares are computed by a scheduler over all nodes of a shard, so nodes of one's own are not enough for an
exact answer. Each lab therefore hangs its queues under a department of its own whose deserved quota is what its own nodes
have: fair shares below it are divided from that amount, whatever else the cluster holds (shares are computed top-down).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

from base.deadlines import Deadline, poll
from base.errors import DeadlineExceeded
from base.kube import Cluster, Kind, Object, Refusal
from base.kube.kinds import BIND_REQUEST, EVENT, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, SERVICE_ACCOUNT
from validation.checks import Check
from validation.context import Context, Installed
from validation.gate import subject_of
from validation.harness import objects
from validation.harness.board import Board, Mirror
from validation.harness.bystanders import Picture, differences, look
from validation.harness.cleanup import sweep
from validation.harness.names import LAB, Names
from validation.harness.timeline import Timeline
from validation.harness.times import Times
from validation.outcomes import CleanUpFailed, Moved, Unknown

__all__ = ["Lab"]

T = TypeVar("T")


class Lab:
    """Made before and closed after each check. Names given to its methods are short; what is returned is the full name."""

    def __init__(self, check: Check, context: Context, cluster: Cluster, timeline: Timeline, times: Times) -> None:
        self.check, self.context, self.cluster, self.timeline, self.times = check, context, cluster, timeline, times
        self.names = Names.of(check.id, context.run, secrets.token_hex(3)[:5])
        self.namespace = self.names.lab
        self.board = Board(cluster, timeline)
        self._before: Picture | None = None
        self._own_nodes: dict[str, int] = {}
        self._nodes: Mirror | None = None
        self._department = ""
        self._department_share: Mapping[str, float] = {}
        self._selector: dict[str, str] = {}
        self._classes: dict[int, str] = {}

    # -- life ---------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Take the picture of the neighbourhood, then make the namespace and begin to watch."""
        self._before = look(self.cluster)
        self.cluster.create(NAMESPACE, objects.namespace(self.names))
        account = self.watch(SERVICE_ACCOUNT)
        self.board.until(lambda: "default" in account.live, "the namespace's default ServiceAccount", within=self.times.must)
        self.pods = self.watch(POD)
        self.events = self.watch(EVENT)
        if self.check.subject == "scheduler":
            self.groups = self.watch(POD_GROUP)
            self.requests = self.watch(BIND_REQUEST)
            self.queues = self.board.mirror(QUEUE, labels=self.selector)

    def close(self) -> None:
        """Remove what was made and compare the neighbourhood; CleanUpFailed, Moved or Unknown when that does not come out clean.

        The namespace's own end takes the cluster some seconds more; the run waits for it once, for all checks together.
        """
        self.board.freeze()
        problems = []
        try:
            sweep(self.cluster, self.selector, within=self.times.clean, wait_for_namespaces=False)
        except DeadlineExceeded as late:
            problems.append(f"clean-up: {late.message}")
        finally:
            self.board.close()
        moved = differences(self._before, look(self.cluster)) if self._before else []
        for line in moved:
            self.timeline.add(f"outside the check: {line}")
        if problems:
            raise CleanUpFailed("; ".join(problems + moved))
        if moved and self.context.target == "cluster":
            raise Unknown(f"while the check ran, its neighbourhood changed, perhaps by its owners: {'; '.join(moved)}")
        if moved:
            raise Moved(f"something outside the check moved: {'; '.join(moved)}")

    @property
    def selector(self) -> str:
        """Label selector of everything that this lab made."""
        return f"{LAB}={self.names.lab}"

    @property
    def subject(self) -> Installed:
        """The add-on that the check is about."""
        found = subject_of(self.check, self.context)
        if found is None:
            raise Unknown(f"{self.check.subject} is not part of this cluster")
        return found

    def watch(self, kind: Kind) -> Mirror:
        """Follow a kind inside the namespace; its changes stand in the timeline from here on."""
        return self.board.mirror(kind, self.namespace)

    def note(self, what: str) -> None:
        """A line of the check's own in the timeline."""
        self.timeline.add(what)

    # -- making -------------------------------------------------------------------------------------------------

    def nodes(self, *gpus: int) -> list[str]:
        """Simulated nodes with so many GPUs each, Ready when this returns; the department grows with them."""
        made = []
        for count in gpus:
            name = self.names(f"n{len(self._own_nodes)}")
            self.cluster.create(NODE, objects.node(self.names, name, gpus=count))
            self._own_nodes[name] = count
            made.append(name)
        self._selector = {LAB: self.names.lab}
        nodes = self._nodes or self.board.mirror(NODE, labels=self.selector)
        self._nodes = nodes
        self.board.until(lambda: all(_ready(nodes.live.get(name)) for name in made), "own nodes Ready", within=self.times.must)
        if self._department and not self._department_share:
            self._apply_department(objects.share(self.own_gpus))
        return made

    def room(self, gpus: int) -> None:
        """Make sure of so many free GPUs on one node: an own one where the target allows it, else a free one, else skip."""
        if self.context.target != "cluster":
            self.nodes(gpus)
        elif gpus and not self._free_on_some_node(gpus):
            pytest.skip(f"no node has {gpus} free GPUs")

    @property
    def own_gpus(self) -> int:
        return sum(self._own_nodes.values())

    def department(self, gpu: Mapping[str, float] | None = None) -> str:
        """The parent of all queues of this lab. Without ``gpu`` it deserves what the own nodes have, and has no limit.

        Where the nodes are not its own it deserves nothing and gets no surplus, so that it can never take from others.
        """
        if not self._department:
            self._department = self.names("dept")
            self._department_share = gpu or {}
            own = objects.share(self.own_gpus) if self._own_nodes else objects.share(0, weight=0)
            self._apply_department(gpu or own)
        return self._department

    def queue(
        self,
        name: str,
        *,
        quota: float = 0,
        limit: float = -1,
        weight: float = 1,
        priority: int | None = None,
        parent: str | None = None,
    ) -> str:
        """A queue below the department, or below ``parent`` (an empty string: at the top). GPUs; CPU and memory unbounded."""
        full = self.names(name)
        above = self.department() if parent is None else parent
        share = objects.share(quota, limit, weight)
        self.cluster.create(QUEUE, objects.queue(self.names, full, gpu=share, parent=above, priority=priority))
        return full

    def priority_class(self, value: int) -> str:
        """A PriorityClass of that value; KAI takes 100 and more as non-preemptible unless a label says otherwise."""
        if value not in self._classes:
            made = objects.priority_class(self.names, value)
            self.cluster.create(PRIORITY_CLASS, made)
            self._classes[value] = made["metadata"]["name"]
        return self._classes[value]

    def pod(
        self,
        name: str,
        queue: str,
        *,
        gpus: int = 1,
        node: str = "",
        priority: int | None = None,
        preemptible: bool | None = None,
        group: str = "",
    ) -> str:
        """A pod for the scheduler under test, on own nodes only where there are any; on ``node`` alone when it is given."""
        selector = {"kubernetes.io/hostname": node} if node else self._selector
        made = objects.pod(
            self.names,
            name,
            gpus=gpus,
            queue=queue,
            selector=selector,
            priority_class=self.priority_class(priority) if priority is not None else "",
            preemptible=preemptible,
            group=group,
        )
        poll(lambda: self._accepted(made), Deadline.after(self.times.must), f"acceptance of pod {name}")
        return name

    def gang(self, name: str, queue: str, *, pods: int, minimum: int, gpus: int = 1) -> list[str]:
        """A PodGroup made by the check itself, and so many of its pods."""
        self.cluster.create(POD_GROUP, objects.pod_group(self.names, name, queue=queue, minimum=minimum))
        return [self.pod(f"{name}-{index}", queue, gpus=gpus, group=name) for index in range(pods)]

    def create(self, kind: Kind, obj: Object) -> Object:
        """Any other object, with the labels by which it is found again."""
        meta = {**obj["metadata"], "labels": {**self.names.labels(), **obj["metadata"].get("labels", {})}}
        if kind.namespaced:
            meta["namespace"] = self.namespace
        return self.cluster.create(kind, {**obj, "metadata": meta})

    @property
    def selector_of_nodes(self) -> dict[str, str]:
        """nodeSelector for pods that the check does not make through :meth:`pod`."""
        return dict(self._selector)

    # -- seeing -------------------------------------------------------------------------------------------------

    def until(self, decide: Callable[[], T | None], what: str, *, within: float | None = None) -> T:
        """Wait for what must happen; see :meth:`Board.until`."""
        return self.board.until(decide, what, within=within or self.times.must, now=self.stand)

    def hold(self, broken: Callable[[], str | None], *, seconds: float | None = None) -> None:
        """Watch that something does not happen, and prove afterwards that the scheduler was alive to do it.

        Without that proof a dead scheduler would pass every check of this sort; Unknown when it gives no sign of life.
        """
        self.board.hold(broken, seconds=seconds or self.times.quiet)
        self.alive()

    def stay_unbound(self, *pods: str, why: str) -> None:
        """None of the pods, about which the scheduler has told its verdict, may get a node; ``why`` says what it would break."""

        assert pods, "a check that looks at no pods proves nothing"

        def broken() -> str | None:
            gone = [pod for pod in pods if pod not in self.pods.live]
            nodes = {pod: self.node_of(pod) for pod in pods if self.node_of(pod)}
            if gone:
                return f"{why}, but gone: {', '.join(gone)}"
            return f"{why}, but bound: {nodes}" if nodes else None

        self.hold(broken, seconds=self.times.settled)

    def alive(self) -> None:
        """A small pod of its own must be bound; Unknown otherwise."""
        name = f"alive-{secrets.token_hex(2)}"
        self.pod(name, self.queue(name), gpus=0)
        try:
            self.board.until(lambda: self.node_of(name), "binding of a pod without GPUs", within=self.times.must)
        except DeadlineExceeded:
            raise Unknown("the scheduler bound nothing when asked for a sign of life: no verdict on what it did not do") from None

    def node_of(self, pod: str) -> str:
        """Name of the pod's node, empty while it has none."""
        return str(self.pods.live.get(pod, {}).get("spec", {}).get("nodeName", ""))

    def bound(self, prefix: str = "") -> dict[str, str]:
        """Bound live pods of that prefix and their nodes; pods on their way out do not count."""
        return {
            name: pod["spec"]["nodeName"]
            for name, pod in self.pods.live.items()
            if name.startswith(prefix) and pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
        }

    def reasons(self, group: Object) -> list[tuple[str, str]]:
        """(reason, message) pairs of a PodGroup's scheduling conditions."""
        return [
            (str(reason.get("reason", "")), str(reason.get("message", "")))
            for condition in group.get("status", {}).get("schedulingConditions") or ()
            for reason in condition.get("reasons") or ()
        ]

    def group_of(self, pod: str) -> Object | None:
        """The PodGroup that a pod was put into, or None so far."""
        name = self.pods.live.get(pod, {}).get("metadata", {}).get("annotations", {}).get("pod-group-name", "")
        return self.groups.live.get(name)

    def stand(self) -> str:
        """How the pods stand, in one line, for the message of a wait that gave up."""
        parts = []
        for name, pod in sorted(self.pods.live.items()):
            group = self.group_of(name) if hasattr(self, "groups") else None
            why = "; ".join(f"{reason} {message}".strip() for reason, message in self.reasons(group)) if group else ""
            node = pod["spec"].get("nodeName")
            parts.append(f"{name} on {node}" if node else f"{name} waits{f' ({why[:160]})' if why else ''}")
        return ", ".join(parts[:12]) + (f" and {len(parts) - 12} more" if len(parts) > 12 else "") or "no pods"

    # -- helpers ------------------------------------------------------------------------------------------------

    def _apply_department(self, share: Mapping[str, float]) -> None:
        made = objects.queue(self.names, self._department, gpu=share)
        if self.cluster.find(QUEUE, self._department) is None:
            self.cluster.create(QUEUE, made)
        else:
            self.cluster.patch(QUEUE, self._department, {"spec": made["spec"]})

    def _accepted(self, pod: Object) -> bool:
        """Create a pod; False while the API server's admission has not yet heard of a PriorityClass made a moment ago."""
        try:
            self.cluster.create(POD, pod)
        except Refusal as refusal:
            if refusal.status == 403 and "no PriorityClass with name" in refusal.message:
                return False
            raise
        return True

    def _free_on_some_node(self, gpus: int) -> bool:
        used: dict[str, float] = {}
        for pod in self.cluster.list(POD)[0]:
            if pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}:
                used[pod["spec"].get("nodeName", "")] = used.get(pod["spec"].get("nodeName", ""), 0) + _gpus(pod)
        for node in self.cluster.list(NODE)[0]:
            has = float(node.get("status", {}).get("allocatable", {}).get("nvidia.com/gpu", 0))
            if _ready(node) and not node["spec"].get("unschedulable") and has - used.get(node["metadata"]["name"], 0) >= gpus:
                return True
        return False


def _gpus(pod: Object) -> float:
    limits = (container.get("resources", {}).get("limits", {}) for container in pod["spec"]["containers"])
    return sum(float(limit.get("nvidia.com/gpu", 0)) for limit in limits)


def _ready(node: Object | None) -> bool:
    conditions = (node or {}).get("status", {}).get("conditions", ())
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)

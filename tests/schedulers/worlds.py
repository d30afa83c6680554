"""Small clusters in one line each, for the policy tests: ``World().nodes(2, gpus=8).queue("a", gpu=4)...``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from schedulers.policy import (
    UNLIMITED,
    Amounts,
    Decisions,
    Node,
    Pod,
    PodGroup,
    PodState,
    Queue,
    Settings,
    Snapshot,
    Topology,
    cycle,
)


class World:
    """A snapshot under construction, and a stand-in for the cluster that carries decisions out."""

    def __init__(self, **options: Any) -> None:
        self.options = options
        self._nodes: dict[str, Node] = {}
        self._queues: dict[str, Queue] = {}
        self._groups: dict[str, PodGroup] = {}
        self._pods: dict[str, Pod] = {}
        self._clock = 0.0
        self._topologies: tuple[Topology, ...] = ()
        self.now = 0.0

    def nodes(self, count: int = 1, *, gpus: float = 8, prefix: str = "node", **more: Any) -> World:
        for number in range(count):
            node = Node(f"{prefix}-{number}", Amounts(gpus, 64_000, 512e9), **more)
            self._nodes[node.name] = node
        return self

    def queue(
        self,
        name: str,
        *,
        parent: str = "",
        gpu: float = UNLIMITED,
        limit: float = UNLIMITED,
        weight: float = 1,
        priority: int = 100,
    ) -> World:
        """A queue with GPU figures; CPU and memory are unlimited."""
        self._clock += 1
        self._queues[name] = Queue(
            name,
            parent,
            priority,
            deserved=Amounts(gpu, UNLIMITED, UNLIMITED),
            limit=Amounts(limit, UNLIMITED, UNLIMITED),
            weight=Amounts(weight, 1, 1),
            created=self._clock,
        )
        return self

    def put(self, value: Node | Queue | PodGroup | Pod) -> World:
        if isinstance(value, Node):
            self._nodes[value.name] = value
        elif isinstance(value, Queue):
            self._queues[value.name] = value
        elif isinstance(value, PodGroup):
            self._groups[value.key] = value
        else:
            self._pods[value.uid] = value
        return self

    def job(
        self,
        name: str,
        queue: str,
        *,
        gpus: float = 1,
        pods: int = 1,
        minimum: int | None = None,
        priority: int = 50,
        preemptible: bool | None = None,
        on: str | Iterable[str] = (),
        parts: dict[str, int] | None = None,
        group: dict[str, Any] | None = None,
        **more: Any,
    ) -> World:
        """A group of equal pods, running on ``on`` (one node for all, or one for each) or pending.

        ``parts`` says how many of the pods are in which subgroup, ``group`` more about the group, the rest more about the pods.
        """
        self._clock += 1
        keep = priority < 100 if preemptible is None else preemptible
        made = PodGroup("ns", name, queue, minimum or pods, priority, keep, created=self._clock, **(group or {}))
        self._groups[made.key] = made
        names = [part for part, count in (parts or {}).items() for _ in range(count)] or [""] * pods
        where = [on] * pods if isinstance(on, str) else [*on]
        for number in range(pods):
            uid = f"{name}-{number}"
            placed = {"state": PodState.RUNNING, "node": where[number]} if number < len(where) else {}
            values = {"request": Amounts(gpus, 1000, 1e9), "created": self._clock, "subgroup": names[number], **placed, **more}
            self._pods[uid] = Pod(uid, "ns", uid, made.key, **values)
        return self

    def snapshot(self) -> Snapshot:
        return Snapshot(
            tuple(self._nodes.values()),
            tuple(self._queues.values()),
            tuple(self._groups.values()),
            tuple(self._pods.values()),
            self._topologies,
            settings=Settings(**self.options),
            now=self.now,
        )

    # -- a cluster that does as it is told --------------------------------------------------------------------------

    def step(self, *, recreate: bool = False) -> Decisions:
        """One cycle and its effects: pods run, victims start to go. ``recreate`` makes a new pending pod for each victim."""
        decided = cycle(self.snapshot())
        for bind in decided.binds:
            pod = self._pods[bind.pod]
            groups = bind.gpu_groups or pod.gpu_groups
            self._pods[bind.pod] = dataclasses.replace(pod, state=PodState.RUNNING, node=bind.node, gpu_groups=groups)
        for eviction in decided.evictions:
            victim = self._pods[eviction.pod]
            self._pods[eviction.pod] = dataclasses.replace(victim, state=PodState.RELEASING)
            if recreate:
                self._clock += 1
                uid = f"{victim.uid}+"
                self._pods[uid] = dataclasses.replace(
                    victim, uid=uid, name=uid, state=PodState.PENDING, node="", gpu_groups=(), created=self._clock
                )
        return decided

    def reap(self) -> None:
        """Pods that are being deleted are gone."""
        self._pods = {uid: pod for uid, pod in self._pods.items() if pod.state is not PodState.RELEASING}

    def settle(self, *, recreate: bool = False, limit: int = 50) -> World:
        """Cycles until nothing is decided any more. Fails where that does not happen: a policy that never comes to rest."""
        for _ in range(limit):
            decided = self.step(recreate=recreate)
            self.reap()
            if not decided.binds and not decided.evictions and not decided.pipelined:
                return self
        raise AssertionError(f"still busy after {limit} cycles: {decided}")

    def running(self, prefix: str = "") -> list[str]:
        """Uids of running pods, in order."""
        return sorted(uid for uid, pod in self._pods.items() if pod.state is PodState.RUNNING and uid.startswith(prefix))

    def pending(self, prefix: str = "") -> list[str]:
        return sorted(uid for uid, pod in self._pods.items() if pod.state is PodState.PENDING and uid.startswith(prefix))

    def topology(self, *levels: str, **aliases: str) -> World:
        """The topology ``t`` with these levels."""
        self._topologies = (Topology("t", levels, aliases),)
        return self

    def lose(self, *uids: str) -> World:
        """These pods are gone."""
        for uid in uids:
            del self._pods[uid]
        return self

    def change(self, name: str, **values: Any) -> World:
        """Change a group or a queue."""
        known: PodGroup | Queue = self._groups[f"ns/{name}"] if f"ns/{name}" in self._groups else self._queues[name]
        return self.put(dataclasses.replace(known, **values))

    def node_of(self, uid: str) -> str:
        return self._pods[uid].node

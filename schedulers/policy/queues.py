"""The tree of queues, and fair shares computed down it.

Source: KAI pkg/scheduler/cache/cluster_info/queue.go (orphans), plugins/proportion/proportion.go (usage, setFairShare).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from schedulers.policy import devices
from schedulers.policy.division import Claim, divide
from schedulers.policy.resources import UNLIMITED, ZERO, Amounts, total
from schedulers.policy.snapshot import Node, Queue, Snapshot
from schedulers.policy.workload import PodState


@dataclass(frozen=True, slots=True)
class Tree:
    """Queues that exist for the scheduler, oldest first. ``paths`` go from a queue up to its top-level ancestor."""

    queues: tuple[Queue, ...]
    index: Mapping[str, int]
    children: tuple[tuple[int, ...], ...]
    tops: tuple[int, ...]
    paths: tuple[tuple[int, ...], ...]

    def leaf(self, queue: int) -> bool:
        """Only leaf queues run pods."""
        return not self.children[queue]


def tree(queues: Iterable[Queue]) -> Tree:
    """Build the tree. A queue whose chain of parents does not end at a top-level queue is an orphan and does not exist."""
    known = {queue.name: queue for queue in queues}
    kept = sorted((q for q in known.values() if _rooted(q, known)), key=lambda q: (q.created, q.name))
    index = {queue.name: position for position, queue in enumerate(kept)}
    children: list[list[int]] = [[] for _ in kept]
    for position, queue in enumerate(kept):
        if queue.parent:
            children[index[queue.parent]].append(position)
    paths = []
    for queue in kept:
        path = [index[queue.name]]
        while kept[path[-1]].parent:
            path.append(index[kept[path[-1]].parent])
        paths.append(tuple(path))
    tops = tuple(position for position, queue in enumerate(kept) if not queue.parent)
    return Tree(tuple(kept), index, tuple(tuple(c) for c in children), tops, tuple(paths))


def _rooted(queue: Queue, known: Mapping[str, Queue]) -> bool:
    seen = {queue.name}
    while queue.parent:
        if queue.parent not in known or queue.parent in seen:
            return False
        seen.add(queue.parent)
        queue = known[queue.parent]
    return True


@dataclass(frozen=True, slots=True)
class Share:
    """One queue's figures. All of them include the queues below it."""

    queue: Queue
    allocated: Amounts
    allocated_non_preemptible: Amounts
    requested: Amounts
    fair_share: Amounts


def fair_share(snapshot: Snapshot) -> Mapping[str, Share]:
    """Every existing queue's figures, by name. Amounts are GPUs, millicores and bytes."""
    queue_tree = tree(snapshot.queues)
    figures = shares(queue_tree, snapshot, capacity(snapshot))
    return {queue.name: figure for queue, figure in zip(queue_tree.queues, figures, strict=True)}


def capacity(snapshot: Snapshot) -> Amounts:
    """What queues divide: ready nodes, less what pods of other schedulers hold there (getNodeResources)."""
    ready = {node.name for node in snapshot.nodes if node.ready}
    foreign = total([pod.request for pod in snapshot.pods if not pod.group and pod.node in ready])
    restricted = snapshot.settings.restrict_nodes
    return total([devices.capacity_of(node, restricted) for node in snapshot.nodes if node.ready]).minus(foreign)


def gpu_memories(nodes: Iterable[Node]) -> tuple[float | None, float | None]:
    """The smallest and the largest memory of a GPU in the pool, in MiB; None where no node says it (MinNodeGPUMemoryMiB)."""
    known = [amount for amount in map(devices.memory, nodes) if amount]
    return (min(known), max(known)) if known else (None, None)


def shares(queue_tree: Tree, snapshot: Snapshot, amount: Amounts) -> tuple[Share, ...]:
    """Usage of every queue and its fair share of ``amount``, in the tree's order.

    A pod that is being deleted neither counts as allocated nor as requested (updateQueuesCurrentResourceUsage).
    """
    count = len(queue_tree.queues)
    sums = [[0.0] * 9 for _ in range(count)]
    home = {group.key: group for group in snapshot.groups}
    memories = {node.name: devices.memory(node) for node in snapshot.nodes}
    least = gpu_memories(snapshot.nodes)[0]
    whole = [pod for pod in snapshot.pods if pod.share is None]
    parts = sorted((pod for pod in snapshot.pods if pod.share is not None), key=lambda pod: pod.uid)
    for pod in (*whole, *parts):  # parts last and in order, because sums of fractions depend on it
        group = home.get(pod.group)
        position = queue_tree.index.get(group.queue) if group else None
        if group is None or position is None:
            continue
        if pod.state.allocated:
            gpu, cpu, memory = devices.cost(pod, memories.get(pod.node))
            columns: tuple[int, ...] = (0, 6) if group.preemptible else (0, 3, 6)
        elif pod.state is PodState.PENDING:
            gpu, cpu, memory = devices.estimate(pod, least)
            columns = (6,)
        else:
            continue
        for column in columns:
            row = sums[position]
            row[column] += gpu
            row[column + 1] += cpu
            row[column + 2] += memory
    _up(queue_tree, sums)
    requested = [Amounts(*row[6:9]) for row in sums]
    fair: list[Amounts] = [ZERO] * count
    _down(queue_tree, queue_tree.tops, amount, requested, fair, snapshot.settings.k_value)
    return tuple(
        Share(queue_tree.queues[i], Amounts(*sums[i][0:3]), Amounts(*sums[i][3:6]), requested[i], fair[i]) for i in range(count)
    )


def _up(queue_tree: Tree, sums: list[list[float]]) -> None:
    """Add what each queue holds to all queues above it."""
    own = [tuple(row) for row in sums]
    for position, amounts in enumerate(own):
        for above in queue_tree.paths[position][1:]:
            row = sums[above]
            for column, value in enumerate(amounts):
                row[column] += value


def _down(
    queue_tree: Tree,
    level: Sequence[int],
    amount: Amounts,
    requested: Sequence[Amounts],
    fair: list[Amounts],
    k_value: float,
) -> None:
    """Divide among one set of siblings, then each one's fair share among its own children."""
    if not level:
        return
    columns = []
    for resource in range(3):
        claims = []
        for position in level:
            queue = queue_tree.queues[position]
            claims.append(
                Claim(
                    deserved=queue.deserved[resource],
                    limit=queue.limit[resource],
                    weight=queue.weight[resource],
                    requested=requested[position][resource],
                    priority=queue.priority,
                    rank=(queue.created, queue.name),
                    usage=queue.usage[resource],
                )
            )
        columns.append(divide(amount[resource], claims, k_value))
    for place, position in enumerate(level):
        fair[position] = Amounts(columns[0][place], columns[1][place], columns[2][place])
        _down(queue_tree, queue_tree.children[position], fair[position], requested, fair, k_value)


def allocatable(queue: Queue, fair: Amounts) -> Amounts:
    """Up to where a queue's use is its own: the larger of quota and fair share, cut at the limit (GetAllocatableShare)."""
    return Amounts(*(_allocatable(queue.deserved[r], queue.limit[r], fair[r]) for r in range(3)))


def _allocatable(deserved: float, limit: float, fair: float) -> float:
    if deserved == UNLIMITED:
        return limit
    larger = max(deserved, fair)
    return larger if limit == UNLIMITED else min(limit, larger)

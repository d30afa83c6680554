"""How long one cycle of the policy model takes, and how that grows with the cluster."""

from __future__ import annotations

import random
from collections.abc import Iterator

from schedulers.policy import UNBOUNDED, UNLIMITED, Amounts, Node, Pod, PodGroup, PodState, Queue, Snapshot, cycle
from tests.bench.measure import Figure, clock

_GPUS = 8
_DEPARTMENTS = 20


def cluster(nodes: int, queues: int, running: int, pending: int, *, seed: int = 1) -> Snapshot:
    """Nodes of 8 GPUs, half of the queues holding all that runs (single GPUs), and pending work of all queues: single pods and
    gangs of up to 8 pods with 1 to 8 GPUs each, an eighth of them non-preemptible.
    """
    dice = random.Random(seed)
    projects = queues - _DEPARTMENTS
    gpus = nodes * _GPUS
    tree = [
        Queue(f"d{i}", "", 100, Amounts(gpus / _DEPARTMENTS, UNLIMITED, UNLIMITED), UNBOUNDED, Amounts(1, 1, 1), created=i)
        for i in range(_DEPARTMENTS)
    ]
    for i in range(projects):
        quota = Amounts(gpus / projects, UNLIMITED, UNLIMITED)
        tree.append(Queue(f"p{i}", f"d{i % _DEPARTMENTS}", 100, quota, UNBOUNDED, Amounts(1, 1, 1), created=1000 + i))
    machines = tuple(Node(f"n{i:05}", Amounts(_GPUS, 64_000, 512e9)) for i in range(nodes))
    slots = [node.name for node in machines for _ in range(_GPUS)]
    dice.shuffle(slots)
    groups: list[PodGroup] = []
    pods: list[Pod] = []
    for i in range(running):
        group = PodGroup("ns", f"r{i}", f"p{dice.randrange(projects // 2)}", created=float(i))
        groups.append(group)
        pods.append(Pod(group.name, "ns", group.name, group.key, PodState.RUNNING, slots[i], Amounts(1, 1000, 1e9)))
    while len(pods) < running + pending:
        size = min(dice.choice([1, 1, 1, 1, 2, 4, 8]), running + pending - len(pods))
        priority = dice.choice([50, 50, 50, 50, 50, 75, 75, 125])
        name, queue = f"w{len(groups)}", f"p{dice.randrange(projects)}"
        group = PodGroup("ns", name, queue, size, priority, priority < 100, created=1e6 + len(groups))
        groups.append(group)
        want = Amounts(dice.choice([1, 1, 1, 2, 4, 8]), 1000, 1e9)
        for number in range(size):
            pods.append(Pod(f"{name}-{number}", "ns", f"{name}-{number}", group.key, request=want, created=group.created))
    return Snapshot(machines, tuple(tree), tuple(groups), tuple(pods))


def figures() -> Iterator[Figure]:
    """A full cluster, where every waiting group has to look for victims, and one with room, each at two sizes."""
    for share, words in ((1.0, "full"), (0.8, "80 % full")):
        small = 0.0
        for nodes, wanted in ((500, 2.0), (5000, 30.0)):
            snapshot = cluster(nodes, 200, int(nodes * _GPUS * share), 1000)
            with clock() as taken:
                decided = cycle(snapshot)
            if not decided.evictions:
                raise RuntimeError("a cycle that evicts nothing measures nothing")
            growth = f", {taken.wall / small:.1f} times the smaller one" if small else ""
            small = taken.wall
            note = f"{len(decided.binds)} bound, {len(decided.evictions)} evicted{growth}"
            yield Figure(f"one policy cycle, {nodes} nodes {words}, 1000 pods pending", taken.wall, wanted, "s", note)

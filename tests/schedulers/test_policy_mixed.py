"""What must hold in clusters where everything occurs at once: shares of GPUs, MIG devices, subgroups, topologies, deep queues."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedulers.policy import (
    UNLIMITED,
    Amounts,
    GpuShare,
    Node,
    PodGroup,
    PodState,
    Queue,
    Snapshot,
    SubGroup,
    TopologyConstraint,
    cycle,
    fair_share,
)
from tests.schedulers.worlds import World

_QUIET = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
_MIG = "nvidia.com/mig-1g.10gb"
_NOISE = 1e-6


def build(seed: int, *, options: dict[str, Any] | None = None) -> tuple[World, list[dict[str, Any]]]:
    """A cluster and jobs to arrive in it, one after another."""
    dice = random.Random(seed)
    chosen = {"gpu_strategy": dice.choice(["binpack", "binpack", "spread"])} if options is None else options
    world = World(**chosen).topology("zone", "rack")
    for number in range(dice.randint(2, 5)):
        labels = {"zone": f"z{number // 4}", "rack": f"r{number // 2}"}
        extra = {}
        if dice.random() < 0.8:
            labels["nvidia.com/gpu.memory"] = dice.choice(["40000", "81559"])
        if dice.random() < 0.2:
            labels["nvidia.com/mig.strategy"] = "mixed"
            extra[_MIG] = 4.0
        gpus = 0 if extra else dice.choice([1, 2, 2, 4])
        size = Amounts(gpus, dice.choice([4000, 8000]), 64e9)
        world.put(Node(f"n{number}", size, pods=dice.choice([6, 110]), labels=labels, extra=extra))
    leaves = []
    for number in range(dice.randint(1, 2)):
        name = f"d{number}"
        world.queue(name, **queue(dice))
        for depth in range(dice.choice([0, 1, 1, 2])):
            below = f"{name}.{depth}"
            world.queue(below, parent=name, **queue(dice))
            if dice.random() < 0.5:
                world.queue(f"{name}.x{depth}", parent=name, **queue(dice))
                leaves.append(f"{name}.x{depth}")
            name = below
        leaves.append(name)
    for leaf in leaves:
        if dice.random() < 0.3:
            world.change(leaf, limit=Amounts(dice.choice([1, 2, 4]), 4000, UNLIMITED), weight=Amounts(1, 1, 1))
    return world, [job(dice, number, leaves) for number in range(dice.randint(3, 9))]


def queue(dice: random.Random) -> dict[str, Any]:
    return {
        "gpu": dice.choice([UNLIMITED, 0, 1, 2]),
        "limit": dice.choice([UNLIMITED, UNLIMITED, 2, 5]),
        "weight": dice.randint(0, 2),
        "priority": dice.choice([100, 100, 101]),
    }


def job(dice: random.Random, number: int, leaves: list[str]) -> dict[str, Any]:
    pods = dice.choice([1, 1, 2, 3, 4])
    made: dict[str, Any] = {
        "name": f"job{number}",
        "queue": dice.choice(leaves),
        "gpus": 0,
        "pods": pods,
        "minimum": dice.randint(1, pods),
        "priority": dice.choice([40, 50, 90]),
        "preemptible": dice.random() < 0.8,
        "group": {},
    }
    kind = dice.choice(["whole", "whole", "portion", "portion", "memory", "mig", "none"])
    if kind == "whole":
        made["gpus"] = dice.choice([1, 1, 2])
    elif kind == "portion":
        made["share"] = GpuShare(dice.choice([1, 1, 2]), portion=dice.choice([0.3, 0.5, 0.6]))
    elif kind == "memory":
        made["share"] = GpuShare(dice.choice([1, 1, 2]), memory=dice.choice([5000.0, 20000.0, 50000.0]))
    elif kind == "mig":
        made["extra"] = ((_MIG, 1.0),)
    if dice.random() < 0.3:
        required, preferred = dice.choice([("rack", ""), ("", "rack"), ("zone", "rack")])
        made["group"]["topology"] = TopologyConstraint("t", required, preferred)
    if pods >= 3 and dice.random() < 0.6:
        made["parts"] = {"a": 1, "b": pods - 1}
        made["group"] |= {
            "subgroups": (SubGroup("a", min_member=1), SubGroup("b", min_member=dice.randint(0, pods - 1))),
            "min_subgroup": dice.choice([None, 1, 2]),
        }
    return made


def seeds(test: Any) -> Any:
    return _QUIET(given(st.integers(0, 1_000_000))(test))


@seeds
def test_reached_states_keep_every_promise(seed: int) -> None:
    world, jobs = build(seed)
    for one in jobs:
        world.job(**one)
        for _ in range(2):
            world.step(recreate=True)
            keeps_all(world.snapshot())
            world.reap()
            keeps_all(world.snapshot())


def keeps_all(snapshot: Snapshot) -> None:
    no_node_is_over_committed(snapshot)
    no_gpu_is_shared_beyond_all_of_it(snapshot)
    no_queue_is_beyond_its_bounds(snapshot)
    for group in snapshot.groups:
        no_group_is_partly_there(snapshot, group)


def no_node_is_over_committed(snapshot: Snapshot) -> None:
    for node in snapshot.nodes:
        here = [pod for pod in snapshot.pods if pod.node == node.name]
        shared = {name for pod in here for name in pod.gpu_groups}
        assert sum(pod.request.gpu for pod in here) + len(shared) <= node.allocatable.gpu
        assert sum(pod.request.cpu for pod in here) <= node.allocatable.cpu
        assert len(here) <= node.pods
        assert sum(amount for pod in here for name, amount in pod.extra if name == _MIG) <= node.extra.get(_MIG, 0)


def no_gpu_is_shared_beyond_all_of_it(snapshot: Snapshot) -> None:
    for node in snapshot.nodes:
        whole = float(int(node.labels.get("nvidia.com/gpu.memory", "100")) // 100 * 100)
        used: dict[str, float] = {}
        for pod in snapshot.pods:
            if pod.node == node.name and pod.share is not None:
                assert len(set(pod.gpu_groups)) == pod.share.devices
                for name in pod.gpu_groups:
                    used[name] = used.get(name, 0.0) + (pod.share.memory or int(pod.share.portion * whole))
        assert all(amount <= whole for amount in used.values())
        assert not used or not node.extra, "MIG devices and shares never meet"


def no_queue_is_beyond_its_bounds(snapshot: Snapshot) -> None:
    for share in fair_share(snapshot).values():
        for r in range(3):
            limit, deserved = share.queue.limit[r], share.queue.deserved[r]
            assert limit == UNLIMITED or share.allocated[r] <= limit + _NOISE
            assert deserved == UNLIMITED or share.allocated_non_preemptible[r] <= deserved + _NOISE


def no_group_is_partly_there(snapshot: Snapshot, group: PodGroup) -> None:
    """All of it that must be there together is, or nothing at all."""
    running = [pod for pod in snapshot.pods if pod.group == group.key and pod.state is PodState.RUNNING]
    if not running:
        return
    if not group.subgroups:
        assert len(running) >= group.min_member
        return
    enough = [sum(pod.subgroup == part.name for pod in running) >= part.min_member for part in group.subgroups]
    assert sum(enough) >= (len(enough) if group.min_subgroup is None else group.min_subgroup)


@seeds
def test_required_levels_are_kept(seed: int) -> None:
    world, jobs = build(seed)
    for one in jobs:
        world.job(**one).step(recreate=True)
        world.reap()
    snapshot = world.snapshot()
    labels = {node.name: node.labels for node in snapshot.nodes}
    for group in snapshot.groups:
        if group.topology is not None and group.topology.required:
            places = {labels[pod.node][group.topology.required] for pod in snapshot.pods if pod.group == group.key and pod.node}
            assert len(places) <= 1


@seeds
def test_a_cycle_with_nothing_left_to_do_does_nothing(seed: int) -> None:
    world, jobs = build(seed)
    for one in jobs:
        world.job(**one)
    world.settle(recreate=True, limit=80)
    decided = cycle(world.snapshot())
    assert not decided.binds
    assert not decided.evictions
    assert not decided.pipelined


@seeds
def test_the_order_of_the_snapshot_does_not_matter(seed: int) -> None:
    world, jobs = build(seed)
    for one in jobs:
        world.job(**one)
        world.step(recreate=True)
    snapshot = world.snapshot()
    dice = random.Random(seed)
    fields = ("nodes", "queues", "groups", "pods")
    shuffled = {name: tuple(dice.sample(getattr(snapshot, name), len(getattr(snapshot, name)))) for name in fields}
    assert cycle(snapshot) == cycle(dataclasses.replace(snapshot, **shuffled))  # type: ignore[arg-type]


@seeds
def test_consolidation_loses_nobody(seed: int) -> None:
    world, jobs = build(seed, options={"actions": ("allocate", "consolidation")})
    for one in jobs:
        world.job(**one)
        decided = world.step(recreate=True)
        assert all(eviction.moves_to for eviction in decided.evictions)
        world.reap()


@seeds
def test_fair_shares_of_every_resource_stay_within_what_is_there(seed: int) -> None:
    world, jobs = build(seed)
    for one in jobs:
        world.job(**one)
    snapshot = world.snapshot()
    shares = fair_share(snapshot)
    for share in shares.values():
        for r in range(3):
            wanted = share.requested[r]
            assert share.fair_share[r] <= max(wanted, 0.0) + 1.0, "never beyond the request, but for the rounding of units"
            limit = share.queue.limit[r]
            assert limit == UNLIMITED or share.fair_share[r] <= limit + 1.0


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_limits_hold_at_every_depth(depth: int) -> None:
    world = World().nodes(2)
    for level in range(depth):
        world.queue(f"q{level}", parent=f"q{level - 1}" if level else "", limit=2 if level == 0 else UNLIMITED)
    for number in range(4):
        world.job(f"j{number}", f"q{depth - 1}")
    assert len(world.settle().running()) == 2


def test_cpu_and_memory_are_divided_as_gpus_are() -> None:
    world = World().put(Node("n", Amounts(0, 8000, 8e9)))
    for name, weight in (("a", 1), ("b", 3)):
        weights = Amounts(1, weight, weight)
        world.put(Queue(name, deserved=Amounts(0, 0, 0), limit=Amounts(-1, -1, -1), weight=weights, created=weight))
    for number in range(10):
        world.job(f"a{number}", "a", gpus=0).job(f"b{number}", "b", gpus=0)
    shares = fair_share(world.snapshot())
    assert (shares["a"].fair_share.cpu, shares["b"].fair_share.cpu) == (2000, 6000)
    assert (shares["a"].fair_share.memory, shares["b"].fair_share.memory) == (2e9, 6e9)
    world.settle(recreate=True)
    assert (len(world.running("a")), len(world.running("b"))) == (2, 6)

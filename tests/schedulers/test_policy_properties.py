"""What must hold in any cluster, whatever it looks like. Clusters grow cycle by cycle, so that every state is a reached one."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedulers.policy import UNLIMITED, Amounts, Decisions, Pod, PodState, Snapshot, cycle, fair_share
from schedulers.policy.division import Claim, divide
from tests.schedulers.worlds import World

_QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

_AMOUNT = st.integers(0, 8).map(float)
_BOUND = st.one_of(st.just(UNLIMITED), _AMOUNT)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[World, list[dict[str, object]]]:
    """A small cluster with one or two levels of queues, and more jobs than fit, to arrive one after another.

    A seed makes the cluster: hypothesis shrinks towards small worlds, and small worlds have room for everybody.
    """
    dice = random.Random(draw(st.integers(0, 1_000_000)))
    world = World()
    for number in range(dice.randint(1, 3)):
        world.nodes(1, gpus=dice.choice([1, 2, 2, 3, 4]), prefix=f"n{number}")
    leaves = []
    for number in range(dice.randint(1, 3)):
        top = f"top-{number}"
        world.queue(top, **figures(dice))
        children = dice.choice([0, 0, 1, 2])
        for child in range(children):
            world.queue(f"{top}-{child}", parent=top, **figures(dice))
            leaves.append(f"{top}-{child}")
        if not children:
            leaves.append(top)
    jobs: list[dict[str, object]] = []
    for number in range(draw(st.integers(1, 12))):
        pods = dice.choice([1, 1, 2, 3, 4])
        jobs.append(
            {
                "name": f"job{number}",
                "queue": dice.choice(leaves),
                "gpus": dice.choice([0, 1, 1, 1, 2, 3]),
                "pods": pods,
                "minimum": dice.randint(1, pods),
                "priority": dice.choice([40, 50, 90]),
                "preemptible": dice.random() < 0.8,
            }
        )
    return world, jobs


def figures(dice: random.Random) -> dict[str, Any]:
    return {
        "gpu": dice.choice([UNLIMITED, 0, 1, 2, 3]),
        "limit": dice.choice([UNLIMITED, UNLIMITED, UNLIMITED, 0, 2, 4, 6]),
        "weight": dice.randint(0, 3),
        "priority": dice.choice([99, 100, 100, 100, 101]),
    }


def usage(snapshot: Snapshot, *, preemptible: bool) -> dict[str, Amounts]:
    shares = fair_share(snapshot)
    return {name: (s.allocated if preemptible else s.allocated_non_preemptible) for name, s in shares.items()}


@_QUIET
@given(worlds())
def test_reached_states_keep_every_promise(case: tuple[World, list[dict[str, object]]]) -> None:
    world, jobs = case
    for job in jobs:
        world.job(**job)  # type: ignore[arg-type]
        for _ in range(2):
            world.step(recreate=True)
            snapshot = world.snapshot()
            nothing_above_its_limit(snapshot)
            nothing_non_preemptible_above_quota(snapshot)
            no_gang_partly_running(snapshot)
            no_node_over_committed(snapshot)
            world.reap()
            no_gang_partly_running(world.snapshot())


def nothing_above_its_limit(snapshot: Snapshot) -> None:
    held = usage(snapshot, preemptible=True)
    for queue in snapshot.queues:
        assert queue.limit.gpu == UNLIMITED or held[queue.name].gpu <= queue.limit.gpu


def nothing_non_preemptible_above_quota(snapshot: Snapshot) -> None:
    held = usage(snapshot, preemptible=False)
    for queue in snapshot.queues:
        assert queue.deserved.gpu == UNLIMITED or held[queue.name].gpu <= queue.deserved.gpu


def no_gang_partly_running(snapshot: Snapshot) -> None:
    for group in snapshot.groups:
        running = sum(pod.group == group.key and pod.state is PodState.RUNNING for pod in snapshot.pods)
        assert running == 0 or running >= group.min_member


def no_node_over_committed(snapshot: Snapshot) -> None:
    for node in snapshot.nodes:
        assert sum(pod.request.gpu for pod in snapshot.pods if pod.node == node.name) <= node.allocatable.gpu


@_QUIET
@given(worlds())
def test_no_victim_was_not_needed(case: tuple[World, list[dict[str, object]]]) -> None:
    world, jobs = case
    for job in jobs:
        world.job(**job)  # type: ignore[arg-type]
        for _ in range(2):
            before = world.snapshot()
            every_victim_is_needed(before, world.step(recreate=True))
            world.reap()


def every_victim_is_needed(before: Snapshot, decided: Decisions) -> None:
    """Spare one piece of the victims of one search, and the group that it was for has no room any more.

    An elastic group may get a pod by reclaim and the next one by preemption. Each of the two searches is held to this alone.
    """
    searches = {(eviction.preemptor, eviction.action) for eviction in decided.evictions}
    if len(searches) != 1 or decided.binds:
        return
    ((preemptor, _),) = searches
    victims = {eviction.pod for eviction in decided.evictions}
    promised = {p.pod for p in decided.pipelined if p.group == preemptor}
    for spared in pieces(before, victims):
        pods = [
            dataclasses.replace(pod, state=PodState.RELEASING) if pod.uid in victims - spared else pod
            for pod in before.pods
            if pod.state is not PodState.PENDING or pod.uid in promised
        ]
        again = cycle(dataclasses.replace(before, pods=tuple(pods)))
        placed = {bind.pod for bind in again.binds} | {p.pod for p in again.pipelined if p.action == "allocate"}
        assert not promised <= placed, f"{sorted(spared)} were evicted in vain"


def pieces(snapshot: Snapshot, victims: set[str]) -> list[set[str]]:
    """Victims as they go together: single surplus pods, or all of a group that falls below its minimum."""
    result: list[set[str]] = []
    for group in snapshot.groups:
        members = [pod.uid for pod in snapshot.pods if pod.group == group.key and pod.state is PodState.RUNNING]
        lost = [uid for uid in members if uid in victims]
        if lost and len(members) - len(lost) < group.min_member:
            result.append(set(lost))
        else:
            result.extend({uid} for uid in lost)
    return result


@_QUIET
@given(worlds())
def test_no_room_is_left_to_a_pod_that_could_use_it(case: tuple[World, list[dict[str, object]]]) -> None:
    world, jobs = case
    for job in jobs:
        world.job(**job)  # type: ignore[arg-type]
    world.settle()
    snapshot = world.snapshot()
    queues = {queue.name: queue for queue in snapshot.queues}
    held, fixed = usage(snapshot, preemptible=True), usage(snapshot, preemptible=False)
    groups = {group.key: group for group in snapshot.groups}
    for pod in snapshot.pods:
        group = groups[pod.group]
        active = sum(p.group == pod.group and p.state is PodState.RUNNING for p in snapshot.pods)
        if pod.state is not PodState.PENDING or group.min_member - active > 1:
            continue
        name = group.queue
        allowed = True
        while name:
            queue = queues[name]
            if pod.request.gpu and queue.limit.gpu != UNLIMITED:
                allowed = allowed and held[name].gpu + pod.request.gpu <= queue.limit.gpu
            if pod.request.gpu and not group.preemptible and queue.deserved.gpu != UNLIMITED:
                allowed = allowed and fixed[name].gpu + pod.request.gpu <= queue.deserved.gpu
            name = queue.parent
        roomy = [node.name for node in snapshot.nodes if free(snapshot, node.name, node.allocatable.gpu) >= pod.request.gpu]
        assert not (allowed and roomy), f"{pod.uid} could run on {roomy}"


def free(snapshot: Snapshot, node: str, gpus: float) -> float:
    return gpus - sum(pod.request.gpu for pod in snapshot.pods if pod.node == node)


@_QUIET
@given(worlds())
def test_the_cluster_comes_to_rest_when_victims_are_made_again(case: tuple[World, list[dict[str, object]]]) -> None:
    world, jobs = case
    for job in jobs:
        world.job(**job)  # type: ignore[arg-type]
        world.settle(recreate=True, limit=60)


@_QUIET
@given(worlds(), st.randoms(use_true_random=False))
def test_the_same_snapshot_gives_the_same_decisions_in_any_order(
    case: tuple[World, list[dict[str, object]]], shuffler: random.Random
) -> None:
    world, jobs = case
    for job in jobs:
        world.job(**job)  # type: ignore[arg-type]
    world.step()
    snapshot = world.snapshot()
    shuffled: dict[str, tuple[object, ...]] = {}
    for name in ("nodes", "queues", "groups", "pods"):
        values = list(getattr(snapshot, name))
        shuffler.shuffle(values)
        shuffled[name] = tuple(values)
    assert cycle(snapshot) == cycle(dataclasses.replace(snapshot, **shuffled))  # type: ignore[arg-type]


@_QUIET
@given(worlds())
def test_fair_shares_add_up_to_what_there_is(case: tuple[World, list[dict[str, object]]]) -> None:
    world, jobs = case
    for job in jobs:
        world.job(**job)  # type: ignore[arg-type]
    snapshot = world.snapshot()
    shares = fair_share(snapshot)
    capacity = sum(node.allocatable.gpu for node in snapshot.nodes)
    for parent in ["", *(queue.name for queue in snapshot.queues)]:
        children = [shares[queue.name] for queue in snapshot.queues if queue.parent == parent]
        if not children:
            continue
        there_is = shares[parent].fair_share.gpu if parent else capacity
        guaranteed = sum(
            min(there_is if c.queue.deserved.gpu == UNLIMITED else c.queue.deserved.gpu, c.requested.gpu) for c in children
        )
        assert sum(c.fair_share.gpu for c in children) <= max(there_is, guaranteed) + 1e-6


_CLAIMS = st.lists(
    st.builds(
        Claim,
        deserved=_BOUND,
        limit=_BOUND,
        weight=st.integers(0, 4).map(float),
        requested=st.integers(0, 20).map(float),
        priority=st.integers(0, 2),
        rank=st.tuples(st.floats(0, 10), st.text("abc", max_size=3)),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda claim: claim.rank,
)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 30).map(float), _CLAIMS)
def test_division_gives_everybody_its_quota_and_nobody_more_than_it_asks(amount: float, claims: list[Claim]) -> None:
    shares = divide(amount, claims)
    for claim, share in zip(claims, shares, strict=True):
        quota = amount if claim.deserved == UNLIMITED else claim.deserved
        assert share >= min(quota, claim.requestable)
        assert share <= max(claim.requestable, 0) + 1 - 1e-9 or share <= claim.requestable
        if claim.weight == 0:
            assert share == min(quota, claim.requestable)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 30).map(float), _CLAIMS)
def test_division_leaves_nothing_to_a_weighted_claim_that_asks_for_more(amount: float, claims: list[Claim]) -> None:
    shares = divide(amount, claims)
    surplus = amount - sum(shares)
    hungry = [c for c, share in zip(claims, shares, strict=True) if c.weight > 0 and share + 1 <= c.requestable]
    assert surplus <= 1e-6 or not hungry


def test_division_rounds_down_and_gives_the_rest_to_the_largest_fraction() -> None:
    def claim(name: str, weight: float) -> Claim:
        return Claim(0, UNLIMITED, weight, 100, 100, (0, name))

    assert divide(10, [claim("a", 1), claim("b", 1), claim("c", 1)]) == [4, 3, 3]
    assert divide(8, [claim("a", 1), claim("b", 2)]) == [3, 5]
    assert divide(0.5, [claim("a", 1)]) == [0.5]


def test_past_use_lowers_the_weight() -> None:
    used = Claim(0, UNLIMITED, 1, 100, 100, (0, "used"), usage=0.5)
    idle = Claim(0, UNLIMITED, 1, 100, 100, (0, "idle"))
    assert divide(9, [used, idle]) == [3, 6]


def test_a_foreign_pod_is_never_a_victim() -> None:
    world = World().nodes(gpus=1).queue("q").job("new", "q", priority=90)
    world.put(Pod("f", "ns", "f", "", PodState.RUNNING, "node-0", Amounts(1, 0, 0)))
    assert not world.step().evictions

"""The rules of the policy, one sentence a test. T-numbers are rows of the KAI reference's conformance list."""

from __future__ import annotations

import dataclasses

import pytest

from schedulers.policy import (
    Amounts,
    Constraints,
    PodState,
    Queue,
    fair_share,
)
from tests.schedulers.worlds import World


def lone() -> World:
    """One node of 8 GPUs and one queue without bounds."""
    return World().nodes().queue("q")


# -- T06, T07: the tree of queues ---------------------------------------------------------------------------------------


def test_t06_a_queue_whose_parent_is_missing_does_not_exist() -> None:
    world = World().nodes().queue("orphan", parent="nowhere").job("a", "orphan")
    decided = world.step()
    (waiting,) = decided.waiting
    assert waiting.reasons[0].reason == "QueueDoesNotExist"
    assert "Queue 'orphan' does not exist" in waiting.message
    assert not world.running()


def test_t06_children_of_an_orphan_do_not_exist_either() -> None:
    world = World().nodes().queue("orphan", parent="nowhere").queue("leaf", parent="orphan").job("a", "leaf")
    assert world.step().waiting[0].reasons[0].reason == "QueueDoesNotExist"


def test_t02_a_queue_that_nobody_made_does_not_exist() -> None:
    decided = World().nodes().job("a", "ghost").step()
    assert decided.waiting[0].reasons[0].message == "Queue 'ghost' does not exist"
    assert "Queue 'ghost' does not exist" in decided.pods["a-0"]


def test_queues_that_are_each_others_parents_do_not_exist() -> None:
    world = World().nodes().queue("a", parent="b").queue("b", parent="a").job("x", "a")
    assert world.step().waiting[0].reasons[0].reason == "QueueDoesNotExist"


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_t07_chains_of_any_depth_run_pods_in_their_leaf(depth: int) -> None:
    world = World().nodes()
    for level in range(depth):
        world.queue(f"level-{level}", parent=f"level-{level - 1}" if level else "")
    world.job("a", f"level-{depth - 1}").settle()
    assert world.running() == ["a-0"]


def test_t03_a_queue_with_children_runs_nothing_and_gives_no_reason() -> None:
    world = World().nodes().queue("parent").queue("leaf", parent="parent").job("a", "parent")
    (waiting,) = world.step().waiting
    assert waiting.reasons == ()
    assert waiting.message == "Unable to schedule podgroup"


# -- T10 to T13: gangs ----------------------------------------------------------------------------------------------------


def test_t10_a_gang_that_does_not_fit_waits_whole_and_says_so() -> None:
    world = World().nodes(gpus=3).queue("q").job("gang", "q", pods=4)
    decided = world.step()
    assert not decided.binds
    assert "Resources were found for 3 pods while 4 are required for gang scheduling" in decided.waiting[0].message
    assert "1 node(s) didn't have enough resources: GPUs" in decided.waiting[0].message
    world.nodes(gpus=1, prefix="more")
    assert {bind.pod for bind in world.step().binds} == {f"gang-{i}" for i in range(4)}


def test_t11_a_gang_is_not_ready_until_enough_pods_exist() -> None:
    world = lone().job("gang", "q", pods=1, minimum=2)
    decided = world.step()
    assert "Waiting for 2 pods, currently 1 exist, 0 are gated" in decided.not_ready["ns/gang"]
    assert not decided.binds
    assert not decided.pods


def test_t11_gated_pods_do_not_make_a_gang_ready() -> None:
    world = lone().job("gang", "q", pods=2)
    first = next(pod for pod in world.snapshot().pods if pod.uid == "gang-0")
    world.put(dataclasses.replace(first, state=PodState.GATED))
    assert "currently 2 exist, 1 are gated" in world.step().not_ready["ns/gang"]


def test_t12_of_two_gangs_that_do_not_fit_together_one_runs_whole() -> None:
    world = World().nodes(gpus=6).queue("q").job("one", "q", pods=4).job("two", "q", pods=4).settle()
    assert sorted((len(world.running("one")), len(world.running("two")))) == [0, 4]


def test_t13_pods_above_the_minimum_run_one_by_one() -> None:
    world = World().nodes(gpus=3).queue("q").job("elastic", "q", pods=4, minimum=2).settle()
    assert len(world.running()) == 3


def test_a_gang_that_fits_only_onto_room_being_released_binds_nothing_yet() -> None:
    world = World().nodes(gpus=2).queue("q").job("old", "q", on="node-0", state=PodState.RELEASING).job("gang", "q", pods=2)
    decided = world.step()
    assert not decided.binds
    assert {pipelined.pod for pipelined in decided.pipelined} == {"gang-0", "gang-1"}
    world.reap()
    assert len(world.step().binds) == 2


def test_a_later_pod_does_not_take_idle_room_that_is_promised_to_a_gang() -> None:
    world = World().nodes(gpus=2).queue("q").job("old", "q", on="node-0", state=PodState.RELEASING)
    world.job("gang", "q", pods=2, priority=60).job("late", "q")
    assert not world.step().binds


def test_a_pod_that_will_not_go_is_not_counted_on() -> None:
    world = World().nodes(gpus=1).queue("q").job("stuck", "q", on="node-0", state=PodState.STUCK).job("next", "q")
    decided = world.step()
    assert not decided.pipelined
    assert [waiting.group for waiting in decided.waiting] == ["ns/next"]


# -- T21, T23, T24: preempt -----------------------------------------------------------------------------------------------

_HIGH, _LOW = 90, 40


@pytest.mark.parametrize(
    ("preemptor", "victim", "happens"),
    [
        ((_HIGH, True), (_LOW, True), True),
        ((_HIGH, False), (_LOW, True), True),
        ((_HIGH, False), (_LOW, False), False),
        ((_LOW, True), (_HIGH, True), False),
        ((_LOW, False), (_HIGH, False), False),
        ((_LOW, True), (_HIGH, False), False),
        ((_LOW, True), (_LOW, True), False),
        ((_LOW, False), (_LOW, False), False),
        ((_HIGH, True), (_LOW, False), False),
    ],
)
def test_t21_preemption_needs_strictly_higher_priority_and_a_preemptible_victim(
    preemptor: tuple[int, bool], victim: tuple[int, bool], happens: bool
) -> None:
    world = lone().job("old", "q", gpus=8, priority=victim[0], preemptible=victim[1], on="node-0")
    world.job("new", "q", gpus=8, priority=preemptor[0], preemptible=preemptor[1])
    decided = world.step()
    assert [eviction.pod for eviction in decided.evictions] == (["old-0"] if happens else [])
    if happens:
        (eviction,) = decided.evictions
        assert (eviction.action, eviction.preemptor, eviction.size) == ("preempt", "ns/new", 1)
        assert eviction.message == "Pod ns/old-0 was preempted by higher priority workload ns/new"
    world.settle()
    assert world.running() == (["new-0"] if happens else ["old-0"])


def test_preemption_stays_inside_a_queue() -> None:
    world = World().nodes().queue("a", gpu=4).queue("b", gpu=4).job("old", "a", gpus=4, on="node-0")
    world.job("older", "b", gpus=4, on="node-0").job("new", "a", gpus=4, priority=90)
    assert [eviction.pod for eviction in world.step().evictions] == ["old-0"]


def test_t24_a_group_above_its_minimum_loses_only_what_is_needed() -> None:
    world = World().nodes(gpus=4).queue("q").job("elastic", "q", pods=4, minimum=2, on="node-0")
    world.job("new", "q", gpus=2, priority=90)
    assert [eviction.pod for eviction in world.step().evictions] == ["elastic-3", "elastic-2"]


def test_t24_when_the_surplus_is_not_enough_the_whole_group_goes() -> None:
    world = World().nodes(gpus=4).queue("q").job("elastic", "q", pods=4, minimum=2, on="node-0")
    world.job("new", "q", gpus=3, priority=90)
    assert {eviction.pod for eviction in world.step().evictions} == {f"elastic-{i}" for i in range(4)}


def test_t26_a_node_at_its_pod_limit_is_freed_by_preemption() -> None:
    world = World().nodes(pods=1).queue("q").job("old", "q", gpus=0, on="node-0").job("new", "q", gpus=0, priority=90)
    assert [eviction.pod for eviction in world.step().evictions] == ["old-0"]


def test_nobody_is_evicted_again_while_victims_are_still_going() -> None:
    world = World().nodes(gpus=2).queue("q").job("a", "q", on="node-0").job("b", "q", on="node-0").job("new", "q", priority=90)
    assert len(world.step().evictions) == 1
    for _ in range(3):
        decided = world.step()
        assert not decided.evictions
        assert [pipelined.pod for pipelined in decided.pipelined] == ["new-0"]
    world.reap()
    assert [bind.pod for bind in world.step().binds] == ["new-0"]


def test_the_youngest_of_the_lowest_priority_goes_first() -> None:
    world = World().nodes(gpus=3).queue("q")
    for name, priority in (("old-low", 40), ("young-low", 40), ("mid", 60)):
        world.job(name, "q", priority=priority, on="node-0")
    world.job("new", "q", priority=90)
    assert [eviction.pod for eviction in world.step().evictions] == ["young-low-0"]


# -- T30, T32, T38, T40: reclaim ------------------------------------------------------------------------------------------


def test_t30_surplus_is_divided_by_weight_and_a_higher_queue_priority_comes_first() -> None:
    world = World().nodes(gpus=8).queue("top", gpu=8, limit=8)
    world.queue("one", parent="top", gpu=1, weight=1).queue("two", parent="top", gpu=1, weight=2)
    for number in range(10):
        world.job(f"one-{number}", "one").job(f"two-{number}", "two")
    world.settle(recreate=True)
    assert (len(world.running("one")), len(world.running("two"))) == (3, 5)
    world.queue("three", parent="top", gpu=0, priority=101).job("urgent", "three", gpus=3)
    world.settle(recreate=True)
    assert world.running("urgent") == ["urgent-0"]
    assert (len(world.running("one")), len(world.running("two"))) == (2, 3)
    assert {name: share.fair_share.gpu for name, share in fair_share(world.snapshot()).items()} == {
        "top": 8,
        "one": 2,
        "two": 3,
        "three": 3,
    }


@pytest.mark.parametrize(
    ("quotas", "held", "asked", "priority", "runs"),
    [
        ((1, 1), (2, 2), (2,), 100, True),
        ((2, 2), (1, 2), (1, 1), 100, True),
        ((1, 1), (2, 1, 1), (1, 2), 100, False),
        ((0, 0), (1, 2), (1, 1), 100, True),
        ((1, 0), (1, 3), (1,), 101, True),
    ],
    ids=["within-quota", "to-its-quota", "above-fair-share", "both-without-quota", "queue-priority"],
)
def test_t32_reclaim_below_a_department_limit_of_four(
    quotas: tuple[float, float], held: tuple[int, ...], asked: tuple[int, ...], priority: int, runs: bool
) -> None:
    world = World().nodes(2).queue("top", gpu=4, limit=4, weight=2)
    world.queue("theirs", parent="top", gpu=quotas[0], weight=2)
    world.queue("mine", parent="top", gpu=quotas[1], weight=2, priority=priority)
    for number, gpus in enumerate(held):
        world.job(f"held-{number}", "theirs", gpus=gpus, on="node-0")
    for number, gpus in enumerate(asked):
        world.job(f"asked-{number}", "mine", gpus=gpus).settle()
    assert (f"asked-{len(asked) - 1}-0" in world.running()) is runs
    if not runs:
        assert world.pending() == [f"asked-{len(asked) - 1}-0"]


def test_reclaim_says_whose_share_it_restores() -> None:
    world = World().nodes(gpus=4).queue("a", gpu=2).queue("b", gpu=2)
    world.job("greedy", "a", gpus=2, on="node-0").job("greedier", "a", gpus=2, on="node-0").job("late", "b", gpus=2)
    (eviction,) = world.step().evictions
    assert (eviction.pod, eviction.action, eviction.preemptor) == ("greedier-0", "reclaim", "ns/late")
    assert eviction.message.startswith("Pod ns/greedier-0 was preempted by workload ns/late.\na uses <GPU: 4, CPU: 2 (cores)")
    assert "b uses <GPU: 0" in eviction.message


def test_a_department_takes_back_from_another_as_their_shares_say() -> None:
    world = World().nodes(gpus=8).queue("d1", gpu=4).queue("d2", gpu=4)
    world.queue("p1", parent="d1", gpu=4).queue("p2", parent="d2", gpu=0)
    for number in range(8):
        world.job(f"held-{number}", "p2", on="node-0")
    world.job("gang", "p1", pods=4).settle()
    assert len(world.running("gang")) == 4
    assert len(world.running("held")) == 4


def test_t38_non_preemptible_work_is_never_reclaimed() -> None:
    world = World().nodes(gpus=4).queue("a", gpu=4).queue("b", gpu=4).job("held", "a", gpus=4, preemptible=False, on="node-0")
    world.job("late", "b", gpus=4)
    assert not world.step().evictions


def test_t40_surplus_pods_are_reclaimed_before_whole_groups() -> None:
    world = World().nodes(gpus=4).queue("a", gpu=2).queue("b", gpu=2)
    world.job("rigid", "a", gpus=1, on="node-0").job("elastic", "a", pods=3, minimum=1, on="node-0").job("late", "b", gpus=2)
    assert sorted(eviction.pod for eviction in world.step().evictions) == ["elastic-1", "elastic-2"]


def test_reclaim_finds_the_node_where_what_may_be_taken_is_enough() -> None:
    world = World().nodes(2, gpus=2).queue("a", gpu=2).queue("b", gpu=2)
    world.job("a0", "a", on="node-0").job("a1", "a", on="node-1").job("a2", "a", on="node-0").job("a3", "a", on="node-1")
    world.job("late", "b", gpus=2)
    evictions = world.step().evictions
    assert len(evictions) == 2
    assert len({world.node_of(eviction.pod) for eviction in evictions}) == 1


def test_a_group_that_must_go_for_one_node_takes_its_surplus_elsewhere_with_it() -> None:
    world = World().nodes(1, gpus=2, prefix="big").nodes(3, gpus=1, prefix="small").queue("a", gpu=2).queue("b", gpu=3)
    world.job("gang", "a", pods=3, minimum=2, on=["big-0", "big-0", "small-0"])
    world.job("s", "a", on="small-1").job("t", "a", on="small-2").job("late", "b", gpus=2)
    assert sorted(eviction.pod for eviction in world.step().evictions) == ["gang-0", "gang-1", "gang-2"]


def test_nothing_is_taken_from_a_queue_below_what_is_its_own() -> None:
    world = World().nodes(gpus=8).queue("a", gpu=2).queue("b", gpu=3).queue("c", gpu=4)
    world.job("fixed", "c", gpus=4, preemptible=False, on="node-0")
    for number in range(4):
        world.job(f"a{number}", "a", on="node-0")
    world.job("gang", "b", pods=3)
    assert not world.step().evictions, "two may be taken, and two are not enough"


def test_above_its_fair_share_a_queue_reclaims_nothing_even_from_one_that_is_further_above() -> None:
    world = World().nodes(gpus=9).queue("a", gpu=2).queue("b", gpu=2).queue("z", gpu=2)
    for number in range(6):
        world.job(f"a{number}", "a", on="node-0").job(f"z{number}", "z", constraints=Constraints(selector=(("no", "node"),)))
    for number in range(3):
        world.job(f"b{number}", "b", on="node-0")
    world.job("more", "b")
    assert [share.fair_share.gpu for share in fair_share(world.snapshot()).values()] == [3, 3, 3]
    assert not world.step().evictions


def test_a_queue_at_its_fair_share_reclaims_nothing() -> None:
    world = World().nodes(gpus=4).queue("a", gpu=2).queue("b", gpu=2)
    for number in range(2):
        world.job(f"a{number}", "a", on="node-0").job(f"b{number}", "b", on="node-0")
    world.job("more", "a")
    assert not world.step().evictions


def test_queues_come_to_rest_when_victims_are_made_again() -> None:
    world = World().nodes(gpus=8).queue("a", gpu=3).queue("b", gpu=3)
    for number in range(8):
        world.job(f"a{number}", "a").job(f"b{number}", "b")
    world.settle(recreate=True)
    assert len(world.running()) == 8


# -- T33 to T36: limits and quotas ------------------------------------------------------------------------------------------


def test_t33_non_preemptible_work_may_not_exceed_the_quota() -> None:
    decided = World().nodes().queue("q", gpu=0).job("a", "q", preemptible=False).step()
    (reason,) = decided.waiting[0].reasons
    assert reason.reason == "NonPreemptibleOverQuota"
    assert reason.message == (
        "Non-preemptible workload is over quota. Workload requested 1 GPUs, but q quota is 0 GPUs, while 0 GPUs are already "
        "allocated for non-preemptible pods. Use a preemptible workload to go over quota."
    )
    assert reason.queue is not None
    assert reason.queue.group_requested_non_preemptible == Amounts(1, 1000, 1e9)


def test_t33_the_quota_of_every_level_counts() -> None:
    world = World().nodes().queue("top", gpu=1).queue("q", parent="top", gpu=4).job("a", "q", gpus=2, preemptible=False)
    (reason,) = world.step().waiting[0].reasons
    assert reason.reason == "NonPreemptibleOverQuota"
    assert "top quota is 1 GPUs" in reason.message


def test_preemptible_work_may_exceed_the_quota() -> None:
    assert World().nodes().queue("q", gpu=0).job("a", "q").settle().running() == ["a-0"]


@pytest.mark.parametrize("preemptible", [True, False])
def test_t34_a_limit_of_nothing_blocks_both_kinds(preemptible: bool) -> None:
    (waiting,) = World().nodes().queue("q", gpu=4, limit=0).job("a", "q", preemptible=preemptible).step().waiting
    assert waiting.reasons[0].reason == "OverLimit"
    assert "q quota has reached the allowable limit of GPUs. Limit is 0 GPUs, currently 0 GPUs allocated" in waiting.message


def test_t35_a_queue_that_says_nothing_about_cpu_runs_nothing() -> None:
    world = World().nodes().put(Queue("q", deserved=Amounts(4, 0, 0), limit=Amounts(-1, 0, 0), weight=Amounts(1, 0, 0)))
    (reason,) = world.job("a", "q").step().waiting[0].reasons
    assert reason.reason == "OverLimit"
    assert "allowable limit of CPU cores. Limit is 0 cores" in reason.message


def test_t36_the_limit_of_a_department_holds_for_its_projects_together() -> None:
    world = World().nodes().queue("top", limit=3).queue("a", parent="top", limit=2).queue("b", parent="top", limit=2)
    for number in range(3):
        world.job(f"a{number}", "a").job(f"b{number}", "b")
    world.settle(recreate=True)
    assert len(world.running()) == 3


def test_a_gang_over_the_limit_is_not_started_in_part() -> None:
    world = World().nodes().queue("q", limit=3).job("gang", "q", pods=4)
    decided = world.step()
    assert not decided.binds
    assert decided.waiting[0].reasons[0].reason == "OverLimit"

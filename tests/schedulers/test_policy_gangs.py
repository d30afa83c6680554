"""Subgroups, stale gangs, consolidation, minimal run times and topology, one sentence a test. T-numbers as in the reference."""

from __future__ import annotations

import pytest

from schedulers.policy import Node, PodState, SubGroup, TopologyConstraint
from schedulers.policy.resources import Amounts
from tests.schedulers.worlds import World

_TRIO = (SubGroup("a", min_member=2), SubGroup("b", min_member=2), SubGroup("c", min_member=2))


def lone(gpus: float = 8, **options: object) -> World:
    return World(**options).nodes(gpus=gpus).queue("q")


# -- subgroups ------------------------------------------------------------------------------------------------------------


def test_t14_nothing_is_bound_when_only_one_subgroup_fits() -> None:
    parts = (SubGroup("leader", min_member=1), SubGroup("worker", min_member=2))
    world = lone(2).job("j", "q", pods=3, parts={"leader": 1, "worker": 2}, group={"subgroups": parts})
    decided = world.step()
    assert not decided.binds
    assert "sub-group worker requires 2 pods" in decided.waiting[0].message


def test_t14_all_subgroups_together() -> None:
    parts = (SubGroup("leader", min_member=1), SubGroup("worker", min_member=2))
    world = lone(3).job("j", "q", pods=3, parts={"leader": 1, "worker": 2}, group={"subgroups": parts})
    assert len(world.step().binds) == 3


def test_t15_of_three_children_two_are_enough() -> None:
    world = lone(5).job("j", "q", pods=6, parts={"a": 2, "b": 2, "c": 2}, group={"subgroups": _TRIO, "min_subgroup": 2}).settle()
    parts = sorted(pod.subgroup for pod in world.snapshot().pods if pod.state is PodState.RUNNING)
    assert parts == ["a", "a", "b", "b"]


def test_t15_a_subgroup_that_nobody_needs_is_optional() -> None:
    parts = (SubGroup("must", min_member=2), SubGroup("may", min_member=0))
    world = lone(2).job("j", "q", pods=4, parts={"must": 2, "may": 2}, group={"subgroups": parts}).settle()
    assert {pod.subgroup for pod in world.snapshot().pods if pod.state is PodState.RUNNING} == {"must"}


def test_nested_subgroups_need_what_their_parents_need() -> None:
    parts = (
        SubGroup("left", min_subgroup=1),
        SubGroup("l1", "left", 2),
        SubGroup("l2", "left", 2),
        SubGroup("right", min_member=1),
    )
    world = lone(3).job("j", "q", pods=5, parts={"l1": 2, "l2": 2, "right": 1}, group={"subgroups": parts}).settle()
    assert sorted(pod.subgroup for pod in world.snapshot().pods if pod.state is PodState.RUNNING) == ["l1", "l1", "right"]


def test_a_child_that_has_not_got_its_pods_is_passed_over() -> None:
    world = lone(8).job("j", "q", pods=5, parts={"a": 1, "b": 2, "c": 2}, group={"subgroups": _TRIO, "min_subgroup": 2})
    assert sorted(bind.pod for bind in world.step().binds) == ["j-1", "j-2", "j-3", "j-4"]


def test_a_pod_of_no_known_subgroup_says_so() -> None:
    world = lone().job("j", "q", pods=3, parts={"a": 2, "x": 1}, group={"subgroups": (SubGroup("a", min_member=2),)})
    assert 'subgroup "x", which does not exist' in world.step().pods["j-2"]


def test_a_subgroup_that_is_not_needed_goes_before_the_group() -> None:
    world = lone(6).job("j", "q", pods=6, parts={"a": 2, "b": 2, "c": 2}, group={"subgroups": _TRIO, "min_subgroup": 2}).settle()
    world.job("high", "q", gpus=2, priority=90)
    gone = {eviction.pod for eviction in world.step().evictions}
    assert len(gone) == 2
    assert len({pod.subgroup for pod in world.snapshot().pods if pod.uid in gone}) == 1


# -- stale gangs ------------------------------------------------------------------------------------------------------------


def stale(**group: object) -> World:
    world = lone().job("j", "q", pods=2, on="node-0", group={"stale_since": 0.0, **group}).lose("j-1")
    world.now = 61
    return world


def test_t16_what_is_left_of_a_gang_goes_after_its_grace_period() -> None:
    (eviction,) = stale().step().evictions
    assert (eviction.pod, eviction.action) == ("j-0", "stalegangeviction")
    assert "doesn't meet the minimum required number of pods (2)" in eviction.message


def test_t16_not_before() -> None:
    world = stale()
    world.now = 59
    decided = world.step()
    assert not decided.evictions
    assert decided.stale == {"ns/j": 0.0}


def test_t16_a_gang_is_stale_from_the_cycle_that_first_sees_it() -> None:
    world = stale(stale_since=None)
    decided = world.step()
    assert not decided.evictions
    assert decided.stale == {"ns/j": 61.0}


@pytest.mark.parametrize("grace", [-1.0, 100.0])
def test_t16_the_grace_period_of_a_group_goes_before_that_of_the_shard(grace: float) -> None:
    assert not stale(staleness_grace=grace).step().evictions


def test_t16_a_negative_grace_period_of_the_shard_never_evicts() -> None:
    world = (
        World(staleness_grace=-1).nodes().queue("q").job("j", "q", pods=2, on="node-0", group={"stale_since": 0.0}).lose("j-1")
    )
    world.now = 1e6
    assert not world.step().evictions


def test_t17_a_gang_of_which_a_pod_ended_well_is_finishing() -> None:
    assert not stale(succeeded=1).step().evictions


def test_a_gang_that_gets_its_pod_back_is_not_stale() -> None:
    world = lone().job("j", "q", pods=2, on="node-0", group={"stale_since": 0.0})
    assert world.step().stale == {}


# -- consolidation ----------------------------------------------------------------------------------------------------------


def holes(**options: object) -> World:
    world = World(**options).nodes(2, gpus=2).queue("q")
    return world.job("a", "q", on="node-0").job("b", "q", on="node-1")


def test_t52_work_moves_together_so_that_a_larger_pod_fits() -> None:
    world = holes().job("large", "q", gpus=2)
    decided = world.step(recreate=True)
    (eviction,) = decided.evictions
    assert (eviction.action, eviction.preemptor) == ("consolidation", "ns/large")
    assert "bin packing (resource consolidation)" in eviction.message
    assert eviction.moves_to == ("node-0" if eviction.pod == "b-0" else "node-1")
    world.reap()
    world.settle(recreate=True)
    assert len(world.running()) == 3


@pytest.mark.parametrize("options", [{"max_consolidated": 0}, {"gpu_strategy": "spread"}, {"actions": ("allocate",)}])
def test_t53_without_consolidation_the_pod_waits(options: dict[str, object]) -> None:
    world = holes(**options).job("large", "q", gpus=2)
    assert not world.step().evictions


def test_nothing_moves_when_not_everything_finds_a_place() -> None:
    world = World().nodes(2, gpus=2).queue("q").job("a", "q", on="node-0").job("b", "q", on="node-1", gpus=2)
    assert not world.job("large", "q", gpus=2).step().evictions


def test_non_preemptible_work_neither_moves_nor_makes_others_move() -> None:
    fixed = (
        World()
        .nodes(2, gpus=2)
        .queue("q")
        .job("a", "q", on="node-0", preemptible=False)
        .job("b", "q", on="node-1", preemptible=False)
    )
    assert not fixed.job("large", "q", gpus=2).step().evictions
    assert not holes().job("large", "q", gpus=2, preemptible=False).step().evictions


def test_a_gang_consolidates_too() -> None:
    world = World().nodes(4, gpus=2).queue("q")
    for number in range(4):
        world.job(f"one{number}", "q", on=f"node-{number}")
    world.job("gang", "q", gpus=2, pods=2)
    assert len(world.step(recreate=True).evictions) == 2
    world.settle(recreate=True)
    assert len(world.running()) == 6


# -- minimal run times -------------------------------------------------------------------------------------------------------


def aged(now: float, **queue: object) -> World:
    world = World().nodes(gpus=4).queue("top", gpu=4).queue("a", parent="top", gpu=0).queue("b", parent="top", gpu=4)
    world.change("a", **queue)
    world.job("old", "a", gpus=4, on="node-0", group={"started": 0.0})
    world.now = now
    return world


@pytest.mark.parametrize(("now", "happens"), [(59, False), (60, True)])
def test_t37_reclaim_waits_for_the_minimal_run_time(now: float, happens: bool) -> None:
    world = aged(now, reclaim_min_runtime=60.0).job("new", "b", gpus=4)
    assert bool(world.step().evictions) is happens


@pytest.mark.parametrize(("now", "happens"), [(59, False), (60, True)])
def test_preemption_waits_for_the_minimal_run_time(now: float, happens: bool) -> None:
    world = aged(now, preempt_min_runtime=60.0).job("new", "a", gpus=4, priority=90)
    assert bool(world.step().evictions) is happens


def test_the_nearest_queue_that_says_something_decides_for_preemption() -> None:
    world = aged(10).change("top", preempt_min_runtime=60.0).job("new", "a", gpus=4, priority=90)
    assert not world.step().evictions
    world = aged(10, preempt_min_runtime=0.0).change("top", preempt_min_runtime=60.0).job("new", "a", gpus=4, priority=90)
    assert world.step().evictions


def test_of_two_top_queues_only_the_top_one_decides_for_reclaim() -> None:
    def world(**options: object) -> World:
        made = World(**options).nodes(gpus=4).queue("x", gpu=0).queue("a", parent="x", gpu=0).queue("y", gpu=4)
        made.change("a", reclaim_min_runtime=60.0).job("old", "a", gpus=4, on="node-0", group={"started": 0.0})
        made.now = 10
        return made.job("new", "y", gpus=4)

    assert world().step().evictions
    assert not world(reclaim_resolve="queue").step().evictions
    assert not world(reclaim_min_runtime=30.0).step().evictions


def test_a_protected_elastic_group_still_gives_up_its_surplus() -> None:
    world = World().nodes(gpus=4).queue("q").change("q", preempt_min_runtime=60.0)
    world.job("elastic", "q", pods=4, minimum=2, on="node-0", group={"started": 0.0})
    world.now = 10
    world.job("small", "q", gpus=2, priority=90)
    assert len(world.step().evictions) == 2
    world = World().nodes(gpus=4).queue("q").change("q", preempt_min_runtime=60.0)
    world.job("elastic", "q", pods=4, minimum=2, on="node-0", group={"started": 0.0})
    world.now = 10
    assert not world.job("large", "q", gpus=3, priority=90).step().evictions


def test_t25_a_group_takes_nothing_before_its_preemption_delay_is_over() -> None:
    world = lone(1).job("old", "q", on="node-0").job("new", "q", priority=90, group={"preemption_delay": 30.0})
    world.change("new", created=100.0)
    world.now = 120
    decided = world.step()
    assert not decided.evictions
    assert "PreemptionDelayNotElapsed" in [reason.reason for reason in decided.waiting[0].reasons]
    world.now = 130
    assert world.step().evictions


# -- topology -----------------------------------------------------------------------------------------------------------------


def racks(count: int = 2, nodes: int = 2, gpus: float = 1) -> World:
    world = World().topology("zone", "rack", "host", r="rack").queue("q")
    for rack in range(count):
        for number in range(nodes):
            name = f"n{rack}{number}"
            labels = {"zone": f"z{rack // 2}", "rack": f"r{rack}", "host": name}
            world.put(Node(name, Amounts(gpus, 64_000, 512e9), labels=labels))
    return world


def where(world: World, prefix: str) -> set[str]:
    return {world.node_of(uid)[1] for uid in world.running(prefix)}


def near(required: str = "", preferred: str = "") -> dict[str, object]:
    return {"topology": TopologyConstraint("t", required, preferred)}


def test_t54_a_required_level_keeps_a_gang_together() -> None:
    world = racks().job("filler", "q", on="n00").job("gang", "q", pods=2, group=near("rack")).settle()
    assert where(world, "gang") == {"1"}


def test_t54_a_gang_larger_than_a_rack_is_not_started() -> None:
    decided = racks().job("gang", "q", pods=3, group=near("rack")).step()
    assert not decided.binds
    assert "topology t, requirement rack couldn't be satisfied" in decided.waiting[0].message


def test_t55_a_preferred_level_gives_way() -> None:
    world = racks().job("gang", "q", pods=3, group=near(preferred="rack")).settle()
    assert len(world.running("gang")) == 3


def test_t56_one_zone_and_as_few_racks_as_will_do() -> None:
    world = racks(4, 3).job("filler", "q", on="n00").job("gang", "q", pods=4, group=near("zone", "rack")).settle()
    assert len(world.running("gang")) == 4
    assert where(world, "gang") in ({"0", "1"}, {"2", "3"})


def test_t58_levels_may_be_named_by_their_alias() -> None:
    world = racks().job("gang", "q", pods=2, group=near("r")).settle()
    assert len(where(world, "gang")) == 1


def test_t61_the_fullest_rack_that_is_enough_is_taken() -> None:
    world = racks(2, 3).job("filler", "q", on="n10").job("gang", "q", pods=2, group=near("rack")).settle()
    assert where(world, "gang") == {"1"}


def test_pods_that_come_later_join_the_rack_of_the_others() -> None:
    world = racks(2, 2).job("gang", "q", pods=2, minimum=1, on=["n10"], group=near("rack")).settle()
    assert where(world, "gang") == {"1"}
    full = (
        racks(2, 2)
        .job("gang", "q", pods=2, minimum=1, on=["n10"], group=near("rack"))
        .job("other", "q", on="n11", preemptible=False)
        .settle()
    )
    assert full.pending("gang") == ["gang-1"]


def test_subgroups_have_constraints_of_their_own() -> None:
    parts = tuple(SubGroup(name, min_member=2, topology=TopologyConstraint("t", "rack")) for name in ("a", "b"))
    world = racks(2, 2).job("j", "q", pods=4, parts={"a": 2, "b": 2}, group={"subgroups": parts}).settle()
    by_part = {part: {world.node_of(p.uid)[1] for p in world.snapshot().pods if p.subgroup == part} for part in ("a", "b")}
    assert sorted(map(len, by_part.values())) == [1, 1]


def test_nodes_outside_of_the_topology_are_not_used() -> None:
    world = racks(1, 1).nodes(gpus=8).job("gang", "q", pods=2, group=near("zone"))
    assert not world.step().binds


@pytest.mark.parametrize(
    ("constraint", "text"),
    [
        (TopologyConstraint("nope", "rack"), "Requested topology nope does not exist"),
        (TopologyConstraint("t", "row"), "does not contain a level with this name"),
    ],
)
def test_a_constraint_that_nothing_can_meet_says_why(constraint: TopologyConstraint, text: str) -> None:
    assert text in racks().job("gang", "q", group={"topology": constraint}).step().waiting[0].message


def test_room_is_made_in_one_rack() -> None:
    world = racks(2, 2)
    for name in ("n00", "n01", "n10", "n11"):
        world.job(f"low-{name}", "q", on=name, priority=40)
    world.job("gang", "q", pods=2, priority=90, group=near("rack")).settle()
    assert len(world.running("gang")) == 2
    assert len(where(world, "gang")) == 1

"""Parts of GPUs, MIG devices and claimed devices, one sentence a test. T-numbers are rows of the KAI reference's list."""

from __future__ import annotations

import pytest

from schedulers.policy import Amounts, GpuShare, Node, PodState, Queue, fair_share
from tests.schedulers.worlds import World

_MEMORY = {"nvidia.com/gpu.memory": "81559"}
_HALF = GpuShare(portion=0.5)


def shared(gpus: float = 1, nodes: int = 1, **options: object) -> World:
    return World(**options).nodes(nodes, gpus=gpus, labels=_MEMORY).queue("q")


def groups(world: World) -> dict[str, tuple[str, ...]]:
    return {pod.uid: pod.gpu_groups for pod in world.snapshot().pods if pod.state is PodState.RUNNING}


def test_t70_two_halves_share_one_gpu() -> None:
    world = shared(2).job("a", "q", gpus=0, share=_HALF).job("b", "q", gpus=0, share=_HALF).settle()
    placed = groups(world)
    assert placed["a-0"] == placed["b-0"]
    assert len(placed["a-0"]) == 1


def test_t71_what_does_not_fit_beside_goes_to_another_gpu_or_waits() -> None:
    most = GpuShare(portion=0.6)
    world = (
        shared(2).job("a", "q", gpus=0, share=most).job("b", "q", gpus=0, share=most).job("c", "q", gpus=0, share=most).settle()
    )
    placed = groups(world)
    assert len(placed) == 2
    assert placed["a-0"] != placed["b-0"]
    assert world.pending() == ["c-0"]


def test_t72_halves_fill_every_gpu() -> None:
    world = shared(4)
    for number in range(9):
        world.job(f"half{number}", "q", gpus=0, share=_HALF)
    assert len(world.settle().running()) == 8


def test_t51_spreading_gives_every_share_a_gpu_of_its_own_first() -> None:
    world = shared(2, gpu_strategy="spread").job("a", "q", gpus=0, share=_HALF).job("b", "q", gpus=0, share=_HALF).settle()
    assert groups(world)["a-0"] != groups(world)["b-0"]


def test_t73_more_memory_than_a_gpu_has_waits() -> None:
    world = shared().job("a", "q", gpus=0, share=GpuShare(memory=90_000))
    decided = world.step()
    assert not decided.binds
    assert "didn't have enough resources: GPUs" in decided.pods["a-0"]


def test_memory_needs_a_node_that_says_how_much_it_has() -> None:
    decided = World().nodes(gpus=1).queue("q").job("a", "q", gpus=0, share=GpuShare(memory=50)).step()
    assert "gpu memory count on the node was not synced yet" in decided.pods["a-0"]


def test_t74_a_share_of_two_devices_takes_two_gpus() -> None:
    world = shared(2).job("a", "q", gpus=0, share=GpuShare(devices=2, portion=0.5)).settle()
    assert len(set(groups(world)["a-0"])) == 2
    assert world.job("b", "q", gpus=1).step().binds == ()


def test_a_share_does_not_fit_where_whole_gpus_are_all_taken() -> None:
    world = shared(1).job("whole", "q", on="node-0").job("a", "q", gpus=0, share=_HALF)
    assert not world.step().binds


def test_memory_is_rounded_up_to_hundredths_of_a_gpu_in_queues() -> None:
    world = shared(1).job("a", "q", gpus=0, share=GpuShare(memory=40_000)).settle()
    assert fair_share(world.snapshot())["q"].allocated.gpu == 0.5


def test_memory_over_the_limit_of_a_queue_is_not_placed() -> None:
    world = World().nodes(gpus=1, labels=_MEMORY).queue("q", limit=0.5).job("a", "q", gpus=0, share=GpuShare(memory=50_000))
    assert not world.step().binds


def test_portions_count_in_queues_as_they_are() -> None:
    world = World().nodes(gpus=2, labels=_MEMORY).queue("q", limit=1)
    for number in range(3):
        world.job(f"a{number}", "q", gpus=0, share=_HALF)
    assert len(world.settle().running()) == 2


def test_a_share_needs_a_pod_slot_for_its_reservation_too() -> None:
    world = World().nodes(gpus=1, labels=_MEMORY, pods=1).queue("q").job("a", "q", gpus=0, share=_HALF)
    assert "pod number exceeded" in world.step().pods["a-0"]


def test_a_share_waits_for_the_gpu_that_is_being_released() -> None:
    world = shared(1).job("old", "q", on="node-0", state=PodState.RELEASING).job("a", "q", gpus=0, share=_HALF)
    decided = world.step()
    assert not decided.binds
    assert [p.pod for p in decided.pipelined] == ["a-0"]
    world.reap()
    assert len(world.step().binds) == 1


def test_a_whole_gpu_is_freed_by_preempting_all_who_share_it() -> None:
    world = shared(1).job("a", "q", gpus=0, share=_HALF).job("b", "q", gpus=0, share=_HALF).settle()
    world.job("high", "q", priority=90)
    assert sorted(eviction.pod for eviction in world.step().evictions) == ["a-0", "b-0"]


def test_one_share_is_freed_by_preempting_one() -> None:
    world = shared(1).job("a", "q", gpus=0, share=_HALF).job("b", "q", gpus=0, share=_HALF).settle()
    world.job("high", "q", gpus=0, share=_HALF, priority=90)
    assert [eviction.pod for eviction in world.step().evictions] == ["b-0"]


def test_t32_a_queue_below_quota_reclaims_a_share() -> None:
    world = World().nodes(gpus=1, labels=_MEMORY).queue("a", gpu=0.5).queue("b", gpu=0.5)
    world.job("x", "a", gpus=0, share=_HALF).job("y", "a", gpus=0, share=_HALF).settle()
    world.job("late", "b", gpus=0, share=_HALF).settle()
    assert world.running("late") == ["late-0"]


# -- MIG ------------------------------------------------------------------------------------------------------------------

_MIG = "nvidia.com/mig-1g.10gb"


def mig(strategy: str, gpus: float = 0) -> World:
    node = Node("m", Amounts(gpus, 64_000, 512e9), extra={_MIG: 7}, labels={**_MEMORY, "nvidia.com/mig.strategy": strategy})
    return World().put(node).queue("q")


def test_t86_mig_devices_run_on_a_mixed_node() -> None:
    assert mig("mixed").job("a", "q", gpus=0, extra=((_MIG, 2),)).settle().running() == ["a-0"]


@pytest.mark.parametrize(
    ("strategy", "pod", "reason"),
    [
        ("mixed", {"gpus": 1}, "non MIG jobs cant run"),
        ("mixed", {"gpus": 0, "share": _HALF}, "non MIG jobs cant run"),
        ("single", {"gpus": 0, "share": _HALF}, "only whole gpu jobs"),
        ("single", {"gpus": 0, "extra": ((_MIG, 1),)}, "only whole gpu jobs"),
        ("", {"gpus": 0, "share": _HALF}, "cannot be scheduled on MIG nodes"),
    ],
)
def test_t86_t87_what_a_node_with_mig_devices_refuses(strategy: str, pod: dict[str, object], reason: str) -> None:
    decided = mig(strategy, gpus=2).job("a", "q", **pod).step()  # type: ignore[arg-type]
    assert not decided.binds
    assert reason in decided.pods["a-0"]


def test_t86_a_plain_node_refuses_mig() -> None:
    decided = World().nodes(extra={"nvidia.com/gpu.shared": 1}).queue("q").job("a", "q", gpus=0, extra=((_MIG, 1),)).step()
    assert "MIG job cannot be scheduled on non-MIG node" in decided.pods["a-0"]


def test_t87_whole_gpus_run_on_a_node_of_the_single_strategy() -> None:
    assert mig("single", gpus=2).job("a", "q", gpus=1).settle().running() == ["a-0"]


def test_t89_mig_devices_count_by_their_slices_once() -> None:
    world = mig("mixed").job("a", "q", gpus=0, extra=(("nvidia.com/mig-1g.10gb", 2),)).settle()
    assert fair_share(world.snapshot())["q"].allocated.gpu == 2
    assert fair_share(world.snapshot())["q"].fair_share.gpu == 2


def test_pods_without_gpus_run_on_mig_nodes() -> None:
    assert mig("mixed").job("a", "q", gpus=0).settle().running() == ["a-0"]


# -- claims ---------------------------------------------------------------------------------------------------------------


def claimable() -> World:
    return World().put(Node("d", Amounts(2, 64_000, 512e9), labels=_MEMORY, claimable=True)).nodes(gpus=1).queue("q", limit=2)


def test_t91_claimed_devices_count_in_queues() -> None:
    world = claimable().job("a", "q", gpus=2, claimed=2).job("b", "q", gpus=1, claimed=1).settle()
    assert world.running() == ["a-0"]
    assert world.node_of("a-0") == "d"
    assert fair_share(world.snapshot())["q"].allocated.gpu == 2


def test_t92_a_node_whose_gpus_are_claimed_takes_no_other_gpu_work() -> None:
    world = claimable().job("whole", "q", gpus=2)
    assert "DRA-only nodes" in world.step().pods["whole-0"]
    world = claimable().job("plugin", "q", gpus=1).settle()
    assert world.node_of("plugin-0") == "node-0"


def test_t62_restricted_nodes_take_only_what_they_are_labelled_for() -> None:
    world = World(restrict_nodes=True).put(Queue("q", limit=Amounts(-1, -1, -1), deserved=Amounts(-1, -1, -1)))
    world.nodes(prefix="plain", labels={"node-role.kubernetes.io/cpu-worker": ""})
    world.nodes(prefix="gpu", labels={"node-role.kubernetes.io/gpu-worker": ""})
    world.job("a", "q", gpus=1).job("b", "q", gpus=0).settle()
    assert (world.node_of("a-0"), world.node_of("b-0")) == ("gpu-0", "plain-0")
    assert fair_share(world.snapshot())["q"].fair_share.gpu >= 1

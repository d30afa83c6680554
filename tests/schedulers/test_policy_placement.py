"""Where the policy places work, one sentence a test. T-numbers are rows of the KAI reference's conformance list."""

from __future__ import annotations

import dataclasses

import pytest

from schedulers.policy import (
    Amounts,
    Constraints,
    Node,
    NodeTerm,
    PodState,
    Requirement,
    Taint,
    Toleration,
    cycle,
    fair_share,
)
from tests.schedulers.worlds import World


def lone() -> World:
    """One node of 8 GPUs and one queue without bounds."""
    return World().nodes().queue("q")


# -- placement ----------------------------------------------------------------------------------------------------------------


def test_t50_bin_packing_fills_the_node_with_the_least_free_gpus() -> None:
    world = World().nodes(3).queue("q").job("old", "q", gpus=5, on="node-1").job("a", "q", gpus=2).job("b", "q", gpus=4)
    placed = {bind.pod: bind.node for bind in world.step().binds}
    assert placed == {"a-0": "node-1", "b-0": "node-0"}


def test_t50_spreading_takes_the_emptiest_node() -> None:
    world = World(gpu_strategy="spread").nodes(2).queue("q").job("a", "q").job("b", "q")
    assert {bind.node for bind in world.step().binds} == {"node-0", "node-1"}


def test_pods_without_gpus_prefer_nodes_without_gpus() -> None:
    world = World().nodes().nodes(gpus=0, prefix="plain").queue("q").job("a", "q", gpus=0)
    assert world.step().binds[0].node == "plain-0"


def test_idle_room_is_preferred_to_room_that_is_being_released() -> None:
    world = World().nodes(2, gpus=2).queue("q").job("going", "q", gpus=2, on="node-0", state=PodState.RELEASING).job("a", "q")
    assert world.step().binds[0].node == "node-1"


@pytest.mark.parametrize(
    ("node", "constraints", "reason"),
    [
        ({"unschedulable": True}, Constraints(), "1 node is unschedulable"),
        ({"problems": ("NotReady",)}, Constraints(), "1 node has NotReady condition"),
        ({"taints": (Taint("k", "NoSchedule"),)}, Constraints(), "1 node(s) had untolerated taint(s)"),
        (
            {"taints": (Taint("k", "NoExecute", "v"),)},
            Constraints(tolerations=(Toleration("k", "Equal", "w"),)),
            "untolerated taint(s)",
        ),
        ({}, Constraints(selector=(("zone", "a"),)), "1 node(s) didn't match Pod's node affinity/selector"),
        (
            {"labels": {"zone": "b"}},
            Constraints(affinity=(NodeTerm((Requirement("zone", "In", ("a",)),)),)),
            "didn't match Pod's node affinity/selector",
        ),
        ({"pods": 0}, Constraints(), "1 node(s) pod number exceeded"),
    ],
)
def test_t64_nodes_are_passed_over_with_a_reason(node: dict[str, object], constraints: Constraints, reason: str) -> None:
    decided = World().nodes(**node).queue("q").job("a", "q", constraints=constraints).step()  # type: ignore[arg-type]
    assert not decided.binds
    assert reason in decided.pods["a-0"]


@pytest.mark.parametrize(
    ("node", "constraints"),
    [
        ({"taints": (Taint("k", "NoSchedule", "v"),)}, Constraints(tolerations=(Toleration("k", "Equal", "v", "NoSchedule"),))),
        ({"taints": (Taint("k", "NoSchedule", "v"),)}, Constraints(tolerations=(Toleration("", "Exists"),))),
        ({"taints": (Taint("k", "PreferNoSchedule"),)}, Constraints()),
        ({"labels": {"zone": "a"}}, Constraints(selector=(("zone", "a"),))),
        ({"labels": {"n": "7"}}, Constraints(affinity=(NodeTerm((Requirement("n", "Gt", ("5",)),)),))),
        ({"labels": {"zone": "b"}}, Constraints(affinity=(NodeTerm((Requirement("zone", "NotIn", ("a",)),)),))),
        ({}, Constraints(affinity=(NodeTerm((Requirement("zone", "DoesNotExist"),)),))),
        ({}, Constraints(affinity=(NodeTerm((), (Requirement("metadata.name", "In", ("node-0",)),)),))),
    ],
)
def test_t64_nodes_that_match_are_taken(node: dict[str, object], constraints: Constraints) -> None:
    world = World().nodes(**node).queue("q").job("a", "q", constraints=constraints)  # type: ignore[arg-type]
    assert [bind.node for bind in world.step().binds] == ["node-0"]


def test_an_empty_affinity_term_matches_nothing() -> None:
    world = lone().job("a", "q", constraints=Constraints(affinity=(NodeTerm(),)))
    assert not world.step().binds


def test_t67_other_resources_are_counted_and_named() -> None:
    world = World().nodes(extra={"rdma/hca": 1.0}).queue("q")
    world.job("a", "q", extra=(("rdma/hca", 1.0),)).job("b", "q", extra=(("rdma/hca", 1.0),))
    decided = world.step()
    assert [bind.pod for bind in decided.binds] == ["a-0"]
    assert "1 node(s) didn't have enough resources: rdma/hca" in decided.pods["b-0"]


def test_pods_of_other_schedulers_take_room_and_capacity() -> None:
    world = lone().job("a", "q", gpus=8)
    foreign = dataclasses.replace(world.snapshot().pods[0], uid="f", group="", state=PodState.RUNNING, node="node-0")
    world.put(dataclasses.replace(foreign, request=Amounts(2, 0, 0)))
    assert not world.step().binds
    assert fair_share(world.snapshot())["q"].fair_share.gpu == 6


def test_what_the_model_does_not_know_waits_and_says_so() -> None:
    decided = lone().job("a", "q", unsupported="pod affinity").step()
    assert "the reference engine does not support pod affinity" in decided.waiting[0].message
    assert not decided.binds


def test_the_task_order_label_decides_which_pod_of_a_group_goes_first() -> None:
    world = World().nodes(gpus=1).queue("q").job("a", "q", pods=3, minimum=1)
    last = next(pod for pod in world.snapshot().pods if pod.uid == "a-2")
    world.put(dataclasses.replace(last, order=5))
    assert [bind.pod for bind in world.step().binds] == ["a-2"]


def test_a_settled_group_is_reported_for_clearing() -> None:
    world = lone().job("a", "q").job("b", "q", on="node-0")
    assert world.step().settled == ("ns/b",)
    assert world.step().settled == ("ns/a", "ns/b")


def test_an_empty_cluster_decides_nothing() -> None:
    decided = cycle(World().snapshot())
    assert not decided.binds
    assert not decided.waiting


def test_nodes_that_are_not_ready_do_not_count_into_shares() -> None:
    world = World().nodes(1, gpus=4).put(Node("down", Amounts(8, 0, 0), problems=("NotReady",))).queue("q").job("a", "q", pods=20)
    assert fair_share(world.snapshot())["q"].fair_share.gpu == 4

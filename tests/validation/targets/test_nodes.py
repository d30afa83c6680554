"""Simulated nodes carry what real ones do, for any pool that can be asked for."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import InvalidInput
from spec.model import NodePool
from validation.targets.embedded import nodes
from validation.targets.embedded.hostagent.environment import quantity

pools = st.lists(
    st.builds(
        NodePool,
        name=st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True),
        count=st.integers(0, 20),
        gpus_per_node=st.integers(0, 16),
        gpu_product=st.sampled_from(nodes.products()),
    ),
    max_size=4,
    unique_by=lambda pool: pool.name,
)


@given(pools)
def test_every_node_of_every_pool_is_whole(wanted: list[NodePool]) -> None:
    nodes.check(wanted)
    found = nodes.render(wanted, kubelet="v1.36.3")
    assert len({node["metadata"]["name"] for node in found}) == sum(pool.count for pool in wanted)
    assert len({node["status"]["addresses"][0]["address"] for node in found}) == len(found)
    for node in found:
        labels, status = node["metadata"]["labels"], node["status"]
        assert labels["kubernetes.io/hostname"] == node["metadata"]["name"]
        assert labels["type"] == "kwok"
        assert nodes.TAINT in node["spec"]["taints"]
        for resource, amount in status["allocatable"].items():
            assert 0 < quantity(amount) <= quantity(status["capacity"][resource])
        gpus = int(status["allocatable"].get("nvidia.com/gpu", "0"))
        assert labels.get("nvidia.com/gpu.count", "0") == str(gpus)
        assert ("nvidia.com/gpu.memory" in labels) == (gpus > 0)
        assert all(len(value) <= 63 for value in labels.values())
        assert not nodes.differs(node, node)


def test_an_h100_node_looks_like_one() -> None:
    (node,) = nodes.render([NodePool("default", 1)], kubelet="v1.36.3")
    labels = node["metadata"]["labels"]
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert labels["nvidia.com/gpu.memory"] == "81559"  # MiB, as GPU feature discovery writes it
    assert labels["nvidia.com/gpu.deploy.device-plugin"] == "true"
    assert labels["nvidia.com/cuda.driver-version.full"] == "570.195.03"
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert "kai.scheduler/node-pool" not in labels


def test_memory_labels_are_mib_of_a_plausible_gpu() -> None:
    for product in nodes.products():
        assert 10_000 < nodes.profiles()["products"][product]["memoryMiB"] < 400_000


def test_racks_and_zones_run_on_over_pools() -> None:
    found = nodes.render([NodePool("a", 3), NodePool("b", 14)], kubelet="v1")
    racks = [node["metadata"]["labels"]["chandlery.dev/rack"] for node in found]
    zones = [node["metadata"]["labels"]["topology.kubernetes.io/zone"] for node in found]
    assert racks[:5] == ["rack-001"] * 4 + ["rack-002"]
    assert len(set(racks)) == 5
    assert zones[15:] == ["zone-1", "zone-2"]


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (NodePool("default", 1, 8, "NVIDIA-H100-80GB"), "NVIDIA-H100-80GB-HBM3"),
        (NodePool("default", -1), "0 to 9999"),
        (NodePool("default", 10_000), "0 to 9999"),
        (NodePool("default", 1, 17), "0 to 16"),
    ],
)
def test_an_impossible_pool_is_refused_with_what_is_possible(pool: NodePool, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        nodes.check([pool])
    assert message in str(refusal.value)


def test_two_pools_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two node pools are called a"):
        nodes.check([NodePool("a", 1), NodePool("a", 2)])


def test_a_pool_without_gpus_needs_no_product() -> None:
    nodes.check([NodePool("cpu", 1, 0, "whatever")])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("metadata", "labels", "nvidia.com/gpu.memory"), "1"),
        (("status", "allocatable", "nvidia.com/gpu"), "4"),
        (("spec", "taints"), []),
    ],
)
def test_a_node_that_lost_something_differs(path: tuple[str, ...], value: object) -> None:
    (node,) = nodes.render([NodePool("default", 1)], kubelet="v1")
    present = copy.deepcopy(node)
    at = present
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    assert nodes.differs(node, present)


def test_what_others_added_to_a_node_is_no_difference() -> None:
    (node,) = nodes.render([NodePool("default", 1)], kubelet="v1")
    present = copy.deepcopy(node)
    present["metadata"]["labels"]["theirs"] = "x"
    present["spec"]["taints"].append({"key": "theirs", "effect": "NoSchedule", "timeAdded": "now"})
    assert not nodes.differs(node, present)

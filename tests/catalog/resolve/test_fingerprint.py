"""What a cluster shows of itself, what is stated of it by hand, and that the two must not contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import SpecError
from catalog.resolve.fingerprint import fingerprint, seen_on
from spec.model import StatedFact
from tests.catalog.synthetic import spec


def node(labels: dict[str, str] | None = None, capacity: dict[str, str] | None = None, **info: str) -> dict[str, Any]:
    given = {
        "containerRuntimeVersion": "containerd://2.1.4", "kernelVersion": "6.8.0-52-generic",
        "osImage": "Ubuntu 24.04.1 LTS", "architecture": "amd64",
    }  # fmt: skip
    return {"metadata": {"labels": labels or {}}, "status": {"nodeInfo": {**given, **info}, "capacity": capacity or {}}}


GPU = {
    "nvidia.com/cuda.driver-version.major": "580",
    "nvidia.com/cuda.driver-version.minor": "95",
    "nvidia.com/cuda.driver-version.revision": "05",
    "nvidia.com/cuda.runtime-version.full": "13.0",
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/mig.capable": "true",
    "nvidia.com/mig.strategy": "single",
}


def test_a_node_shows_its_facts() -> None:
    assert seen_on([node(GPU)]) == {
        "architecture": ("amd64",),
        "containerd": ("2.1.4",),
        "cuda": ("13.0",),
        "driver": ("580.95.05",),
        "gpu": ("NVIDIA-H100-80GB-HBM3",),
        "kernel": ("6.8.0-52-generic",),
        "mig": ("off",),
        "os": ("ubuntu",),
    }


def test_every_value_of_a_mixed_fleet_is_kept() -> None:
    other = {**GPU, "nvidia.com/cuda.driver-version.full": "615.71.09", "nvidia.com/gpu.product": "NVIDIA-GB200"}
    seen = seen_on([node(GPU), node(other, architecture="arm64"), node()])
    assert seen["driver"] == ("580.95.05", "615.71.09")
    assert seen["architecture"] == ("amd64", "arm64")
    assert seen["gpu"] == ("NVIDIA-GB200", "NVIDIA-H100-80GB-HBM3")


def test_a_cluster_without_gpus_shows_no_driver() -> None:
    assert not {"driver", "cuda", "gpu", "mig"} & set(seen_on([node()]))
    assert seen_on([]) == {}


@pytest.mark.parametrize(
    ("labels", "capacity", "mig"),
    [
        ({"nvidia.com/mig.capable": "false"}, {}, ("off",)),
        ({"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "none"}, {}, ()),
        ({"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "mixed"}, {"nvidia.com/mig-1g.10gb": "7"}, ("on",)),
        ({"nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "mixed"}, {"nvidia.com/mig-1g.10gb": "0"}, ("off",)),
        ({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}, {}, ("on",)),
        ({"nvidia.com/mig.capable": "true", "nvidia.com/mig.config": "all-disabled"}, {}, ("off",)),
        ({}, {}, ()),
    ],
)
def test_mig_is_known_only_where_somebody_looks_at_it(
    labels: dict[str, str], capacity: dict[str, str], mig: tuple[str, ...]
) -> None:
    assert seen_on([node(labels, capacity)]).get("mig", ()) == mig


@pytest.mark.parametrize(
    ("image", "label", "system"),
    [
        ("Ubuntu 22.04.5 LTS", "", ("ubuntu",)),
        ("Red Hat Enterprise Linux 9.6 (Plow)", "", ("rhel",)),
        ("Red Hat Enterprise Linux CoreOS 9.6", "", ("rhcos",)),
        ("A system of ours", "", ()),
        ("A system of ours", "debian", ("debian",)),
    ],
)
def test_the_system_is_told_by_its_image_or_by_node_feature_discovery(image: str, label: str, system: tuple[str, ...]) -> None:
    labels = {"feature.node.kubernetes.io/system-os_release.ID": label} if label else {}
    assert seen_on([node(labels, osImage=image)]).get("os", ()) == system


def test_another_runtime_says_nothing_about_containerd() -> None:
    assert "containerd" not in seen_on([node(containerRuntimeVersion="cri-o://1.34.1")])


def test_old_labels_of_the_driver_are_understood() -> None:
    old = {"nvidia.com/cuda.driver.major": "550", "nvidia.com/cuda.driver.minor": "90", "nvidia.com/cuda.driver.rev": "07"}
    assert seen_on([node(old)])["driver"] == ("550.90.07",)
    assert seen_on([node({"nvidia.com/cuda.driver.major": "550"})])["driver"] == ("550",)


@pytest.mark.parametrize(
    ("label", "platform"), [("eks.amazonaws.com/nodegroup", "eks"), ("cloud.google.com/gke-nodepool", "gke")]
)
def test_a_managed_platform_shows_itself(label: str, platform: str) -> None:
    assert seen_on([node({label: "x"})])["platform"] == (platform,)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda kids: st.one_of(st.lists(kids, max_size=3), st.dictionaries(st.text(max_size=8), kids, max_size=3)),
)


@given(st.lists(st.fixed_dictionaries({"metadata": JSON, "status": JSON}), max_size=3))
def test_any_object_is_looked_at_without_a_fault(nodes: list[dict[str, Any]]) -> None:
    assert all(values for values in seen_on(nodes).values())


def stated(**facts: str) -> Any:
    return spec(facts=tuple(StatedFact(name, (value,), 9) for name, value in facts.items()), source=Path("spec.yaml"))


def test_what_is_stated_counts_where_nothing_is_seen() -> None:
    made = fingerprint(stated(nri="on", driver="580"), kubernetes="1.36", seen={"driver": ("580.95.05",)})
    assert made.facts == {"kubernetes": ("1.36",), "driver": ("580.95.05",), "nri": ("on",)}
    assert made.sources == {"kubernetes": "api", "driver": "nodes", "nri": "spec"}


def test_what_nobody_knows_is_not_there() -> None:
    assert fingerprint(spec(), kubernetes="", seen={}).facts == {}


@pytest.mark.parametrize(
    ("fact", "value", "seen"),
    [
        ("driver", "615", ("580.95.05",)),
        ("driver", "580", ("580.95.05", "615.71.09")),
        ("os", "rhel", ("ubuntu",)),
        ("cuda", "13.0", ("13.1",)),
    ],
)
def test_a_contradiction_names_both_values_and_the_line(fact: str, value: str, seen: tuple[str, ...]) -> None:
    with pytest.raises(SpecError) as caught:
        fingerprint(stated(**{fact: value}), kubernetes="1.36", seen={fact: seen})
    (problem,) = caught.value.problems
    assert str(problem).startswith(f"spec.yaml:9:1: facts.{fact}: the spec states {value}, nodes of the cluster have {seen[-1]}")


def test_a_list_of_what_nodes_have_is_no_contradiction() -> None:
    both = spec(facts=(StatedFact("driver", ("580", "615"), 9),))
    made = fingerprint(both, kubernetes="1.36", seen={"driver": ("580.95.05", "615.71.09")})
    assert made.facts["driver"] == ("580.95.05", "615.71.09")

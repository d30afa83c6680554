"""Departments, projects and quotas: the rules within one queue and between queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import SpecError
from spec.load import loads
from spec.model import UNLIMITED, Share, Tenancy

POOLS = [{"name": "default", "count": 8, "gpusPerNode": 8}, {"name": "big", "count": 2, "gpusPerNode": 8}]


def share(deserved: Any = 8, limit: Any = -1, weight: Any = 1) -> dict[str, Any]:
    return {"deserved": deserved, "limit": limit, "overQuotaWeight": weight}


def owner(name: str, gpu: dict[str, Any] | None = None, pool: str = "default", **more: Any) -> dict[str, Any]:
    return {"name": name, "quotas": {pool: {"gpu": gpu or share()}}, **more}


def read(*departments: dict[str, Any], kind: str = "embedded") -> Tenancy:
    target = {"kind": kind} | ({"kubeconfig": "k"} if kind == "cluster" else {})
    spec = {"cluster": "c", "target": target, "nodePools": POOLS, "tenancy": {"departments": list(departments)}}
    return loads(yaml.safe_dump(spec, sort_keys=False).encode(), Path("spec.yaml")).tenancy


def wrong(*departments: dict[str, Any], kind: str = "embedded") -> str:
    with pytest.raises(SpecError) as caught:
        read(*departments, kind=kind)
    return str(caught.value)


def test_a_quota_is_three_resources_and_what_is_left_out_is_unbounded() -> None:
    quota = read(owner("a", share(16, 32, 2))).departments[0].quotas["default"]
    assert quota.gpu == Share(16.0, 32.0, 2.0)
    assert quota.cpu_cores == quota.memory_mb == Share(UNLIMITED, UNLIMITED, 1.0)


def test_fractions_of_gpus_may_be_deserved() -> None:
    assert read(owner("a", share(0.5, 1.5, 0.25))).departments[0].quotas["default"].gpu == Share(0.5, 1.5, 0.25)


@pytest.mark.parametrize("name", ["deserved", "limit", "overQuotaWeight"])
def test_quota_limit_and_weight_of_gpus_are_always_written_out(name: str) -> None:
    gpu = share()
    del gpu[name]
    assert f"quotas.default.gpu.{name}: is missing" in wrong(owner("a", gpu))


def test_gpus_may_not_be_left_out() -> None:
    department = {"name": "a", "quotas": {"default": {"cpuCores": share()}}}
    assert "quotas.default.gpu: is missing" in wrong(department)


@pytest.mark.parametrize(
    ("gpu", "problem"),
    [
        (share(-2), "gpu.deserved: -2 is negative (-1 is unlimited, 0 is none)"),
        (share(1, -0.5), "gpu.limit: -0.5 is negative"),
        (share(1, 2, -1), "gpu.overQuotaWeight: -1 is negative"),
        (share(8, 4), "gpu.limit: limit 4 is below deserved 8"),
        (share(-1, 4), "gpu.limit: limit 4 is below deserved unlimited"),
        (share("8"), "gpu.deserved: expected a number of GPUs, found the text '8' (write it without quotes)"),
        (share(True), "gpu.deserved: expected a number of GPUs, found the truth value true"),
        (share(float("inf")), "is not a finite number (write -1 for unlimited)"),
        (share(65), "gpu.deserved: 65 GPUs, but node pool 'default' has 64"),
        ({**share(), "weight": 1}, "gpu.weight: unknown field"),
    ],
)
def test_figures_that_cannot_be_meant(gpu: dict[str, Any], problem: str) -> None:
    assert problem in wrong(owner("a", gpu))


@pytest.mark.parametrize(
    ("resource", "figure", "problem"),
    [
        ("memoryMB", 512 * 2**30, "549755813888 MB can only be bytes (in MB (10^6 bytes) that is 549756)"),
        ("memoryMB", "512Gi", "found the text '512Gi' (512Gi is 549756 MB (10^6 bytes))"),
        ("cpuCores", 64_000, "64000 cores can only be millicores (in cores that is 64)"),
        ("cpuCores", "500m", "found the text '500m' (500m is 0.5 cores)"),
    ],
)
def test_figures_in_another_unit(resource: str, figure: Any, problem: str) -> None:
    department = {"name": "a", "quotas": {"default": {"gpu": share(), resource: share(figure)}}}
    assert problem in wrong(department)


def test_figures_in_the_right_unit_pass() -> None:
    read({"name": "a", "quotas": {"default": {"gpu": share(), "memoryMB": share(16_000_000), "cpuCores": share(8 * 192)}}})


def test_bytes_are_seen_where_no_node_count_is_known() -> None:
    quotas = {"default": {"gpu": share(), "memoryMB": share(8 * 2**30)}}
    spec = {"cluster": "c", "target": {"kind": "kind"}, "tenancy": {"departments": [{"name": "a", "quotas": quotas}]}}
    with pytest.raises(SpecError, match="can only be bytes"):
        loads(yaml.safe_dump(spec).encode(), Path("spec.yaml"))


def test_more_gpus_than_a_pool_has_may_be_promised_where_its_size_is_not_ours_to_know() -> None:
    read(owner("a", share(65)), kind="cluster")


def test_a_project_may_not_deserve_more_than_its_department() -> None:
    text = wrong(owner("a", share(8), projects=[owner("p", share(9))]))
    assert "projects[0].quotas.default.gpu.deserved: deserved 9 is above the 8 GPUs of department 'a'" in text


def test_a_project_without_bound_may_not_stand_in_a_department_with_one() -> None:
    assert "deserved unlimited is above the 8 GPUs" in wrong(owner("a", share(8), projects=[owner("p", share(-1))]))


def test_projects_together_may_not_deserve_more_than_their_department() -> None:
    text = wrong(owner("a", share(8), projects=[owner("p", share(5)), owner("q", share(4))]))
    assert "departments[0].quotas.default.gpu.deserved: its projects (p, q) together deserve 9 GPUs, more than 8" in text


def test_a_projects_limit_may_exceed_its_departments_for_the_departments_counts() -> None:
    read(owner("a", share(8, 16), projects=[owner("p", share(8, 64))]))


def test_a_department_without_bound_takes_any_projects() -> None:
    read(owner("a", share(-1), projects=[owner("p", share(40)), owner("q", share(40))]))


def test_a_project_needs_its_department_in_the_same_node_pool() -> None:
    text = wrong(owner("a", projects=[owner("p", share(1), pool="big")]))
    assert "department 'a' has no quota in node pool 'big'" in text


def test_unknown_node_pools_are_told_with_those_there_are() -> None:
    text = wrong(owner("a", pool="bigg"))
    assert "quotas.bigg: unknown node pool 'bigg' (node pools of this spec: default, big)" in text


@pytest.mark.parametrize(
    "departments",
    [
        (owner("a"), owner("a")),
        (owner("a", projects=[owner("a", share(1))]),),
        (owner("a", projects=[owner("p", share(1))]), owner("b", projects=[owner("p", share(1))])),
    ],
    ids=["two departments", "department and project", "projects of two departments"],
)
def test_queue_names_are_cluster_wide(departments: tuple[dict[str, Any], ...]) -> None:
    assert "is already used in line" in wrong(*departments)


def test_names_that_meet_through_a_node_pool_are_seen() -> None:
    both = {"default": {"gpu": share(1)}, "big": {"gpu": share(1)}}
    assert "makes queue 'a-big', which 'a' makes in node pool 'big'" in wrong({"name": "a", "quotas": both}, owner("a-big"))


def test_a_queue_name_is_a_label_value_and_may_not_be_longer() -> None:
    assert "has more than 63 characters" in wrong(owner("x" * 62, pool="big"))


def test_a_queue_without_quotas_is_no_queue() -> None:
    assert "departments[0].quotas: is missing" in wrong({"name": "a"})
    assert "departments[0].quotas: names no node pool" in wrong({"name": "a", "quotas": {}})


@given(
    whole=st.integers(0, 64),
    parts=st.lists(st.integers(0, 64), max_size=4),
)
@settings(max_examples=100)
def test_exactly_those_trees_are_taken_whose_parts_fit_the_whole(whole: int, parts: list[int]) -> None:
    department = owner("a", share(whole), projects=[owner(f"p{n}", share(part)) for n, part in enumerate(parts)])
    if sum(parts) <= whole:
        assert [p.quotas["default"].gpu.deserved for p in read(department).departments[0].projects] == parts
    else:
        wrong(department)

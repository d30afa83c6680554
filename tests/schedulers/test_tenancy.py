"""Departments, projects and node pools as queues and shards."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest

from base.errors import InvalidInput
from schedulers.kai.models import QueueSpec, SchedulingShardSpec
from schedulers.tenancy import queues, shards
from spec.model import UNLIMITED, Department, NodePool, Project, Quota, Share, Tenancy
from spec.tenancy import queue_name

_GOLDEN = Path(__file__).parent / "golden"
_FREE = Share(UNLIMITED, UNLIMITED, 1)


def quota(gpu: float, limit: float = UNLIMITED, weight: float = 1, cpu: Share = _FREE, memory: Share = _FREE) -> Quota:
    return Quota(Share(gpu, limit, weight), cpu, memory)


POOLS = (NodePool("default"), NodePool("h200"))
TENANCY = Tenancy(
    (
        Department(
            "research",
            {"default": quota(32, 64), "h200": quota(16, 16, cpu=Share(100.5, 200, 2), memory=Share(1_000_000, 2_000_000, 0))},
            (
                Project("vision", {"default": quota(16, 48, 2), "h200": quota(8)}, priority=120),
                Project("speech", {"default": quota(0.5, 0)}),
            ),
        ),
        Department("platform", {"default": quota(0)}, ()),
    )
)


def golden(name: str, value: object) -> None:
    """Compare with the committed file; CHANDLERY_UPDATE_GOLDENS=1 writes it."""
    path, text = _GOLDEN / name, json.dumps(value, indent=2) + "\n"
    if os.environ.get("CHANDLERY_UPDATE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text


def test_every_department_and_project_has_a_queue_in_each_of_its_pools() -> None:
    golden("queues.json", queues(TENANCY, POOLS))


def test_every_pool_but_the_default_one_has_a_shard() -> None:
    golden("shards.json", shards(POOLS, args={"default-staleness-grace-period": "-1s"}))
    assert shards(POOLS[:1]) == ()


def test_manifests_are_valid_to_the_models() -> None:
    for manifest in queues(TENANCY, POOLS):
        QueueSpec.model_validate(manifest["spec"])
    for manifest in shards(POOLS):
        SchedulingShardSpec.model_validate(manifest["spec"])


def test_parents_come_before_their_children_and_carry_the_same_pool_label() -> None:
    seen: dict[str, dict[str, str]] = {}
    for manifest in queues(TENANCY, POOLS):
        labels = manifest["metadata"].get("labels", {})
        parent = manifest["spec"].get("parentQueue")
        if parent:
            assert seen[parent] == labels
        seen[manifest["metadata"]["name"]] = labels


def test_all_three_figures_of_all_three_resources_are_always_written() -> None:
    for manifest in queues(TENANCY, POOLS):
        for resource in ("gpu", "cpu", "memory"):
            assert set(manifest["spec"]["resources"][resource]) == {"quota", "limit", "overQuotaWeight"}


def test_units_are_millicores_and_megabytes() -> None:
    (found,) = (m for m in queues(TENANCY, POOLS) if m["metadata"]["name"] == "research-h200")
    assert found["spec"]["resources"]["cpu"] == {"quota": 100_500, "limit": 200_000, "overQuotaWeight": 2}
    assert found["spec"]["resources"]["memory"] == {"quota": 1_000_000, "limit": 2_000_000, "overQuotaWeight": 0}


def test_queue_names() -> None:
    assert (queue_name("vision", "default"), queue_name("vision", "h200")) == ("vision", "vision-h200")


def test_no_tenancy_is_no_queue() -> None:
    assert queues(Tenancy(), POOLS) == ()


@pytest.mark.parametrize(
    ("tenancy", "message"),
    [
        (Tenancy((Department("d", {"moon": quota(1)}, ()),)), "department d has a quota in node pool moon, which does not exist"),
        (
            Tenancy((Department("d", {"default": quota(1)}, (Project("p", {"h200": quota(1)}),)),)),
            "project p has a quota in node pool h200 but its department d has none",
        ),
        (
            Tenancy((Department("a", {"default": quota(1)}, (Project("a", {"default": quota(1)}),)),)),
            "project a in node pool default would have the queue name 'a', which is already taken",
        ),
        (
            Tenancy((Department("a", {"h200": quota(1)}, ()), Department("a-h200", {"default": quota(1)}, ()))),
            "department a-h200 in node pool default would have the queue name 'a-h200', which is already taken",
        ),
        (Tenancy((Department("Bad_Name", {"default": quota(1)}, ()),)), "'Bad_Name', which is no DNS label"),
        (Tenancy((Department("x" * 60, {"h200": quota(1)}, ()),)), "which is no DNS label"),
    ],
    ids=["unknown-pool", "department-lacks-pool", "same-name", "name-of-a-pool-queue", "not-a-label", "too-long"],
)
def test_impossible_tenancies_are_refused(tenancy: Tenancy, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        queues(tenancy, POOLS)
    assert message in str(caught.value)


def test_the_default_pool_need_not_be_named() -> None:
    tenancy = dataclasses.replace(TENANCY, departments=TENANCY.departments[1:])
    assert [m["metadata"]["name"] for m in queues(tenancy, ())] == ["platform"]

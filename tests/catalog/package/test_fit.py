"""Whether a node would take a pod: as the scheduler decides it by labels, affinity and taints."""

from __future__ import annotations

from typing import Any

import pytest

from base.errors import Refused
from catalog.package.fit import check_nodes, unfit
from tests.catalog.package.made import node, resource, workload

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def affinity(*terms: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


GPU = node("gpu", taints=("nvidia.com/gpu=present:NoSchedule",), role="gpu", size="8")
TOLERATES = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}


@pytest.mark.parametrize(
    ("pod", "fits"),
    [
        ({}, False),
        (TOLERATES, True),
        ({"tolerations": [{"operator": "Exists"}]}, True),
        ({"tolerations": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]}, True),
        ({"tolerations": [{"key": "nvidia.com/gpu", "value": "absent"}]}, False),
        ({"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoExecute"}]}, False),
        ({**TOLERATES, "nodeSelector": {"role": "gpu"}}, True),
        ({**TOLERATES, "nodeSelector": {"role": "infra"}}, False),
        ({**TOLERATES, **affinity(expression("role", "In", "gpu", "x"))}, True),
        ({**TOLERATES, **affinity(expression("role", "NotIn", "gpu"))}, False),
        ({**TOLERATES, **affinity(expression("role", "NotIn", "x"))}, True),
        ({**TOLERATES, **affinity(expression("none", "Exists"))}, False),
        ({**TOLERATES, **affinity(expression("none", "DoesNotExist"))}, True),
        ({**TOLERATES, **affinity(expression("size", "Gt", "4"))}, True),
        ({**TOLERATES, **affinity(expression("size", "Lt", "4"))}, False),
        ({**TOLERATES, **affinity(expression("role", "Gt", "4"))}, False),
        ({**TOLERATES, **affinity({})}, False),  # a term without expressions matches nothing
        ({**TOLERATES, **affinity(expression("role", "In", "x"), expression("role", "Exists"))}, True),  # alternatives
        ({**TOLERATES, **affinity({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu"]}]})}, True),
    ],
)
def test_a_node_takes_a_pod_or_not(pod: dict[str, Any], fits: bool) -> None:
    assert (unfit([workload(**pod)], [GPU]) == ()) is fits


def test_one_node_that_takes_it_is_enough_and_a_soft_taint_is_none() -> None:
    assert unfit([workload()], [GPU, node(taints=("soft:PreferNoSchedule",))]) == ()


def test_it_is_told_how_many_nodes_say_no_and_why() -> None:
    nodes = [GPU, node("b", unschedulable=True), node("c", taints=("a=b:NoExecute",))]
    assert unfit([workload(nodeSelector={"role": "infra"})], nodes) == (
        "Deployment demo/x: no node of 3 would take it (3 lacks the label role=infra, "
        "1 has the taint nvidia.com/gpu=present:NoSchedule, 1 is unschedulable, 1 has the taint a=b:NoExecute)",
    )
    assert unfit([workload()], []) == ("Deployment demo/x: no node of 0 would take it (there are no nodes)",)


def test_a_daemonset_may_have_no_node_and_a_workload_without_replicas_needs_none() -> None:
    idle = workload()
    idle["spec"]["replicas"] = 0
    suspended = workload("Job")
    suspended["spec"]["suspend"] = True
    assert unfit([workload("DaemonSet"), idle, suspended], [GPU]) == ()
    assert len(unfit([workload("Job"), workload("CronJob"), workload("StatefulSet")], [GPU])) == 3


def test_pods_of_custom_resources_count() -> None:
    assert len(unfit([resource(template={"spec": {"containers": [{"image": "r.invalid/a:1"}]}})], [GPU])) == 1


def test_pods_of_every_addon_that_would_stay_pending_are_refused_together() -> None:
    with pytest.raises(Refused) as caught:
        check_nodes({"one": [workload()], "two": [workload(name="y")]}, [GPU])
    assert "one: Deployment demo/x" in str(caught.value)
    assert "two: Deployment demo/y" in str(caught.value)
    assert "placement" in caught.value.todo
    check_nodes({"one": [workload(**TOLERATES)]}, [GPU])

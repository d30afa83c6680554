"""Which group a pod belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from base.errors import InvalidInput
from base.kube import Object
from schedulers.podgroups import pod_group, queue_of, wants_group

CLASSES = {"train", "build", "inference", "gold"}


def thing(
    kind: str,
    name: str,
    *,
    api: str = "v1",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: Object | None = None,
    **spec: Any,
) -> Object:
    meta: Object = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "labels": labels or {},
        "annotations": annotations or {},
    }
    if owner:
        meta["ownerReferences"] = [{"kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]
    return {"apiVersion": api, "kind": kind, "metadata": meta, "spec": spec}


def job(**more: Any) -> Object:
    return thing("Job", "job", api="batch/v1", **more)


def made(pod: Object, *owners: Object) -> Object:
    found = pod_group(pod, owners, CLASSES)
    assert found is not None
    return found


def test_a_bare_pod_is_its_own_group() -> None:
    found = made(thing("Pod", "p", labels={"kai.scheduler/queue": "q", "user": "ann"}))
    assert found["apiVersion"] == "scheduling.run.ai/v2alpha2"
    assert found["metadata"]["name"] == "pg-p-uid-p"
    assert found["metadata"]["namespace"] == "ns"
    assert found["spec"] == {"minMember": 1, "queue": "q", "priorityClassName": "train"}
    assert found["metadata"]["ownerReferences"] == [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p"}]
    assert found["metadata"]["labels"]["user"] == "ann"


def test_a_job_is_one_group_with_the_annotated_minimum() -> None:
    owner = job(annotations={"kai.scheduler/batch-min-member": "4"})
    found = made(thing("Pod", "p", owner=owner), owner)
    assert found["metadata"]["name"] == "pg-job-uid-job"
    assert found["spec"]["minMember"] == 4
    assert made(thing("Pod", "p", owner=job()), job())["spec"]["minMember"] == 1


@pytest.mark.parametrize("value", ["many", "0", "-1", "1.5", ""])
def test_a_minimum_that_is_no_count_is_refused(value: str) -> None:
    owner = job(annotations={"kai.scheduler/batch-min-member": value})
    with pytest.raises(InvalidInput, match="not a whole number from 1 up"):
        pod_group(thing("Pod", "p", owner=owner), [owner], CLASSES)


def test_every_pod_of_a_deployment_is_a_group_and_serves() -> None:
    deployment = thing("Deployment", "serve", api="apps/v1", labels={"kai.scheduler/queue": "q"})
    replicas = thing("ReplicaSet", "serve-1", api="apps/v1", owner=deployment)
    found = made(thing("Pod", "serve-1-a", owner=replicas), replicas, deployment)
    assert found["metadata"]["name"] == "pg-serve-1-a-uid-serve-1-a"
    assert found["metadata"]["ownerReferences"][0]["kind"] == "Pod"
    assert found["spec"] == {"minMember": 1, "queue": "q", "priorityClassName": "inference"}


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_a_set_on_its_own_is_one_group_that_one_pod_starts(kind: str) -> None:
    owner = thing(kind, "set", api="apps/v1")
    found = made(thing("Pod", "p", owner=owner), owner)
    assert (found["metadata"]["name"], found["spec"]["minMember"]) == ("pg-set-uid-set", 1)


def test_every_run_of_a_cron_job_is_a_group() -> None:
    cron = thing("CronJob", "nightly", api="batch/v1")
    run = thing("Job", "nightly-1", api="batch/v1", owner=cron, labels={"kai.scheduler/queue": "q"})
    found = made(thing("Pod", "p", owner=run), run, cron)
    assert found["metadata"]["name"] == "pg-nightly-1-uid-nightly-1"
    assert found["spec"]["queue"] == "q"


def test_an_unknown_kind_is_one_group_of_its_top_owner() -> None:
    top = thing("Odd", "top", api="example.com/v1")
    middle = thing("Odder", "middle", api="example.com/v1", owner=top)
    assert made(thing("Pod", "p", owner=middle), middle, top)["metadata"]["name"] == "pg-top-uid-top"


@pytest.mark.parametrize(
    ("owner", "pod", "expected"),
    [
        ({"kai.scheduler/queue": "o"}, {"kai.scheduler/queue": "p"}, "o"),
        ({}, {"kai.scheduler/queue": "p", "project": "x"}, "p"),
        ({"project": "team"}, {}, "team"),
        ({}, {"project": "team"}, "team"),
        ({"project": "team"}, {"kai.scheduler/node-pool": "h200"}, "team-h200"),
        ({}, {}, "default-queue"),
    ],
)
def test_the_queue(owner: dict[str, str], pod: dict[str, str], expected: str) -> None:
    assert queue_of(job(labels=owner), thing("Pod", "p", labels=pod)) == expected


@pytest.mark.parametrize(
    ("owner", "pod", "spec", "expected"),
    [
        ({"priorityClassName": "gold"}, {"priorityClassName": "build"}, {}, "gold"),
        ({}, {"priorityClassName": "build"}, {"priorityClassName": "gold"}, "build"),
        ({}, {}, {"priorityClassName": "gold"}, "gold"),
        ({}, {}, {"priorityClassName": "unheard-of"}, "train"),
        ({"priorityClassName": "unheard-of"}, {"priorityClassName": "gold"}, {}, "train"),
        ({}, {}, {}, "train"),
    ],
)
def test_the_priority_class(owner: dict[str, str], pod: dict[str, str], spec: dict[str, Any], expected: str) -> None:
    top = job(labels=owner)
    assert made(thing("Pod", "p", labels=pod, owner=top, **spec), top)["spec"]["priorityClassName"] == expected


def test_preemptibility_comes_from_the_owner_then_from_the_pod() -> None:
    key = "kai.scheduler/preemptibility"
    top = job(labels={key: "non-preemptible"})
    assert made(thing("Pod", "p", labels={key: "preemptible"}, owner=top), top)["spec"]["preemptibility"] == "non-preemptible"
    assert made(thing("Pod", "p", labels={key: "preemptible"}))["spec"]["preemptibility"] == "preemptible"
    assert "preemptibility" not in made(thing("Pod", "p", labels={key: "nonsense"}))["spec"]


def test_delays_and_topology_are_passed_on() -> None:
    top = job(
        annotations={
            "kai.scheduler/preemption-delay": "30s",
            "kai.scheduler/topology": "racks",
            "kai.scheduler/topology-required-placement": "rack",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
        }
    )
    found = made(thing("Pod", "p", owner=top), top)
    assert found["spec"]["preemptionDelay"] == "30s"
    assert found["spec"]["topologyConstraint"] == {"topology": "racks", "requiredTopologyLevel": "rack"}
    assert "kubectl.kubernetes.io/last-applied-configuration" not in found["metadata"]["annotations"]
    assert "name: job\n" in found["metadata"]["annotations"]["kai.scheduler/top-owner-metadata"]


def test_the_pods_node_pool_labels_its_group() -> None:
    assert made(thing("Pod", "p", labels={"kai.scheduler/node-pool": "h200"}, owner=job()), job())["metadata"]["labels"] == {
        "kai.scheduler/node-pool": "h200"
    }


def test_opting_out() -> None:
    skip = {"kai.scheduler/skip-podgrouper": "true"}
    owner = job(annotations=skip)
    assert not wants_group(thing("Pod", "p", annotations=skip))
    assert not wants_group(thing("Pod", "p", annotations={"pod-group-name": "mine"}))
    assert wants_group(thing("Pod", "p", annotations={"pod-group-name": "pg-job"}, owner=owner))
    assert pod_group(thing("Pod", "p", owner=owner), [owner], CLASSES) is None

"""The engine against a real API server: what users and checks see of its decisions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from base.deadlines import Deadline
from base.kube import Object, wait_for
from base.kube.kinds import BIND_REQUEST, DEPLOYMENT, JOB, LEASE, NODE, POD, POD_GROUP, QUEUE, SCHEDULING_SHARD
from tests.schedulers.lab import WAIT_S, Lab, Room, Running

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def engine(live: Lab) -> Iterator[Running]:
    found = live.start().ready()
    yield found
    assert found.stop() == 0


@pytest.fixture
def room(live: Lab, engine: Running) -> Iterator[Room]:
    assert engine.process.poll() is None
    with live.room() as made:
        yield made


def test_t01_a_pod_is_grouped_and_bound_and_says_so(room: Room, live: Lab) -> None:
    queue = room.queue("q")
    room.pod("one", queue)
    room.bound("one")
    group = room.group_of("one")
    assert group["spec"] == {"minMember": 1, "priorityClassName": "train", "queue": queue}
    assert group["metadata"]["ownerReferences"][0]["name"] == "one"
    assert "Successfully assigned pod" in room.event("Scheduled", "one")["message"]
    assert live.cluster.get(POD, "one", room.name)["metadata"]["annotations"]["pod-group-name"] == group["metadata"]["name"]
    wait_for(live.cluster, BIND_REQUEST, lambda found: not found, Deadline.after(WAIT_S), "the end of the BindRequest", room.name)


def test_t02_a_queue_that_does_not_exist_is_named(room: Room) -> None:
    room.pod("lost", "no-such-queue")
    room.unschedulable("lost", "Queue 'no-such-queue' does not exist")
    assert room.reason("pg-lost")["reason"] == "QueueDoesNotExist"


def test_t10_a_job_that_is_a_gang_waits_whole(room: Room, live: Lab) -> None:
    queue = room.queue("q")
    job: Object = {
        "metadata": {
            "name": "gang",
            "namespace": room.name,
            "labels": {"kai.scheduler/queue": queue},
            "annotations": {"kai.scheduler/batch-min-member": "4"},
        },
        "spec": {
            "parallelism": 4,
            "completions": 4,
            "template": {"spec": room.pod_spec(5, restartPolicy="Never")},
        },
    }
    live.cluster.create(JOB, job)
    group = room.group_of("gang")
    assert group["spec"]["minMember"] == 4

    def explained(found: dict[str, Object]) -> bool:
        texts = [c.get("message", "") for p in found.values() for c in (p.get("status") or {}).get("conditions") or ()]
        return any("Resources were found for 2 pods while 4 are required for gang scheduling" in text for text in texts)

    room.wait(POD, explained, "the gang's explanation")
    assert set(room.nodes().values()) == {""}


def test_t11_a_group_of_ones_own_waits_for_its_second_pod(room: Room) -> None:
    queue = room.queue("q")
    room.group("pair", queue, 2)
    room.pod("first", queue, group="pair")
    assert "Waiting for 2 pods, currently 1 exist" in room.event("NotReady", "pair")["message"]
    assert room.nodes() == {"first": ""}
    room.pod("second", queue, group="pair")
    room.bound("first", "second")


def test_every_pod_of_a_deployment_is_a_group_with_the_inference_class(room: Room, live: Lab) -> None:
    queue = room.queue("q", gpu=4)
    labels = {"app": "serve", "kai.scheduler/queue": queue}
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "serve"}},
        "template": {"metadata": {"labels": labels}, "spec": room.pod_spec(1)},
    }
    live.cluster.create(DEPLOYMENT, {"metadata": {"name": "serve", "namespace": room.name}, "spec": spec})
    groups = room.wait(POD_GROUP, lambda found: found if len(found) == 2 else None, "two groups")
    assert {g["spec"]["priorityClassName"] for g in groups.values()} == {"inference"}
    room.wait(POD, lambda found: len(found) == 2 and all(p["spec"].get("nodeName") for p in found.values()), "both bound")


def test_t21_t22_a_higher_priority_preempts_and_the_victims_group_says_for_whom(room: Room, live: Lab) -> None:
    queue = room.queue("q", limit=8)
    room.pod("victim", queue, gpus=8, priorityClassName="low")
    room.bound("victim")
    room.pod("urgent", queue, gpus=8, priorityClassName="high")
    room.bound("urgent")
    assert "victim" not in room.nodes()
    evict = room.event("Evict", "pg-victim")
    preemptor = room.group_of("urgent")["metadata"]["name"]
    assert evict["metadata"]["annotations"] == {
        "num-evicted-pods": "1",
        "evictor-action-type": "preempt",
        "evictor-pod-group-name": preemptor,
        "evictor-pod-group-namespace": room.name,
    }
    assert evict["message"].startswith(f"Pod {room.name}/victim was preempted by higher priority workload")
    assert live.cluster.find(POD, "victim", room.name) is None


def test_a_queue_takes_back_its_share(room: Room) -> None:
    top = room.queue("top", gpu=4, limit=4)
    greedy, late = room.queue("greedy", parent=top, gpu=2), room.queue("late", parent=top, gpu=2)
    for number in range(4):
        room.pod(f"held-{number}", greedy)
    room.bound(*(f"held-{number}" for number in range(4)))
    room.pod("mine", late, gpus=2)
    room.bound("mine")
    assert sum(name.startswith("held") for name in room.nodes()) == 2
    assert room.event("Evict", "pg-held")["metadata"]["annotations"]["evictor-action-type"] == "reclaim"


def test_t33_t34_limits_and_quotas_are_reasons(room: Room) -> None:
    nothing, small = room.queue("nothing", limit=0), room.queue("small", gpu=0)
    room.pod("blocked", nothing)
    room.pod("fixed", small, priorityClassName="build")
    over = room.reason("pg-blocked")
    assert over["reason"] == "OverLimit"
    assert over["details"]["queueDetails"]["name"] == nothing
    assert over["details"]["queueDetails"]["queueResourceLimits"]["nvidia.com/gpu"] == "0"
    assert room.reason("pg-fixed")["reason"] == "NonPreemptibleOverQuota"
    room.unschedulable("fixed", "Non-preemptible workload is over quota")


def test_a_condition_goes_when_its_cause_is_gone(room: Room, live: Lab) -> None:
    queue = room.queue("q", limit=0)
    room.pod("patient", queue)
    room.reason("pg-patient")
    live.cluster.patch(QUEUE, queue, {"spec": {"resources": {"gpu": {"limit": -1}}}})
    room.bound("patient")

    def cleared(found: dict[str, Object]) -> bool:
        return all(not (g.get("status") or {}).get("schedulingConditions") for g in found.values())

    room.wait(POD_GROUP, cleared, "the condition being cleared")


def test_t39_queue_status_is_the_sum_of_what_runs_below(room: Room, live: Lab) -> None:
    top = room.queue("top")
    leaf = room.queue("leaf", parent=top, gpu=8)
    room.pod("train", leaf, gpus=2)
    room.pod("fixed", leaf, gpus=1, priorityClassName="build")
    room.pod("waits", leaf, gpus=8, nodeSelector={"no": "node"})
    room.bound("train", "fixed")

    def summed(found: dict[str, Object]) -> bool:
        statuses = [found[name].get("status") or {} for name in (top, leaf)]
        return all(
            (s.get("allocated") or {}).get("nvidia.com/gpu") == "3"
            and (s.get("allocatedNonPreemptible") or {}).get("nvidia.com/gpu") == "1"
            and (s.get("requested") or {}).get("nvidia.com/gpu") == "11"
            for s in statuses
        )

    room.wait(QUEUE, summed, "the sums")
    assert live.cluster.get(QUEUE, top)["status"]["childQueues"] == [leaf]


def test_a_pod_that_cannot_be_grouped_has_a_warning(room: Room, live: Lab) -> None:
    queue = room.queue("q")
    job: Object = {
        "metadata": {
            "name": "odd",
            "namespace": room.name,
            "labels": {"kai.scheduler/queue": queue},
            "annotations": {"kai.scheduler/batch-min-member": "many"},
        },
        "spec": {"template": {"spec": room.pod_spec(1, restartPolicy="Never")}},
    }
    live.cluster.create(JOB, job)
    assert "is 'many', not a whole number from 1 up" in room.event("PodGrouperWarning", "odd")["message"]


def test_what_the_engine_does_not_support_waits_and_says_so(room: Room, live: Lab) -> None:
    queue = room.queue("q")
    meta = {
        "name": "half",
        "namespace": room.name,
        "labels": {"kai.scheduler/queue": queue},
        "annotations": {"gpu-fraction": "0.5"},
    }
    live.cluster.create(POD, {"metadata": meta, "spec": room.pod_spec(0)})
    room.unschedulable("half", "the reference engine does not support GPU fractions")


def test_a_cordoned_node_is_passed_over(room: Room, live: Lab) -> None:
    queue = room.queue("q")
    nodes = [n["metadata"]["name"] for n in live.cluster.list(NODE, labels="type=kwok")[0]]
    for name in nodes:
        live.cluster.patch(NODE, name, {"spec": {"unschedulable": True}})
    try:
        room.pod("one", queue)
        room.unschedulable("one", "2 node is unschedulable")
    finally:
        for name in nodes:
            live.cluster.patch(NODE, name, {"spec": {"unschedulable": None}})
    room.bound("one")


def test_a_node_pool_with_a_shard_is_served_apart(room: Room, live: Lab) -> None:
    name = live.cluster.list(NODE, labels="type=kwok")[0][0]["metadata"]["name"]
    label = {"kai.scheduler/node-pool": room.name}
    live.cluster.apply(
        SCHEDULING_SHARD, {"metadata": {"name": room.name}, "spec": {"partitionLabelValue": room.name}}, manager="test"
    )
    live.cluster.patch(NODE, name, {"metadata": {"labels": label}})
    try:
        queue = room.queue("pool")
        live.cluster.patch(QUEUE, queue, {"metadata": {"labels": label}})
        plain = room.queue("plain")
        room.pod("inside", queue, labels=label)
        room.pod("outside", plain)
        room.bound("inside", "outside")
        assert room.nodes()["inside"] == name
        assert room.nodes()["outside"] != name
        (ready,) = room.wait(
            SCHEDULING_SHARD,
            lambda found: (found[room.name].get("status") or {}).get("conditions"),
            "the shard's conditions",
        )
        assert (ready["type"], ready["status"], ready["observedGeneration"]) == ("Ready", "True", 1)
    finally:
        live.cluster.patch(NODE, name, {"metadata": {"labels": {"kai.scheduler/node-pool": None}}})
        live.cluster.delete(SCHEDULING_SHARD, room.name)


def test_pods_of_other_schedulers_are_left_alone(room: Room, live: Lab) -> None:
    queue = room.queue("q")
    room.pod("theirs", queue, schedulerName="somebody-else")
    room.pod("ours", queue)
    room.bound("ours")
    theirs = live.cluster.get(POD, "theirs", room.name)
    assert "nodeName" not in theirs["spec"]
    assert "annotations" not in theirs["metadata"]


def test_it_holds_a_lease_and_tells_how_it_is(live: Lab, engine: Running) -> None:
    lease = live.cluster.get(LEASE, "kai-scheduler", "kai-scheduler")
    assert lease["spec"]["holderIdentity"]
    assert engine.probe("/healthz") == "ok"
    assert engine.details()["engine"] == "reference"
    assert engine.probe("/nothing").startswith("404")

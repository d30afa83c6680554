"""Cluster objects as values, and values as status."""

from __future__ import annotations

from typing import Any

import pytest

from base.errors import InvalidInput
from base.kube import Object
from schedulers.engine import quantity, status
from schedulers.engine.read import Objects, Reader, Underway, read_node
from schedulers.engine.read_groups import read_group, read_queue, read_settings, read_topology, seconds
from schedulers.engine.read_pods import constraints, requests
from schedulers.policy import (
    Amounts,
    Decisions,
    GpuShare,
    PodState,
    Reason,
    Requirement,
    Settings,
    Toleration,
    TopologyConstraint,
    Waiting,
)

_NOBODY = Underway({})


def meta(name: str, **more: Any) -> Object:
    return {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "1", **more}


def pod(name: str, *, group: str = "g", phase: str = "Pending", **more: Any) -> Object:
    spec = {
        "schedulerName": "kai-scheduler",
        "containers": [{"resources": {"requests": {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"}}}],
        **more.pop("spec", {}),
    }
    annotations = {"pod-group-name": group} if group else {}
    return {"metadata": meta(name, annotations=annotations, **more), "spec": spec, "status": {"phase": phase}}


def group(name: str = "g", **spec: Any) -> Object:
    return {"metadata": meta(name), "spec": {"queue": "q", **spec}}


NODE: Object = {
    "metadata": meta("node", labels={"zone": "a"}),
    "spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8", "rdma/hca": "2"},
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "MemoryPressure", "status": "False"}],
    },
}


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2), ("500m", 0.5), ("1Gi", 2**30), ("1.5k", 1500), ("1e3", 1000), ("2E", 2e18), (7, 7), ("100u", 1e-4)],
)
def test_quantities(text: str | int, value: float) -> None:
    assert quantity.parse(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "abc", "1Xi", "--1"])
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(InvalidInput, match="no Kubernetes quantity"):
        quantity.parse(text)


def test_numbers_are_written_exactly() -> None:
    assert [quantity.count(n) for n in (2.0, 0.5, 0.0)] == ["2", "500m", "0"]
    assert [quantity.cores(n) for n in (2000, 1500, 100)] == ["2", "1500m", "100m"]
    assert [quantity.size(n) for n in (2**30, 3 * 2**20, 1000, 0)] == ["1Gi", "3Mi", "1000", "0"]


def test_a_node() -> None:
    node = read_node(NODE)
    assert node.allocatable == Amounts(8, 64_000, 512 * 2**30)
    assert (node.pods, node.extra, node.labels, node.ready) == (110, {"rdma/hca": 2}, {"zone": "a"}, True)
    broken = {**NODE, "status": {**NODE["status"], "conditions": [{"type": "DiskPressure", "status": "True"}]}}
    assert read_node(broken).problems == ("NotReady", "DiskPressure")


def test_a_queue_that_says_nothing_has_nothing() -> None:
    queue = read_queue({"metadata": meta("q"), "spec": {"resources": {"gpu": {"quota": 2, "limit": -1, "overQuotaWeight": 3}}}})
    assert queue.deserved == Amounts(2, 0, 0)
    assert queue.limit == Amounts(-1, 0, 0)
    assert queue.weight == Amounts(3, 0, 0)
    assert queue.priority == 100


def test_queue_memory_is_in_megabytes() -> None:
    memory = {"quota": 1.5, "limit": -1, "overQuotaWeight": 2}
    queue = read_queue({"metadata": meta("q"), "spec": {"priority": 0, "resources": {"memory": memory}}})
    assert (queue.deserved.memory, queue.limit.memory, queue.weight.memory, queue.priority) == (1.5e6, -1, 2, 0)


@pytest.mark.parametrize(
    ("spec", "priority", "preemptible"),
    [
        ({"priorityClassName": "high"}, 100, False),
        ({"priorityClassName": "low"}, 99, True),
        ({"priorityClassName": "high", "preemptibility": "preemptible"}, 100, True),
        ({"priorityClassName": "low", "preemptibility": "non-preemptible"}, 99, False),
        ({"priorityClassName": "gone"}, 50, True),
        ({}, 50, True),
    ],
)
def test_priority_and_preemptibility(spec: dict[str, str], priority: int, preemptible: bool) -> None:
    found = read_group(group(**spec), {"high": 100, "low": 99})
    assert (found.priority, found.preemptible) == (priority, preemptible)


def test_a_missing_class_falls_to_the_global_default() -> None:
    assert read_group(group(priorityClassName="gone"), {"": 7}).priority == 7


def test_a_pod_asks_for_the_larger_of_its_steps() -> None:
    def container(cpu: str, gpus: int = 0, **more: Any) -> Object:
        return {"resources": {"requests": {"cpu": cpu, "nvidia.com/gpu": str(gpus)}}, **more}

    spec = {
        "initContainers": [container("1", restartPolicy="Always"), container("5", 2)],
        "containers": [container("1", 1), container("1")],
        "overhead": {"cpu": "250m"},
    }
    assert requests(spec) == (Amounts(2, 6250, 0), ())
    assert requests({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}, {}]})[0].gpu == 1


def test_constraints_of_a_pod() -> None:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    spec = {
        "nodeSelector": {"b": "1", "a": "2"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}},
        "tolerations": [{"key": "k", "operator": "Exists"}, {"key": "l", "value": "v"}],
    }
    found = constraints(spec)
    assert found.selector == (("a", "2"), ("b", "1"))
    assert found.affinity is not None
    assert found.affinity[0].labels == (Requirement("zone", "In", ("a",)),)
    assert found.tolerations == (Toleration("k", "Exists"), Toleration("l", "Equal", "v"))
    assert constraints({}).affinity is None


DELETED = "2026-01-01T00:00:00Z"
THEN = 1767225600.0


def on_node(**more: Any) -> Object:
    return pod("p", phase=more.pop("phase", "Running"), spec={"nodeName": "node"}, **more)


@pytest.mark.parametrize(
    ("obj", "underway", "now", "state", "node"),
    [
        (pod("p"), _NOBODY, THEN, PodState.PENDING, ""),
        (pod("p", spec={"schedulingGates": [{"name": "x"}]}), _NOBODY, THEN, PodState.GATED, ""),
        (pod("p"), Underway({"uid-p": "node"}), THEN, PodState.BINDING, "node"),
        (on_node(phase="Pending"), _NOBODY, THEN, PodState.BOUND, "node"),
        (on_node(), _NOBODY, THEN, PodState.RUNNING, "node"),
        (on_node(), Underway({}, frozenset({"uid-p"})), THEN, PodState.RELEASING, "node"),
        (on_node(deletionTimestamp=DELETED), _NOBODY, THEN + 119, PodState.RELEASING, "node"),
        (on_node(deletionTimestamp=DELETED), _NOBODY, THEN + 121, PodState.STUCK, "node"),
        (on_node(phase="Pending", deletionTimestamp=DELETED), _NOBODY, THEN + 999, PodState.RELEASING, "node"),
    ],
)
def test_where_a_pod_is_in_its_life(obj: Object, underway: Underway, now: float, state: PodState, node: str) -> None:
    objects = Objects(nodes=(NODE,), pods=(obj,), groups=(group(),))
    (found,) = Reader().snapshot(objects, underway, "", now).pods
    assert (found.state, found.node, found.group) == (state, node, "ns/g")


def test_a_bind_request_holds_its_pods_place() -> None:
    request = {"metadata": meta("p"), "spec": {"podName": "p", "selectedNode": "node"}}
    objects = Objects(nodes=(NODE,), pods=(pod("p"),), groups=(group(),), requests=(request,))
    (found,) = Reader().snapshot(objects, _NOBODY, "", THEN).pods
    assert (found.state, found.node) == (PodState.BINDING, "node")


def test_ended_pods_and_pods_without_a_place_here_are_left_out() -> None:
    pods = (
        pod("done", phase="Succeeded", spec={"nodeName": "node"}),
        pod("broken", phase="Failed", spec={"nodeName": "node"}),
        pod("loose", group=""),
        pod("theirs", spec={"schedulerName": "other"}),
        pod("on-it", spec={"schedulerName": "other", "nodeName": "node"}),
    )
    found = Reader().snapshot(Objects(nodes=(NODE,), pods=pods, groups=(group(),)), _NOBODY, "", THEN).pods
    assert [(p.name, p.group) for p in found] == [("on-it", "")]


def test_a_node_pool_sees_only_what_carries_its_label() -> None:
    label = {"kai.scheduler/node-pool": "h200"}
    shard = {"metadata": meta("h200"), "spec": {"partitionLabelValue": "h200", "placementStrategy": {"gpu": "spread"}}}
    queue = {"metadata": meta("q"), "spec": {}}
    objects = Objects(
        nodes=(NODE, {**NODE, "metadata": meta("other", labels=label)}),
        queues=(queue, {**queue, "metadata": meta("q-h200", labels=label)}),
        groups=(group(), {**group("g2"), "metadata": meta("g2", labels=label)}),
        pods=(pod("a"), pod("b", group="g2")),
        shards=(shard,),
    )
    plain, pool = (Reader().snapshot(objects, _NOBODY, name, THEN) for name in ("", "h200"))
    assert ([n.name for n in plain.nodes], [q.name for q in plain.queues]) == (["node"], ["q"])
    assert ([n.name for n in pool.nodes], [q.name for q in pool.queues]) == (["other"], ["q-h200"])
    assert ([p.name for p in plain.pods], [p.name for p in pool.pods]) == (["a"], ["b"])
    assert (plain.settings.gpu_strategy, pool.settings.gpu_strategy, plain.node_pool, pool.node_pool) == (
        "binpack",
        "spread",
        "default",
        "h200",
    )


@pytest.mark.parametrize(
    ("obj", "what"),
    [
        (pod("p", spec={"resourceClaims": [{"name": "c"}]}), "resource claims"),
        (pod("p", spec={"containers": [{"resources": {"requests": {"nvidia.com/mig-1g.5gb": "1"}}}]}), ""),
        (
            pod("p", spec={"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}}),
            "required pod affinity",
        ),
        (pod("p", spec={"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}), "topology spread constraints"),
        (pod("p", spec={"volumes": [{"persistentVolumeClaim": {"claimName": "c"}}]}), "persistent volume claims"),
        (pod("p", spec={"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}}}), ""),
    ],
)
def test_what_the_model_does_not_know_is_marked(obj: Object, what: str) -> None:
    assert Reader().pod(obj).unsupported == what


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ({"subGroups": [{"name": "a"}]}, ""),
        ({"subGroups": [{"name": "a", "topologyConstraint": {"requiredTopologyLevel": "rack"}}]}, "required topology levels"),
        ({"topologyConstraint": {"requiredTopologyLevel": "rack"}}, "required topology levels"),
        ({"topologyConstraint": {"preferredTopologyLevel": "rack"}}, ""),
        ({"preemptionDelay": "30s"}, ""),
    ],
)
def test_groups_that_ask_for_more_are_marked_too(spec: dict[str, Any], what: str) -> None:
    assert read_group(group(**spec), {}).unsupported == what


def test_an_object_is_parsed_again_only_when_it_changed() -> None:
    reader = Reader()
    first = reader.pod(pod("p"))
    assert reader.pod(pod("p")) is first
    changed = pod("p")
    changed["metadata"]["resourceVersion"] = "2"
    assert reader.pod(changed) is not first


# -- status ---------------------------------------------------------------------------------------------------------------


def test_usage_adds_up_pods_and_queues_add_up_groups() -> None:
    objects = Objects(
        pods=(
            pod("a", spec={"nodeName": "node"}),
            pod("b"),
            pod("c", group="fixed", spec={"nodeName": "node"}),
            pod("d", phase="Succeeded"),
        ),
        groups=(group(), group("fixed", preemptibility="non-preemptible")),
        queues=({"metadata": meta("top"), "spec": {}}, {"metadata": meta("q"), "spec": {"parentQueue": "top"}}),
    )
    used = status.usage(objects, Reader())
    assert status.group_patch(objects.groups[0], used["ns/g"]) == {
        "status": {
            "resourcesStatus": {
                "allocated": {"nvidia.com/gpu": "1", "cpu": "500m", "memory": "1Gi"},
                "requested": {"nvidia.com/gpu": "2", "cpu": "1", "memory": "2Gi"},
            }
        }
    }
    patches = status.queue_patches(objects, used)
    assert patches["top"]["status"]["allocated"]["nvidia.com/gpu"] == "2"
    assert patches["q"]["status"]["allocatedNonPreemptible"]["nvidia.com/gpu"] == "1"
    assert patches["top"]["status"]["childQueues"] == ["q"]
    assert "childQueues" not in patches["q"]["status"]


def test_what_is_right_already_is_not_written_and_what_is_gone_is_taken_out() -> None:
    right = {**group(), "status": {"resourcesStatus": {"requested": {"nvidia.com/gpu": "1", "cpu": "500m", "memory": "1Gi"}}}}
    objects = Objects(pods=(pod("b"),), groups=(right,))
    assert status.group_patch(right, status.usage(objects, Reader())["ns/g"]) is None
    empty = status.usage(Objects(groups=(right,)), Reader())["ns/g"]
    assert status.group_patch(right, empty) == {
        "status": {"resourcesStatus": {"requested": {"nvidia.com/gpu": None, "cpu": None, "memory": None}}}
    }


def test_queues_in_a_circle_do_not_hang() -> None:
    queues = tuple({"metadata": meta(a), "spec": {"parentQueue": b}} for a, b in (("q", "r"), ("r", "q")))
    objects = Objects(pods=(pod("a", spec={"nodeName": "node"}),), groups=(group(),), queues=queues)
    patches = status.queue_patches(objects, status.usage(objects, Reader()))
    assert patches["r"]["status"]["allocated"]["nvidia.com/gpu"] == "1"


def test_a_condition_replaces_this_pools_and_keeps_the_others() -> None:
    waiting = Waiting("ns/g", "text", (Reason("OverLimit", "full"),), running=False)
    other = {"nodePool": "h200", "transitionID": "4"}
    present = {**group(), "status": {"schedulingConditions": [{"nodePool": "default", "transitionID": "3"}, other]}}
    patch = status.condition_patch(present, waiting, "default", "now")
    assert patch is not None
    kept, mine = patch["status"]["schedulingConditions"]
    assert kept == other
    assert mine == {
        "type": "UnschedulableOnNodePool",
        "nodePool": "default",
        "status": "True",
        "reason": "Unschedulable",
        "message": "text",
        "lastTransitionTime": "now",
        "transitionID": "5",
        "reasons": [{"reason": "OverLimit", "message": "full"}],
    }
    again = {**group(), "status": {"schedulingConditions": [kept, mine]}}
    assert status.condition_patch(again, waiting, "default", "later") is None
    assert status.clear_patch(again) == {"status": {"schedulingConditions": None}}
    assert status.clear_patch(group()) is None


def test_a_shard_is_ready_at_its_generation() -> None:
    shard: Object = {"metadata": meta("s", generation=2)}
    patch = status.shard_patch(shard, "now")
    assert patch is not None
    assert patch["status"]["conditions"][0]["observedGeneration"] == 2
    shard["status"] = patch["status"]
    assert status.shard_patch(shard, "later") is None
    shard["metadata"]["generation"] = 3
    assert status.shard_patch(shard, "later") is not None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(None, None), ("", None), ("30s", 30), ("1h30m", 5400), ("-1s", -1), ("1.5m", 90), ("250ms", 0.25), ("0", 0)],
)
def test_durations(text: str | None, seconds: float | None) -> None:
    assert quantity.duration(text) == seconds


@pytest.mark.parametrize("text", ["30", "1d", "s", "1h 2m", "--1s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidInput, match="no duration"):
        quantity.duration(text)


def test_a_shard_is_read_into_settings() -> None:
    spec = {
        "placementStrategy": {"cpu": "spread"},
        "kValue": 2,
        "minRuntime": {"preemptMinRuntime": "1m", "reclaimMinRuntime": "2m"},
        "plugins": {"minruntime": {"arguments": {"reclaimResolveMethod": "queue"}}},
        "actions": {"consolidation": {"enabled": False}, "preempt": {"priority": 5}},
        "args": {
            "default-staleness-grace-period": "-1s",
            "max-consolidation-preemptees": "0",
            "restrict-node-scheduling": "true",
        },
    }
    settings = read_settings({"spec": spec})
    assert (settings.gpu_strategy, settings.cpu_strategy, settings.k_value) == ("binpack", "spread", 2)
    assert (settings.preempt_min_runtime, settings.reclaim_min_runtime, settings.reclaim_resolve) == (60, 120, "queue")
    assert (settings.staleness_grace, settings.max_consolidated, settings.restrict_nodes) == (-1, 0, True)
    assert settings.actions == ("allocate", "reclaim", "preempt", "stalegangeviction")


def test_a_shard_that_says_nothing_has_the_defaults() -> None:
    assert read_settings({}) == Settings()


def test_shares_of_gpus_are_read_from_annotations_and_labels() -> None:
    annotations = {"pod-group-name": "g", "gpu-memory": "2000", "gpu-fraction-num-devices": "2"}
    obj = pod("p")
    obj["metadata"] |= {"annotations": annotations, "labels": {"runai-gpu-group/b": "b", "runai-gpu-group/a": "a"}}
    read = Reader().pod(obj)
    assert (read.share, read.gpu_groups, read.unsupported) == (GpuShare(2, memory=2000), ("a", "b"), "")
    assert Reader(shares=False).pod(obj).unsupported == "GPU fractions"


@pytest.mark.parametrize("value", ["1.5", "0", "abc", "-1"])
def test_a_share_that_cannot_be_read_is_unsupported(value: str) -> None:
    obj = pod("p")
    obj["metadata"]["annotations"]["gpu-fraction"] = value
    assert Reader().pod(obj).unsupported == "GPU fractions"


def test_a_reservation_pod_takes_no_gpu_of_its_own() -> None:
    obj = pod("r", group="", labels={"app": "kai-resource-reservation"}, spec={"nodeName": "node"})
    (read,) = Reader().snapshot(Objects(nodes=(NODE,), pods=(obj,)), _NOBODY, "", THEN).pods
    assert (read.request.gpu, read.node) == (0, "node")


def test_topologies_make_required_levels_known() -> None:
    levels = [{"nodeLabel": "zone"}, {"nodeLabel": "rack", "alias": "r"}]
    topology = {"metadata": meta("t"), "spec": {"levels": levels}}
    assert read_topology(topology).aliases == {"r": "rack"}
    obj = group(topologyConstraint={"topology": "t", "requiredTopologyLevel": "r"})
    snapshot = Reader().snapshot(Objects(groups=(obj,), topologies=(topology,)), _NOBODY, "", THEN)
    assert snapshot.groups[0].topology == TopologyConstraint("t", "r")
    assert snapshot.groups[0].unsupported == ""


def test_groups_know_what_their_pods_tell() -> None:
    ended = pod("a", phase="Succeeded")
    started = pod("b", phase="Running")
    started["status"]["startTime"] = "2026-01-01T00:00:00Z"
    (read,) = Reader().snapshot(Objects(groups=(group(),), pods=(ended, started)), _NOBODY, "", THEN).groups
    assert read.succeeded == 1
    assert read.started == seconds("2026-01-01T00:00:00Z")


def test_what_a_cycle_found_stale_is_remembered_for_its_pool() -> None:
    reader = Reader()
    objects = Objects(groups=(group(),))
    reader.note("", Decisions(stale={"ns/g": 5.0}), 5.0)
    reader.note("other", Decisions(), 6.0)
    assert reader.snapshot(objects, _NOBODY, "", THEN).groups[0].stale_since == 5.0
    reader.note("", Decisions(), 7.0)
    assert reader.snapshot(objects, _NOBODY, "", THEN).groups[0].stale_since is None

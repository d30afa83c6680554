"""Who may run at all: a pod finds its queue, or the scheduler says why not."""

from __future__ import annotations

import pytest

from base.kube.kinds import POD, QUEUE
from validation.checks import check
from validation.harness import Lab

DEFAULT_QUEUE = "default-queue"


@check(
    "T01",
    "A pod without a queue label runs in the default queue",
    proves="A first workload of somebody who knows nothing about queues is scheduled, through the scheduler's own path.",
    tier="sched",
)
def test_default_queue(lab: Lab) -> None:
    """One small pod. It must get a PodGroup in the default queue, a node through a BindRequest that succeeds, and an event that
    says so. At the latest with the pod its BindRequest must go."""
    if lab.cluster.find(QUEUE, DEFAULT_QUEUE) is None:
        pytest.skip(f"there is no queue {DEFAULT_QUEUE} (the chart's defaultQueue.createDefaultQueue is off)")
    lab.room(1)
    pod = lab.pod("first", "", gpus=0)
    group = lab.until(lambda: lab.group_of(pod), "a PodGroup for the pod")
    assert group["spec"]["queue"] == DEFAULT_QUEUE, f"the pod was put into queue {group['spec']['queue']}"
    lab.until(lambda: lab.node_of(pod), "binding of the pod")
    lab.until(
        lambda: any(e.get("reason") == "Scheduled" and e["involvedObject"]["name"] == pod for e in lab.events.live.values()),
        "event Scheduled on the pod",
    )
    # v0.17.0 keeps a BindRequest that has succeeded for as long as its pod is there; one that is gone already did its work too
    lab.until(lambda: _phase(lab, pod) == "Succeeded" or lab.requests.past, "success of the pod's BindRequest")
    lab.cluster.delete(POD, pod, lab.namespace, grace=0)
    lab.until(lambda: pod not in lab.pods.live and not lab.requests.live, "removal of the pod's BindRequest with the pod")


@check(
    "T02",
    "A queue that does not exist holds its pods, and says so",
    proves="A mistyped queue name is told to the user and never falls through to another queue.",
    tier="sched",
    since="0.13",
)
def test_missing_queue(lab: Lab) -> None:
    """A pod whose label names no queue. Its PodGroup must carry reason QueueDoesNotExist with the name; the pod stays Pending."""
    lab.room(1)
    pod = lab.pod("lost", lab.names("nowhere"))
    _must_be_told(lab, pod, lab.names("nowhere"))
    lab.stay_unbound(pod, why="there is no such queue")


@check(
    "T06",
    "A queue whose parent does not exist counts as not existing",
    proves="An orphaned queue (a department removed, a mistyped parentQueue) cannot run anything outside every quota.",
    tier="sched",
    since="0.13",
)
def test_orphan_queue(lab: Lab) -> None:
    """A leaf queue with quota below a parent that is missing. Its pod must be told QueueDoesNotExist and stay Pending."""
    lab.room(1)
    queue = lab.queue("orphan", quota=1, parent=lab.names("no-such-parent"))
    pod = lab.pod("orphaned", queue)
    _must_be_told(lab, pod, queue)
    lab.stay_unbound(pod, why="there is no such queue")


@check(
    "T07",
    "Queue trees of one, three and four levels run pods in their leaves",
    proves="Departments can be nested as deep as an organisation is, and a lone queue needs no parent.",
    tier="sched",
    since="0.13",
)
def test_tree_depths(lab: Lab) -> None:
    """One pod in a top-level queue, one at the end of a chain of three queues, one at the end of a chain of four."""
    lab.room(3)
    weight = 1.0 if lab.own_gpus else 0.0
    pods = [
        lab.pod("one-level", lab.queue("top", quota=lab.own_gpus and 1, weight=weight, parent=""), gpus=1 if lab.own_gpus else 0)
    ]
    for levels in (3, 4):
        parent = lab.department()
        for level in range(2, levels):
            parent = lab.queue(f"chain{levels}-{level}", quota=1, parent=parent)
        leaf = lab.queue(f"chain{levels}-leaf", quota=1, parent=parent)
        pods.append(lab.pod(f"{levels}-levels", leaf, gpus=1 if lab.own_gpus else 0))
    lab.until(lambda: len(lab.bound()) == len(pods), "binding of one pod in each tree")


def _phase(lab: Lab, pod: str) -> str:
    request = next((item for item in lab.requests.live.values() if item["spec"].get("podName") == pod), {})
    return str(request.get("status", {}).get("phase", ""))


def _must_be_told(lab: Lab, pod: str, queue: str) -> None:
    def told() -> str | None:
        group = lab.group_of(pod)
        return next((text for reason, text in lab.reasons(group) if reason == "QueueDoesNotExist"), None) if group else None

    message = lab.until(told, "reason QueueDoesNotExist on the pod's PodGroup")
    assert queue in message, f"the message does not name the queue {queue}: {message}"

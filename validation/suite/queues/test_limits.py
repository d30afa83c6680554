"""Quota and limit: what a queue deserves, and what it may never pass."""

from __future__ import annotations

from validation.checks import check
from validation.harness import Lab


@check(
    "T33",
    "A non-preemptible workload does not run beyond its queue's quota",
    proves="Nobody can take capacity for good that was promised to somebody else.",
    tier="sched",
)
def test_non_preemptible_over_quota(lab: Lab) -> None:
    """Quota 0, a free GPU, two pods. The non-preemptible one must be told NonPreemptibleOverQuota; the other one runs."""
    lab.room(2)
    queue = lab.queue("no-quota", quota=0, weight=1 if lab.own_gpus else 0)
    held = lab.pod("held", queue, preemptible=False)
    _must_be_told(lab, held, "NonPreemptibleOverQuota")
    if lab.own_gpus:
        free = lab.pod("free", queue, preemptible=True)
        lab.until(lambda: lab.node_of(free), "binding of the preemptible pod of the same queue")
    lab.stay_unbound(held, why="the queue has no quota for a non-preemptible pod")


@check(
    "T34",
    "A queue with limit 0 runs nothing",
    proves="A limit holds for every workload, and who runs into it is told which queue's limit it was.",
    tier="sched",
)
def test_limit_zero(lab: Lab) -> None:
    """Quota 1 but limit 0, free GPUs, a preemptible and a non-preemptible pod. Both must be told OverLimit and stay Pending."""
    lab.room(2)
    queue = lab.queue("closed", quota=1, limit=0)
    pods = [lab.pod("preemptible", queue, preemptible=True), lab.pod("non-preemptible", queue, preemptible=False)]
    for pod in pods:
        message = _must_be_told(lab, pod, "OverLimit")
        assert queue in message, f"the message does not name the queue {queue}: {message}"
        assert "limit of GPU" in message, f"the message does not name the limit of GPUs: {message}"
    lab.stay_unbound(*pods, why="the queue's limit is 0")


def _must_be_told(lab: Lab, pod: str, reason: str) -> str:
    def told() -> str | None:
        group = lab.group_of(pod)
        return next((text for found, text in lab.reasons(group) if found == reason), None) if group else None

    return lab.until(told, f"reason {reason} on the PodGroup of pod {pod}")

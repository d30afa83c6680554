"""What a queue's status says about itself."""

from __future__ import annotations

from base.kube import Object
from validation.checks import check
from validation.harness import Lab

GPU = "nvidia.com/gpu"


@check(
    "T39",
    "A queue's status adds up to its pods",
    proves="Dashboards, billing and alerts that read Queue.status see what really runs, at every level of the tree.",
    tier="sched",
    own_nodes=True,
)
def test_queue_status(lab: Lab) -> None:
    """Two preemptible GPUs and one non-preemptible GPU run, two more wait. Allocated, allocatedNonPreemptible and requested
    must equal the sums within 30 s in the leaf and in its department, and the department must list the leaf as its child."""
    lab.nodes(3)
    leaf = lab.queue("team", quota=3)
    lab.pod("soft", leaf, gpus=2, preemptible=True)
    lab.pod("hard", leaf, gpus=1, preemptible=False)
    lab.until(lambda: set(lab.bound()) == {"soft", "hard"}, "binding of both pods")
    lab.pod("waits", leaf, gpus=2, preemptible=True)
    lab.until(lambda: lab.group_of("waits"), "a PodGroup for the waiting pod")
    wanted = {"allocated": 3.0, "allocatedNonPreemptible": 1.0, "requested": 5.0}
    for name in (leaf, lab.department()):
        lab.until(lambda name=name: gpus(lab.queues.live[name]) == wanted, f"status of {name} equal to {wanted}", within=30.0)  # type: ignore[misc]
    children = lab.queues.live[lab.department()]["status"].get("childQueues", [])
    assert leaf in children, f"the department lists {children or 'no children'}, not {leaf}"


def gpus(queue: Object) -> dict[str, float]:
    """GPUs of a queue's status by field; a field or resource that is absent counts as 0."""
    status = queue.get("status", {})
    return {field: float(status.get(field, {}).get(GPU, 0)) for field in ("allocated", "allocatedNonPreemptible", "requested")}

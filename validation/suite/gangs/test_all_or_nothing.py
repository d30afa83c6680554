"""All or nothing: a gang starts whole or not at all."""

from __future__ import annotations

from base.kube.kinds import JOB, POD_GROUP
from validation.checks import check
from validation.harness import Lab, objects


@check(
    "T10",
    "A Job's gang of four waits for its fourth GPU, then starts whole",
    proves="A distributed training never holds GPUs while it waits for the rest of its pods.",
    tier="sched",
    own_nodes=True,
)
def test_gang_job(lab: Lab) -> None:
    """Three free GPUs and a Job of four 1-GPU pods that must start together. None may be bound, and the scheduler says why.
    Then a fourth GPU is added: all four must be bound."""
    lab.nodes(2, 1)
    queue = lab.queue("team", quota=4)
    job = objects.job(lab.names, "train", pods=4, gpus=1, queue=queue, selector=lab.selector_of_nodes, minimum=4)
    lab.cluster.create(JOB, job)
    lab.until(lambda: len(lab.pods.live) == 4, "four pods of the Job")
    group = lab.until(lambda: next((g for g in lab.groups.live.values()), None), "a PodGroup for the Job")
    assert len(lab.groups.live) == 1, f"the Job has {len(lab.groups.live)} PodGroups"
    assert group["spec"].get("minMember") == 4, f"the PodGroup's minMember is {group['spec'].get('minMember')}"
    lab.until(lambda: _told_unschedulable(lab), "condition PodScheduled=False, reason Unschedulable")
    lab.stay_unbound(*lab.pods.live, why="the gang of four has three GPUs")
    lab.note("a node with the fourth GPU is added")
    lab.nodes(1)
    lab.until(lambda: len(lab.bound("train")) == 4, "binding of all four pods")


@check(
    "T11",
    "A PodGroup made by hand waits for its members",
    proves="Frameworks that bring their own PodGroup get the gang that they ask for.",
    tier="sched",
    own_nodes=True,
)
def test_external_group(lab: Lab) -> None:
    """A PodGroup with minMember 2 and one pod. Nothing may be bound and the PodGroup gets event NotReady.
    When the second pod comes, both must be bound."""
    lab.nodes(4)
    queue = lab.queue("team", quota=4)
    lab.gang("pair", queue, pods=1, minimum=2)
    lab.until(
        lambda: any(e.get("reason") == "NotReady" and e["involvedObject"]["name"] == "pair" for e in lab.events.live.values()),
        "event NotReady on the PodGroup",
    )
    lab.stay_unbound("pair-0", why="the group of two has one pod")
    lab.note("the second pod is made")
    lab.pod("pair-1", queue, group="pair")
    lab.until(lambda: len(lab.bound("pair")) == 2, "binding of both pods")


@check(
    "T12",
    "Of two gangs of four on six GPUs exactly one starts",
    proves="Two large jobs that race for the same GPUs never block each other halfway.",
    tier="sched",
    own_nodes=True,
)
def test_two_gangs(lab: Lab) -> None:
    """Two PodGroups of four 1-GPU pods, made alternately, on six GPUs. One must be bound whole; the other one not at all."""
    lab.nodes(4, 2)
    queue = lab.queue("team", quota=6)
    for gang in ("red", "blue"):
        lab.cluster.create(POD_GROUP, objects.pod_group(lab.names, gang, queue=queue, minimum=4))
    for index in range(4):
        for gang in ("red", "blue"):
            lab.pod(f"{gang}-{index}", queue, group=gang)

    def winner() -> str | None:
        return next((gang for gang in ("red", "blue") if len(lab.bound(gang)) == 4), None)

    won = lab.until(winner, "one gang bound whole")
    lost = "blue" if won == "red" else "red"
    lab.stay_unbound(*(f"{lost}-{index}" for index in range(4)), why=f"gang {lost} lost the race")
    assert len(lab.bound(won)) == 4, f"the gang that won is no longer whole: {lab.bound(won)}"


def _told_unschedulable(lab: Lab) -> bool:
    for pod in lab.pods.live.values():
        for condition in pod.get("status", {}).get("conditions", ()):
            if condition["type"] == "PodScheduled" and condition["status"] == "False" and condition["reason"] == "Unschedulable":
                return True
    return False

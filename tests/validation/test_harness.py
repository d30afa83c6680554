"""The harness on synthetic data: what is told, what counts as moved, and when a wait ends."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.errors import CheckFailed, DeadlineExceeded
from base.kube import Cluster, Object
from base.kube.kinds import POD
from validation.harness import objects
from validation.harness.board import Board, Mirror
from validation.harness.bystanders import Picture, Where, differences
from validation.harness.names import CHECK, LAB, RUN, Names
from validation.harness.timeline import Timeline, tell

NAMES = Names.of("T10", "run1", "abcde")


def a_pod(**changes: Object) -> Object:
    pod: Object = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {}, "status": {"phase": "Pending"}}
    for part, more in changes.items():
        pod[part] = {**pod[part], **more}
    return pod


# -- names ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", ["T10", "SLURM-01", "I01[cert-manager]", "Ünder_score"])
def test_names_are_legal_wherever_kubernetes_takes_them(check: str) -> None:
    names = Names.of(check, "run1", "abcde")
    assert re.fullmatch(r"chandlery-check-[a-z0-9-]+", names.lab)
    assert len(names("a-rather-long-name-of-a-queue")) <= 63 or check.startswith("I01")
    for label in (CHECK, LAB, RUN):
        assert re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?", names.labels()[label])


def test_everything_a_check_makes_carries_its_labels() -> None:
    made = [
        objects.namespace(NAMES),
        objects.node(NAMES, "n0", gpus=8),
        objects.queue(NAMES, "q", gpu=objects.share(1)),
        objects.priority_class(NAMES, 50),
        objects.pod(NAMES, "p", gpus=1, queue="q", selector={}),
        objects.job(NAMES, "j", pods=2, gpus=1, queue="q", selector={}, minimum=2),
        objects.pod_group(NAMES, "g", queue="q", minimum=2),
    ]
    for item in made:
        assert item["metadata"]["labels"].items() >= NAMES.labels().items()


def test_a_queue_always_writes_out_all_three_resources() -> None:
    resources = objects.queue(NAMES, "q", gpu=objects.share(2, 4, 0))["spec"]["resources"]
    assert resources["gpu"] == {"quota": 2, "limit": 4, "overQuotaWeight": 0}
    assert resources["cpu"] == resources["memory"] == {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def test_own_nodes_keep_other_workloads_away_and_let_the_check_in() -> None:
    taints = objects.node(NAMES, "n0", gpus=8)["spec"]["taints"]
    tolerated = {t["key"] for t in objects.pod(NAMES, "p", gpus=1, queue="q", selector={})["spec"]["tolerations"]}
    assert {taint["key"] for taint in taints} <= tolerated
    assert LAB in {taint["key"] for taint in taints}


# -- timeline ---------------------------------------------------------------------------------------------------


def test_a_pods_way_is_told_step_by_step() -> None:
    waiting = {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no\n  GPU"}]}
    steps = [
        a_pod(),
        a_pod(status=waiting),
        a_pod(spec={"nodeName": "n0"}),
        a_pod(spec={"nodeName": "n0"}, status={"phase": "Running"}),
        a_pod(spec={"nodeName": "n0"}, status={"phase": "Running"}, metadata={"deletionTimestamp": "now"}),
        None,
    ]
    told: list[str] = []
    for old, new in zip([None, *steps[:-1]], steps, strict=True):
        told += tell(old, new)
    assert told == [
        "pod a: appeared",
        "pod a: not scheduled (Unschedulable): no GPU",
        "pod a: bound to n0",
        "pod a: Running",
        "pod a: being deleted",
        "pod a: gone",
    ]


def test_a_reason_is_told_once_and_again_when_it_changes() -> None:
    def group(message: str) -> Object:
        reasons = [{"reason": "OverLimit", "message": message}]
        conditions = [{"type": "UnschedulableOnNodePool", "reasons": reasons}]
        return {"kind": "PodGroup", "metadata": {"name": "g"}, "spec": {}, "status": {"schedulingConditions": conditions}}

    assert tell(group("limit 1"), group("limit 1")) == []
    assert tell(group("limit 1"), group("limit 2")) == ["pod group g: unschedulable (OverLimit): limit 2"]


def test_a_flapping_object_cannot_fill_the_report() -> None:
    timeline = Timeline()
    for number in range(1000):
        timeline.add(f"line {number}")
    lines = timeline.lines()
    assert len(lines) == 301
    assert lines[-1].what == "... and 700 more changes"


# -- bystanders -------------------------------------------------------------------------------------------------

BEFORE = Picture(
    pods={"a/p": Where("u1", "n1"), "a/done": Where("u2", "n1", done=True), "a/waits": Where("u3", "")},
    nodes={"n1": "uid with 8 GPUs"},
    queues={"q": "uid generation 1"},
)


def after(**changes: object) -> Picture:
    return Picture(**{"pods": BEFORE.pods, "nodes": BEFORE.nodes, "queues": BEFORE.queues, **changes})  # type: ignore[arg-type]


def test_an_untouched_neighbourhood_shows_no_difference() -> None:
    assert differences(BEFORE, BEFORE) == []


def test_newcomers_and_pods_that_had_ended_or_never_ran_are_nobodys_loss() -> None:
    assert differences(BEFORE, after(pods={"a/p": Where("u1", "n1"), "b/new": Where("u9", "n1")})) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (after(pods={}), "pod a/p on n1 is gone"),
        (after(pods={"a/p": Where("u7", "n1")}), "pod a/p on n1 was replaced by another of the same name"),
        (after(pods={"a/p": Where("u1", "n1", leaving=True)}), "pod a/p on n1 is being deleted"),
        (after(nodes={}), "node n1 is gone"),
        (after(nodes={"n1": "uid with 8 GPUs cordoned"}), "node n1 was changed: uid with 8 GPUs became uid with 8 GPUs cordoned"),
        (after(queues={"q": "uid generation 2"}), "queue q was changed: uid generation 1 became uid generation 2"),
    ],
)
def test_whatever_moved_is_named(changed: Picture, said: str) -> None:
    assert differences(BEFORE, changed) == [said]


# -- waits ------------------------------------------------------------------------------------------------------


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    """A board without mirrors, so that nothing is asked of the cluster behind it."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        '{"apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "u", "user": {"token": "t"}}],'
        '"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:9"}}],'
        '"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}'
    )
    with Cluster(kubeconfig) as cluster:
        yield Board(cluster, Timeline())


def test_a_wait_ends_when_its_condition_holds(board: Board) -> None:
    facts: list[str] = []

    def happen() -> None:
        time.sleep(0.1)
        with board.changed:
            facts.append("bound")
            board.changed.notify_all()

    thread = threading.Thread(target=happen)
    thread.start()
    started = time.monotonic()
    assert board.until(lambda: facts[-1] if facts else None, "binding", within=5.0) == "bound"
    assert time.monotonic() - started < 0.9, "it waited for the clock and not for the change"
    thread.join()


def test_a_wait_that_gives_up_says_what_for_and_how_things_stand(board: Board) -> None:
    with pytest.raises(DeadlineExceeded, match=r"binding did not happen within 0\.05 s; a waits"):
        board.until(lambda: None, "binding", within=0.05, now=lambda: "a waits")


def test_a_quiet_window_lasts_its_time_and_is_written_down(board: Board) -> None:
    started = time.monotonic()
    board.hold(lambda: None, seconds=0.2)
    assert time.monotonic() - started >= 0.2
    assert [line.what for line in board.timeline.lines()] == [
        "quiet window of 0.2 s begins",
        "quiet window of 0.2 s ends, nothing happened",
    ]


def test_a_broken_quiet_window_fails_at_once(board: Board) -> None:
    started = time.monotonic()
    with pytest.raises(CheckFailed, match="into a quiet window of 30 s: pod a was bound"):
        board.hold(lambda: "pod a was bound", seconds=30.0)
    assert time.monotonic() - started < 5


def test_a_mirror_never_goes_back_in_time(board: Board) -> None:
    mirror = Mirror(board, POD, "ns", "")

    def take(change: str, version: int, node: str) -> None:
        pod = a_pod(metadata={"resourceVersion": str(version)}, spec={"nodeName": node} if node else {})
        mirror._take(change, pod)

    take("ADDED", 5, "")
    take("MODIFIED", 9, "n0")
    take("MODIFIED", 7, "")
    assert mirror.live["a"]["spec"]["nodeName"] == "n0"
    take("DELETED", 11, "n0")
    assert not mirror.live
    assert "a" in mirror.past
    assert [line.what for line in board.timeline.lines()] == ["pod a: appeared", "pod a: bound to n0", "pod a: gone"]


@pytest.mark.parametrize("nothing", [None, False, "", {}, []])
def test_an_empty_answer_is_not_yet_an_answer(board: Board, nothing: object) -> None:
    with pytest.raises(DeadlineExceeded):
        board.until(lambda: nothing, "a node's name", within=0.05)

"""What may happen to an engine while it works, and that nothing is bound twice or in part for it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from base.deadlines import Deadline, poll
from base.kube import wait_for
from base.kube.kinds import BIND_REQUEST, EVENT, NODE, POD
from tests.schedulers.lab import WAIT_S, Lab, Room

pytestmark = pytest.mark.integration


def gangs(room: Room, queue: str, count: int, size: int) -> list[str]:
    """Groups of pods without GPUs, so that all of them fit."""
    names = []
    for gang in range(count):
        room.group(f"gang{gang}", queue, size)
        for number in range(size):
            names.append(f"gang{gang}-{number}")
            room.pod(names[-1], queue, gpus=0, group=f"gang{gang}")
    return names


def every_binding_once(live: Lab, room: Room, names: list[str]) -> None:
    """All pods run where the API server put them, and nothing is left half done."""
    wait_for(live.cluster, BIND_REQUEST, lambda found: not found, Deadline.after(WAIT_S), "the end of BindRequests", room.name)
    failed = [e for e in live.cluster.list(EVENT, room.name)[0] if e["reason"] == "FailedBinding"]
    assert not failed
    assert sorted(room.nodes()) == sorted(names)
    assert all(room.nodes().values())


def test_a_killed_engine_goes_on_where_it_was(live: Lab) -> None:
    with live.room() as room:
        queue = room.queue("q")
        engine = live.start().ready()
        names = gangs(room, queue, 8, 8)
        room.wait(POD, lambda found: sum(bool(p["spec"].get("nodeName")) for p in found.values()) >= 5, "some bindings")
        engine.stop(signal.SIGKILL)
        before = room.nodes()
        again = live.start().ready()  # waits until the dead engine's lease expires
        room.bound(*names)
        after = room.nodes()
        assert {name: node for name, node in before.items() if node}.items() <= after.items()
        every_binding_once(live, room, names)
        assert again.stop() == 0


def test_a_request_that_a_dead_engine_left_is_carried_out_or_cleared(live: Lab) -> None:
    with live.room() as room:
        queue = room.queue("q", limit=0)  # the engine itself would never place these
        pod = room.pod("promised", queue)
        node = live.cluster.list(NODE, labels="type=kwok")[0][0]
        owner = [{"apiVersion": "v1", "kind": "Pod", "name": "promised", "uid": pod["metadata"]["uid"]}]
        for name, of, owners in (("promised", "promised", owner), ("orphan", "nobody", [])):
            live.cluster.create(
                BIND_REQUEST,
                {
                    "metadata": {"name": name, "namespace": room.name, "ownerReferences": owners},
                    "spec": {"podName": of, "selectedNode": node["metadata"]["name"]},
                },
            )
        engine = live.start().ready()
        room.bound("promised")
        assert room.nodes() == {"promised": node["metadata"]["name"]}
        wait_for(live.cluster, BIND_REQUEST, lambda found: not found, Deadline.after(WAIT_S), "clearing", room.name)
        assert engine.stop() == 0


def test_it_survives_the_api_server(live: Lab) -> None:
    with live.room() as room:
        queue = room.queue("q")
        engine = live.start().ready()
        live.site.kill("kube-apiserver")
        time.sleep(3)  # long enough for every watch to notice
        live.site.up()
        room.pod("after", queue)
        room.bound("after")
        assert engine.process.poll() is None
        assert engine.ready().stop() == 0


def test_a_second_engine_waits_and_takes_over(live: Lab) -> None:
    with live.room() as room:
        queue = room.queue("q")
        first = live.start("--identity", "first").ready()
        second = live.start("--identity", "second")
        poll(lambda: second.probe("/readyz").startswith("503"), Deadline.after(WAIT_S), "the second engine's answer")
        room.pod("one", queue)
        room.bound("one")
        poll(lambda: first.details()["bound"] == 1, Deadline.after(WAIT_S), "the first engine's own count")
        assert second.details()["bound"] == 0
        assert first.stop() == 0
        second.ready()
        room.pod("two", queue)
        room.bound("two")
        poll(lambda: second.details()["bound"] == 1, Deadline.after(WAIT_S), "the second engine's own count")
        assert second.stop() == 0


def test_once_decides_once_and_ends(live: Lab) -> None:
    with live.room() as room:
        queue = room.queue("q")
        room.pod("one", queue)
        assert live.start("--once").process.wait(timeout=WAIT_S) == 0
        assert room.nodes()["one"]
        room.pod("two", queue)
        assert room.nodes()["two"] == ""


def test_a_kubeconfig_that_points_nowhere_is_said_at_once(tmp_path: Path) -> None:
    missing = _engine("--kubeconfig", str(tmp_path / "none"))
    assert missing.returncode == 2
    assert "the kubeconfig cannot be read" in missing.stderr
    assert _engine("--kubeconfig", str(tmp_path / "none"), "--health-address", "nowhere").returncode == 2


def _engine(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "schedulers.engine", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).resolve().parents[2],
    )

"""The engine with the real CLI, provider and API server, through a driver program that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from base import processes
from base.deadlines import Deadline, poll
from base.errors import NotFound
from base.kube import Cluster, Kind
from base.kube.kinds import CONFIG_MAP, CRD, KAI_CONFIG, NAMESPACE, QUEUE, SCHEDULING_SHARD, SECRET
from base.places import REPOSITORY
from components.layout import Layout
from components.stackfile import lock_dir, read_locks, read_state
from tests.components import driver
from tests.components.apiserver import ApiServer, api_server

pytestmark = pytest.mark.integration

READY = {"type": "Ready", "status": "True", "reason": "test", "lastTransitionTime": "2026-01-01T00:00:00Z"}
PATIENCE = 120
KAI = ((KAI_CONFIG, "kai-config"), (SCHEDULING_SHARD, "default"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("control-plane")) as made:
        yield made


@pytest.fixture
def cluster(server: ApiServer) -> Iterator[Cluster]:
    with Cluster(server.kubeconfig) as made:
        yield made


@dataclass
class Stack:
    """One state directory on the shared cluster, and the driver on it."""

    state: Path
    server: ApiServer
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    sessions: list[processes.Process] = field(default_factory=list)

    @property
    def layout(self) -> Layout:
        return Layout(self.state, driver.STACK)

    def start(self, verb: str, **given: Any) -> subprocess.Popen[str]:
        arguments = {"state": str(self.state), "kubeconfig": str(self.server.kubeconfig), "uid": self.server.uid(), **given}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.components.driver", verb, json.dumps(arguments)],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def run(self, verb: str, expect: int = 0, **given: Any) -> Result:
        return finish(self.start(verb, **given), expect)

    def plain(self, verb: str, *flags: str, variant: str = "standard") -> subprocess.Popen[str]:
        """Plain ``pulumi`` on the same stack, with a program file of its own and the language host."""
        project = self.state / "plain"
        project.mkdir(exist_ok=True)
        (project / "Pulumi.yaml").write_text("name: chandlery\nruntime: python\n")
        arguments = f"Path({str(self.server.kubeconfig)!r}), {self.server.uid()!r}, {variant!r}"
        (project / "__main__.py").write_text(
            f"import sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
            "from pathlib import Path\nfrom components import entry\nfrom tests.components import driver\n"
            f"entry.run(lambda spec: driver.declaration({arguments}))\n"
        )
        environment = {**os.environ, **self.layout.environment(driver.tools())}
        command = ["pulumi", verb, "--non-interactive", "--stack", driver.STACK, "--config-file", str(self.layout.settings)]
        process = subprocess.Popen(
            [*command, *flags],
            cwd=project,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        self.sessions.append(processes.describe("pulumi", process.pid, command))
        return process

    def engine(self) -> processes.Process:
        """The recorded engine, once it runs."""
        return poll(lambda: processes.load(self.layout.engine_record), Deadline.after(PATIENCE), "start of the engine")


@dataclass
class Result:
    outcome: dict[str, Any]
    events: list[dict[str, Any]]
    error: str

    @property
    def changes(self) -> dict[str, int]:
        return {key: number for key, number in self.outcome["changes"].items() if number and key != "same"}

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == kind]


def finish(process: subprocess.Popen[str], expect: int) -> Result:
    out, err = process.communicate(timeout=PATIENCE)
    lines = err.splitlines()
    events = [json.loads(line) for line in lines if line.startswith("{")]
    error = "\n".join(line for line in lines if not line.startswith("{"))
    assert process.returncode == expect, f"exit {process.returncode}\n{out}\n{err}"
    return Result(json.loads(out) if out.strip() else {}, events, error)


@pytest.fixture
def stack(server: ApiServer, tmp_path: Path) -> Iterator[Stack]:
    made = Stack(tmp_path / "state", server)
    yield made
    # What a failed test leaves working would work on while the next one begins.
    for process in made.started:
        if process.returncode is None:
            process.kill()
            process.communicate()
    engine = processes.load(made.layout.engine_record)
    for each in (*made.sessions, *([engine] if engine else ())):
        processes.stop(each, grace=5)


@pytest.fixture
def waiting(stack: Stack, cluster: Cluster) -> subprocess.Popen[str]:
    """An up that has made everything but the queues, and waits for Config and shard to become ready, which nobody sees to."""
    unready(cluster)
    process = stack.start("up", variant="waiting")
    for kind, name in KAI:
        appear(cluster, kind, name)
    stack.engine()
    return process


def unready(cluster: Cluster) -> None:
    for kind, name in KAI:
        with contextlib.suppress(NotFound):
            cluster.delete(kind, name)


def appear(cluster: Cluster, kind: Kind, name: str) -> None:
    poll(lambda: cluster.find(kind, name), Deadline.after(PATIENCE), f"{kind.kind} {name}")


def make_ready(cluster: Cluster) -> None:
    """What KAI's operator would see to."""
    for kind, name in KAI:
        appear(cluster, kind, name)
        cluster.patch(kind, name, {"status": {"conditions": [READY]}}, subresource="status")


def test_up_again_destroy_and_up_over_the_leftovers(stack: Stack, cluster: Cluster) -> None:
    first = stack.run("up")
    assert first.changes == {"create": 22}
    assert first.outcome["outputs"]["queues"] == ["research", "vision"]
    assert first.outcome["outputs"]["clusterUid"] == stack.server.uid()
    before = {name: cluster.get(QUEUE, name)["metadata"] for name in ("research", "vision")}
    assert before["vision"]["labels"]["app.kubernetes.io/managed-by"] == "chandlery"
    assert {entry["manager"] for entry in before["vision"]["managedFields"]} == {"chandlery"}
    nothing_private_is_in_the_state(stack, cluster)

    assert stack.run("up").changes == {}
    plain = stack.plain("preview", "--expect-no-changes")
    out, err = plain.communicate(timeout=PATIENCE)
    assert plain.returncode == 0, out + err
    assert "22 unchanged" in out

    # The ConfigMap, the component that shows its digest, and a queue more.
    expected = {"update": 2, "create": 1}
    assert stack.run("preview", variant="changed").changes == expected
    assert cluster.find(QUEUE, "speech") is None
    assert stack.run("up", variant="changed").changes == expected
    assert cluster.get(CONFIG_MAP, "settings", "sched")["data"] == {"level": "2"}

    assert stack.run("refresh").changes == {}
    destroyed = stack.run("destroy")
    assert destroyed.changes == {"delete": 16, "released": 7}
    assert cluster.find(NAMESPACE, "sched") is None
    assert cluster.find(CRD, "queues.scheduling.run.ai") is not None

    again = stack.run("up")
    assert again.changes == {"create": 22}
    after = {name: cluster.get(QUEUE, name)["metadata"] for name in ("research", "vision")}
    assert {name: meta["uid"] for name, meta in after.items()} == {name: meta["uid"] for name, meta in before.items()}
    assert {name: meta["generation"] for name, meta in after.items()} == dict.fromkeys(before, 1), "queues are as they were"


def nothing_private_is_in_the_state(stack: Stack, cluster: Cluster) -> None:
    """Neither the cluster's credential, nor a Secret's content, nor a webhook's private key."""
    wanted = {
        "the credential": stack.server.token.encode(),
        "a secret": b"very-private-value",
        "a secret as the cluster holds it": cluster.get(SECRET, "token", "sched")["data"]["token"].encode(),
        "a key": cluster.get(SECRET, "hook-tls", "sched")["data"]["tls.key"].encode(),
    }
    files = [path for path in stack.state.rglob("*") if path.is_file() and path != stack.layout.passphrase]
    assert any(path.name == f"{driver.STACK}.json" for path in files)
    found = {what: [str(path) for path in files if text in path.read_bytes()] for what, text in wanted.items()}
    assert found == {what: [] for what in wanted}
    assert not stack.layout.scratch.exists(), "the provider's copy of the kubeconfig is gone"


def test_a_killed_engine_leaves_its_lock_and_the_next_up_goes_on(
    stack: Stack, cluster: Cluster, waiting: subprocess.Popen[str]
) -> None:
    engine = stack.engine()
    os.kill(engine.pid, signal.SIGKILL)
    assert "killed" in finish(waiting, 6).error
    assert not processes.session(engine), "its plugins do not notice, and would stay for good"
    assert [held.alive for held in read_locks(stack.layout.backend, driver.STACK)] == [False]
    make_ready(cluster)
    result = stack.run("up", variant="waiting")
    assert result.told("lock-cleared")
    assert result.outcome["outputs"]["queues"] == ["research", "vision"]
    assert read_locks(stack.layout.backend, driver.STACK) == ()
    assert not stack.layout.intended.exists()


def test_what_a_killed_run_had_made_is_taken_off_by_a_destroy(
    stack: Stack, cluster: Cluster, waiting: subprocess.Popen[str]
) -> None:
    os.kill(stack.engine().pid, signal.SIGKILL)
    finish(waiting, 6)
    assert cluster.find(CONFIG_MAP, "settings", "sched")
    result = stack.run("destroy")
    assert "Namespace sched" in {event["object"] for event in result.told("leftover-removed")}
    assert cluster.find(NAMESPACE, "sched") is None
    assert cluster.find(KAI_CONFIG, "kai-config") is None
    assert cluster.find(CRD, "queues.scheduling.run.ai"), "what is retained is so here too"
    assert not stack.layout.intended.exists()


def test_settings_that_outlived_their_state_are_made_anew(stack: Stack) -> None:
    stack.layout.project.mkdir(parents=True)
    stack.layout.settings.write_text("encryptionsalt: v1:IuhytGl3YPM=:v1:lb7EHvayFRWc7h4k:2P+ig+9E22aFT4oDsXCWKUZIiQ9Lbg==\n")
    stack.run("preview")
    assert read_state(stack.layout.backend, driver.STACK).exists


def test_plain_pulumi_that_was_killed_leaves_open_operations_and_the_next_up_goes_on(stack: Stack, cluster: Cluster) -> None:
    stack.run("preview")  # makes the stack
    unready(cluster)
    plain = stack.plain("up", "--yes", "--skip-preview", variant="waiting")
    for kind, name in KAI:
        appear(cluster, kind, name)
    plain.kill()
    plain.communicate()
    assert {op.operation for op in read_state(stack.layout.backend, driver.STACK).pending} == {"creating"}
    assert [held.alive for held in read_locks(stack.layout.backend, driver.STACK)] == [False]
    make_ready(cluster)
    result = stack.run("up", variant="waiting")
    assert result.told("lock-cleared")
    assert {event["operation"] for event in result.told("pending-operation")} == {"creating"}
    assert result.outcome["outputs"]["queues"] == ["research", "vision"]
    assert read_state(stack.layout.backend, driver.STACK).pending == ()


def test_when_we_are_killed_the_next_up_goes_on_at_once(stack: Stack, cluster: Cluster, waiting: subprocess.Popen[str]) -> None:
    engine = stack.engine()
    waiting.kill()
    waiting.communicate()
    make_ready(cluster)
    assert stack.run("up", variant="waiting").outcome["outputs"]["queues"] == ["research", "vision"]
    assert not processes.session(engine)


def test_an_interrupt_lets_the_engine_end_and_the_next_up_goes_on(
    stack: Stack, cluster: Cluster, waiting: subprocess.Popen[str]
) -> None:
    begun = time.monotonic()
    waiting.send_signal(signal.SIGINT)
    result = finish(waiting, 130)
    assert time.monotonic() - begun < 45, "nobody waits for what is waited for"
    assert result.told("interrupted")
    assert read_locks(stack.layout.backend, driver.STACK) == ()
    make_ready(cluster)
    assert stack.run("up", variant="waiting").outcome["outputs"]["queues"] == ["research", "vision"]


def test_a_second_run_at_the_same_time_is_refused_and_told_who_holds_the_stack(
    stack: Stack, cluster: Cluster, waiting: subprocess.Popen[str]
) -> None:
    for verb in ("up", "destroy"):
        refused = stack.run(verb, expect=4)
        assert "already going on" in refused.error
        assert f"process {waiting.pid}" in refused.error
    make_ready(cluster)
    assert finish(waiting, 0).outcome["changes"]["create"]


def test_plain_pulumi_that_works_on_the_stack_is_not_disturbed(stack: Stack) -> None:
    directory = lock_dir(stack.layout.backend, driver.STACK)
    directory.mkdir(parents=True)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    content = {"pid": os.getpid(), "username": "ann", "hostname": socket.gethostname(), "timestamp": now}
    (directory / "a-lock.json").write_text(json.dumps(content))
    refused = stack.run("up", expect=4)
    assert f"held by process {os.getpid()} (ann@" in refused.error
    assert (directory / "a-lock.json").exists()


def test_an_object_that_the_cluster_does_not_take_is_named_and_the_rest_goes_on_later(stack: Stack) -> None:
    failed = stack.run("up", expect=1, variant="broken")
    assert "Queue Not_A_Name" in failed.error
    assert "where:" in failed.error
    assert stack.run("up", variant="changed").changes


def test_a_kubeconfig_that_points_nowhere_is_found_before_anything_runs(stack: Stack, tmp_path: Path) -> None:
    uid = stack.server.uid()
    nowhere = tmp_path / "kubeconfig"
    nowhere.write_text(stack.server.kubeconfig.read_text().replace(f":{stack.server.port}", ":1"))
    failed = stack.run("up", expect=6, kubeconfig=str(nowhere), uid=uid)
    assert "does not answer" in failed.error
    assert not stack.layout.backend.exists()
    missing = stack.run("up", expect=2, kubeconfig=str(tmp_path / "none"), uid=uid)
    assert "kubeconfig cannot be read" in missing.error


def test_a_cluster_that_was_made_anew_is_recognised_and_taken_when_asked(stack: Stack) -> None:
    stack.run("up")
    former = stack.server.uid()
    stack.server.reset()
    refused = stack.run("up", expect=4)
    assert "was made anew" in refused.error
    assert former in refused.error
    assert stack.server.uid() in refused.error
    assert stack.run("destroy", expect=4).error
    result = stack.run("up", replaceCluster=True)
    assert result.changes == {"create": 22}
    assert Path(result.told("cluster-replaced")[0]["copy"]).exists()

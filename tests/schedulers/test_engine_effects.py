"""Carrying decisions out against a server that fails in every way it can. No real one: what matters is the order of calls."""

# ruff: noqa: ARG002 - the stand-in takes what the real client takes

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest

from base.deadlines import Deadline, poll
from base.errors import ChandleryError, NotFound, Unavailable
from base.events import QuietReporter
from base.kube import Cluster, Kind, Object, Refusal
from base.kube.kinds import BIND_REQUEST, POD
from schedulers.engine.effects import Effects, bind_request
from schedulers.engine.store import Store
from schedulers.policy import Eviction


class Server:
    """Stands where the API server stands; ``failures`` maps a call to what it raises, once or for ever."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: list[str] = []
        self.events: list[Object] = []
        self.failures: dict[str, ChandleryError] = {}

    def _call(self, call: str) -> None:
        with self.lock:
            self.calls.append(call)
        if call in self.failures:
            raise self.failures[call]

    def apply(self, kind: Kind, obj: Object, *, manager: str) -> Object:
        assert manager == "kai-reference"
        self._call(f"request {obj['metadata']['name']}")
        return {**obj, "metadata": {**obj["metadata"], "uid": "u", "resourceVersion": "1"}}

    def bind(self, namespace: str, pod: str, node: str, *, uid: str) -> None:
        assert (namespace, uid) == ("ns", f"uid-{pod}")
        self._call(f"bind {pod} {node}")

    def delete(self, kind: Kind, name: str, namespace: str, *, uid: str | None = None) -> bool:
        self._call(f"delete {kind.kind} {name}")
        return True

    def create(self, kind: Kind, obj: Object) -> Object:
        with self.lock:
            self.events.append(obj)
        return obj

    def patch(self, kind: Kind, name: str, patch: Mapping[str, Any], namespace: str, *, subresource: str, how: str) -> Object:
        self._call(f"patch {name}/{subresource}")
        return {"metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "2"}}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def effects(server: Server) -> Iterator[Effects]:
    cluster = cast(Cluster, server)
    made = Effects(cluster, Store(cluster, QuietReporter()), QuietReporter(), "test")
    yield made
    made.close()


def pod(name: str, **more: Any) -> Object:
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "resourceVersion": "1", **more}
    return {"metadata": meta, "spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "2"}}}]}}


def settle(effects: Effects) -> None:
    poll(effects.idle, Deadline.after(10), "the effects")


def bind(effects: Effects, *names: str) -> list[Object]:
    pods = [pod(name) for name in names]
    effects.bind([(p, "node") for p in pods], "default")
    settle(effects)
    return pods


def test_a_bind_request_is_written_before_the_binding_and_deleted_after_it(effects: Effects, server: Server) -> None:
    pods = bind(effects, "a")
    assert server.calls == ["request a", "bind a node", "delete BindRequest a"]
    assert [e["reason"] for e in server.events] == ["Scheduled"]
    assert effects.underway(pods).binding == {"uid-a": "node"}, "until the watch shows it"


def test_all_requests_of_a_gang_are_written_before_its_first_binding(effects: Effects, server: Server) -> None:
    bind(effects, "a", "b", "c")
    assert {call.split()[0] for call in server.calls[:3]} == {"request"}
    assert sum(call.startswith("bind") for call in server.calls[3:]) == 3


def test_nothing_of_a_gang_is_bound_when_one_request_cannot_be_written(effects: Effects, server: Server) -> None:
    server.failures["request b"] = Unavailable("gone")
    pods = bind(effects, "a", "b", "c")
    assert not any(call.startswith("bind") for call in server.calls)
    assert effects.underway(pods).binding == {}


@pytest.mark.parametrize("error", [Refusal(422, "Invalid", "no"), NotFound("gone"), Unavailable("down")])
def test_a_binding_that_fails_is_taken_back(effects: Effects, server: Server, error: ChandleryError) -> None:
    server.failures["bind a node"] = error
    pods = bind(effects, "a")
    assert server.calls[-1] == "delete BindRequest a"
    assert effects.underway(pods).binding == {}
    assert effects.bound == 0
    assert [e["reason"] for e in server.events] == ([] if isinstance(error, Unavailable) else ["FailedBinding"])


def test_a_pod_that_was_bound_before_is_not_bound_again_nor_complained_about(effects: Effects, server: Server) -> None:
    server.failures["bind a node"] = Refusal(409, "Conflict", "already assigned to node other")
    bind(effects, "a")
    assert server.events == []


def test_what_the_watch_shows_is_no_longer_underway(effects: Effects) -> None:
    pods = bind(effects, "a", "b")
    pods[0]["spec"]["nodeName"] = "node"
    assert effects.underway(pods).binding == {"uid-b": "node"}
    assert effects.underway([]).binding == {}


def evict(effects: Effects) -> Object:
    victim = pod("v")
    group = {"metadata": {"name": "pg", "namespace": "ns", "uid": "uid-pg"}}
    effects.evict(victim, group, Eviction("uid-v", "ns/pg", "reclaim", "other/winner", 3, "because"))
    settle(effects)
    return victim


def test_a_victim_is_deleted_and_its_group_told(effects: Effects, server: Server) -> None:
    victim = evict(effects)
    assert server.calls == ["delete Pod v"]
    (event,) = server.events
    assert (event["reason"], event["message"], event["involvedObject"]["kind"]) == ("Evict", "because", "PodGroup")
    assert event["metadata"]["annotations"] == {
        "num-evicted-pods": "3",
        "evictor-action-type": "reclaim",
        "evictor-pod-group-name": "winner",
        "evictor-pod-group-namespace": "other",
    }
    assert effects.underway([victim]).evicted == {"uid-v"}
    victim["metadata"]["deletionTimestamp"] = "now"
    assert effects.underway([victim]).evicted == frozenset()


@pytest.mark.parametrize("error", [Unavailable("down"), Refusal(403, "Forbidden", "no")])
def test_a_victim_that_could_not_be_deleted_is_no_victim(effects: Effects, server: Server, error: ChandleryError) -> None:
    server.failures["delete Pod v"] = error
    victim = evict(effects)
    assert effects.underway([victim]).evicted == frozenset()
    assert server.events == []


def test_the_same_thing_is_not_said_twice_in_a_row(effects: Effects, server: Server) -> None:
    for message in ("full", "full", "fuller", "full"):
        effects.event(pod("a"), POD, "Warning", "Unschedulable", message)
    settle(effects)
    assert sorted(e["message"] for e in server.events) == ["full", "full", "fuller"]
    assert not effects.unsaid(pod("a"), "Unschedulable", "full")


def test_one_failed_write_does_not_stop_the_others(effects: Effects, server: Server) -> None:
    server.failures["patch a/status"] = Refusal(500, "InternalError", "oops")
    effects.patch_status(POD, pod("a"), {})
    effects.patch_status(POD, pod("b"), {})
    settle(effects)
    assert sorted(server.calls) == ["patch a/status", "patch b/status"]


def request_of(name: str, node: str, uid: str) -> Object:
    made = bind_request(pod(name), node)
    made["metadata"] |= {"uid": "request", "resourceVersion": "1"}
    made["metadata"]["ownerReferences"][0]["uid"] = uid
    return made


def test_a_left_request_is_carried_out_for_the_very_pod_it_was_made_for(effects: Effects, server: Server) -> None:
    effects.resume(request_of("a", "node", "uid-a"), pod("a"))
    settle(effects)
    assert server.calls == ["bind a node", "delete BindRequest a"]


@pytest.mark.parametrize(
    ("uid", "present"),
    [("uid-older", pod("a")), ("uid-a", None), ("uid-a", pod("a", deletionTimestamp="now"))],
    ids=["another-pod-has-the-name", "no-pod", "pod-is-going"],
)
def test_a_left_request_without_its_pod_is_cleared(effects: Effects, server: Server, uid: str, present: Object | None) -> None:
    effects.resume(request_of("a", "node", uid), present)
    settle(effects)
    assert server.calls == ["delete BindRequest a"]


def test_a_request_counts_gpus() -> None:
    assert bind_request(pod("a"), "node")["spec"] == {
        "podName": "a",
        "selectedNode": "node",
        "receivedResourceType": "Regular",
        "receivedGPU": {"count": 2, "portion": "1"},
    }
    assert BIND_REQUEST.kind == bind_request(pod("a"), "node")["kind"]

"""The client against a small HTTP server on loopback that answers what an API server may answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from base.deadlines import Deadline
from base.errors import DeadlineExceeded, InvalidInput, NotFound, Unavailable
from base.kube import Cluster, Refusal, kinds, wait_for, watch

Answer = tuple[int, Any]


class Server:
    """``answers`` is asked for each request; it returns (status, body) or a list of watch lines."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.answers: Callable[[str, str], Answer] = lambda _method, _path: (200, {})
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: Any) -> None:
                del args

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                outer.requests.append((self.command, self.path, body))
                status, value = outer.answers(self.command, self.path)
                lines = value if isinstance(value, list) else [value]
                raw = "".join(json.dumps(line) + "\n" for line in lines).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


def _kubeconfig(path: Path, port: int) -> Path:
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    return path


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def cluster(server: Server, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(_kubeconfig(tmp_path / "kubeconfig", server.http.server_port)) as cluster:
        yield cluster


def _status(code: int, reason: str) -> Answer:
    return code, {"kind": "Status", "reason": reason, "message": f"{reason}!", "code": code}


def _queue(name: str, version: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": version}}


def test_404_is_not_found_and_find_makes_it_none(server: Server, cluster: Cluster) -> None:
    server.answers = lambda _m, _p: _status(404, "NotFound")
    with pytest.raises(NotFound, match="NotFound!"):
        cluster.get(kinds.QUEUE, "q")
    assert cluster.find(kinds.QUEUE, "q") is None
    assert cluster.delete(kinds.QUEUE, "q") is False


def test_a_refusal_carries_status_and_reason(server: Server, cluster: Cluster) -> None:
    server.answers = lambda _m, _p: _status(409, "AlreadyExists")
    with pytest.raises(Refusal) as caught:
        cluster.create(kinds.QUEUE, {"metadata": {"name": "q"}})
    assert (caught.value.status, caught.value.reason) == (409, "AlreadyExists")


def test_busy_and_broken_answers_are_tried_again(server: Server, cluster: Cluster) -> None:
    answers = iter([_status(429, "TooManyRequests"), _status(500, "InternalError"), (200, _queue("q", "1"))])
    server.answers = lambda _m, _p: next(answers)
    assert cluster.get(kinds.QUEUE, "q")["metadata"]["name"] == "q"
    assert len(server.requests) == 3


def test_a_create_is_never_sent_twice_after_a_broken_answer(server: Server, cluster: Cluster) -> None:
    server.answers = lambda _m, _p: _status(500, "InternalError")
    with pytest.raises(Refusal):
        cluster.create(kinds.QUEUE, {"metadata": {"name": "q"}})
    assert len(server.requests) == 1


def test_a_kubeconfig_that_points_nowhere_is_unavailable(tmp_path: Path) -> None:
    with Cluster(_kubeconfig(tmp_path / "k", 1)) as cluster, pytest.raises(Unavailable, match="does not answer") as caught:
        cluster.version()
    assert "http://127.0.0.1:1" in str(caught.value)


@pytest.mark.parametrize("content", ["", "a: [", "[]", "clusters: 3", '{"contexts": []}'])
def test_a_kubeconfig_that_is_none_is_invalid_input(tmp_path: Path, content: str) -> None:
    (tmp_path / "k").write_text(content)
    with pytest.raises(InvalidInput):
        Cluster(tmp_path / "k")
    with pytest.raises(InvalidInput):
        Cluster(tmp_path / "absent")


def test_a_list_follows_its_pages_and_names_kind_and_version(server: Server, cluster: Cluster) -> None:
    def answers(_method: str, path: str) -> Answer:
        if "continue=next" in path:
            return 200, {"metadata": {"resourceVersion": "9"}, "items": [_queue("b", "2")]}
        return 200, {"metadata": {"resourceVersion": "9", "continue": "next"}, "items": [_queue("a", "1")]}

    server.answers = answers
    items, version = cluster.list(kinds.QUEUE)
    assert [item["metadata"]["name"] for item in items] == ["a", "b"]
    assert {item["kind"] for item in items} == {"Queue"}
    assert version == "9"


def test_a_watch_that_expired_lists_again_and_reports_what_it_missed(server: Server, cluster: Cluster) -> None:
    lists = iter(
        [
            {"metadata": {"resourceVersion": "5"}, "items": [_queue("kept", "1"), _queue("lost", "2")]},
            {"metadata": {"resourceVersion": "9"}, "items": [_queue("kept", "8"), _queue("new", "9")]},
        ]
    )

    def answers(_method: str, path: str) -> Answer:
        if "watch=1" not in path:
            return 200, next(lists)
        if "resourceVersion=5" in path:
            return 200, [{"type": "ERROR", "object": {"code": 410, "message": "too old"}}]
        time.sleep(0.2)
        return 200, []

    server.answers = answers
    seen = []
    for change in watch(cluster, kinds.QUEUE, Deadline.after(5)):
        seen.append("listed" if change is None else f"{change.type} {change.object['metadata']['name']}")
        if seen.count("listed") == 2:
            break
    assert seen == ["ADDED kept", "ADDED lost", "listed", "DELETED lost", "MODIFIED kept", "ADDED new", "listed"]


def test_a_wait_ends_at_its_deadline_even_when_the_server_says_nothing(server: Server, cluster: Cluster) -> None:
    def answers(_method: str, path: str) -> Answer:
        if "watch=1" in path:
            time.sleep(0.5)
            return 200, []
        return 200, {"metadata": {"resourceVersion": "5"}, "items": []}

    server.answers = answers
    before = time.monotonic()
    with pytest.raises(DeadlineExceeded, match="queue to appear"):
        wait_for(cluster, kinds.QUEUE, lambda live: live.get("q"), Deadline.after(0.3), "queue to appear")
    assert time.monotonic() - before < 3


def test_a_watch_that_is_forbidden_fails_at_once(server: Server, cluster: Cluster) -> None:
    server.answers = lambda _m, _p: _status(403, "Forbidden")
    with pytest.raises(Refusal):
        next(watch(cluster, kinds.QUEUE, Deadline.after(5)))

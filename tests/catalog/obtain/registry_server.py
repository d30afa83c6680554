"""A registry on loopback that serves one chart and can be told to misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from catalog.obtain.archive import sha256

CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
TOKEN = "anonymous-token"


@dataclass
class FakeRegistry:
    """``wants_token`` asks for the anonymous token dance; ``status`` answers everything so; ``truncate`` cuts blobs."""

    archive: bytes
    wants_token: bool = True
    status: int = 0
    truncate: int = 0
    layers: list[dict[str, Any]] | None = None
    serves: bytes | None = None
    requests: list[str] = field(default_factory=list)
    address: str = ""

    @property
    def repository(self) -> str:
        return f"{self.address}/charts/demo"

    @property
    def manifest(self) -> bytes:
        layer = {"mediaType": CHART, "digest": sha256(self.archive), "size": len(self.archive)}
        return json.dumps({"schemaVersion": 2, "layers": [layer] if self.layers is None else self.layers}).encode()

    def answer(self, path: str, token: str) -> tuple[int, dict[str, str], bytes]:
        self.requests.append(path)
        if path.startswith("/token"):
            return 200, {}, json.dumps({"token": TOKEN}).encode()
        if self.status:
            return self.status, {}, b""
        if self.wants_token and token != f"Bearer {TOKEN}":
            challenge = f'Bearer realm="http://{self.address}/token",service="demo",scope="repository:charts/demo:pull"'
            return 401, {"WWW-Authenticate": challenge}, b""
        if path.startswith("/v2/charts/demo/manifests/"):
            known = path.rpartition("/")[2] in ("v1.0.0", sha256(self.manifest))
            return (200, {}, self.manifest) if known else (404, {}, b"")
        if path == f"/v2/charts/demo/blobs/{sha256(self.archive)}":
            data = self.archive if self.serves is None else self.serves
            return 200, {}, data[: len(data) - self.truncate]
        return 404, {}, b""


@contextmanager
def serving(registry: FakeRegistry) -> Iterator[FakeRegistry]:
    """Serve until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = registry.answer(self.path, self.headers.get("Authorization", ""))
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    registry.address = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

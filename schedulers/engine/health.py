"""Liveness and readiness over HTTP, on a loopback address."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from base.errors import InvalidInput, Unavailable

#: ``/healthz`` and ``/readyz`` answer 200 when their entry is empty, 503 with the reason otherwise.
State = Callable[[], Mapping[str, str]]


class Health:
    """Serves until closed. ``/statusz`` shows ``details`` as JSON."""

    def __init__(self, address: str, state: State, details: Callable[[], Mapping[str, Any]]) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise InvalidInput(f"{address!r} is no HOST:PORT", todo="give a loopback address, such as 127.0.0.1:8080")

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/statusz":
                    self._answer(200, json.dumps(details(), default=str))
                elif path in ("/healthz", "/readyz"):
                    problem = state()[path]
                    self._answer(503 if problem else 200, problem or "ok")
                else:
                    self._answer(404, "not here")

            def _answer(self, code: int, text: str) -> None:
                body = f"{text}\n".encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                del format, args

        try:
            self._server = ThreadingHTTPServer((host, int(port)), Handler)
        except OSError as error:
            raise Unavailable(f"cannot listen on {address}: {error.strerror}", todo="choose another --health-address") from error
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

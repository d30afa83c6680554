"""A small real program for pods of tests: says who it is to the API server, serves HTTP or HTTPS, is a webhook.

program.py serve PORT [--certs DIRECTORY] [ANYTHING...]
program.py exit CODE
"""

import http.server
import json
import os
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


def ask_api(path: str, body: Any = None) -> tuple[int, Any]:
    """One request to the API server with the pod's own credential."""
    config = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    import base64

    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    token = Path(user["tokenFile"]).read_text()
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(cluster["server"] + path, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, context=context, timeout=5) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, None


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/whoami":
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            _, found = ask_api("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
            self._answer({"user": found["status"]["userInfo"]})
        elif self.path.startswith("/api"):
            self._answer({"status": ask_api(self.path)[0]})
        else:
            self._answer({"pid": os.getpid(), "env": dict(os.environ), "args": sys.argv[1:], "cwd": str(Path.cwd())})

    def do_POST(self) -> None:
        """An admission webhook that refuses whatever is called ``forbidden``."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        allowed = review["request"]["name"] != "forbidden"
        response = {"uid": review["request"]["uid"], "allowed": allowed, "status": {"message": "the real program says no"}}
        self._answer({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})

    def _answer(self, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        print(format % args, flush=True)


def main() -> None:
    if sys.argv[1] == "exit":
        sys.exit(int(sys.argv[2]))
    print(f"temporary files go to {tempfile.gettempdir()}", flush=True)
    server = http.server.ThreadingHTTPServer(("", int(sys.argv[2])), Handler)
    if sys.argv[3:4] == ["--certs"]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Path(sys.argv[4]) / "tls.crt", Path(sys.argv[4]) / "tls.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()

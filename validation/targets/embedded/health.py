"""Is it there yet? Asked of the programs themselves, with a client certificate where they serve TLS."""

from __future__ import annotations

import http.client
import os
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from validation.targets.embedded.control_plane import EGRESS_SOCKET
from validation.targets.embedded.layout import Layout
from validation.targets.embedded.pki import pair


def api_answers(layout: Layout, port: int, path: str = "/readyz", *, timeout: float = 3.0) -> bool:
    """True when the API server says 200 on ``path`` to this cluster's own client certificate."""
    return _get(port, path, ca=layout.pki / "ca.crt", client=layout.pki / "bootstrap", timeout=timeout) == 200


def etcd_answers(layout: Layout, port: int, *, timeout: float = 3.0) -> bool:
    """True when etcd calls itself healthy (it has a leader and can write)."""
    return _get(port, "/health", ca=layout.pki / "etcd-ca.crt", client=layout.pki / "etcd-client", timeout=timeout) == 200


def agent_answers(layout: Layout) -> bool:
    """True when the host agent takes connections on its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, short_path(layout.directory) as directory:
        probe.settimeout(1.0)
        try:
            probe.connect(f"{directory}/{EGRESS_SOCKET}")
        except OSError:
            return False
        return True


@contextmanager
def short_path(directory: Path) -> Iterator[str]:
    """A short name of a directory for the length of the block: socket paths may have 108 bytes only."""
    try:
        handle = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    except FileNotFoundError:
        yield str(directory)
        return
    try:
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def _get(port: int, path: str, *, ca: Path, client: Path, timeout: float) -> int:
    """HTTP status, or 0 where nobody answers as asked."""
    try:
        context = ssl.create_default_context(cafile=str(ca))
        own = pair(client.parent, client.name)
        context.load_cert_chain(own.certificate, own.key)
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=context)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return 0

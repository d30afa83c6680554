"""Kubeconfig files with the credential inside, so that one file is all that a client needs."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from base.files import write_atomic
from validation.targets.embedded.layout import Layout
from validation.targets.embedded.pki import CLIENTS, pair


def render(cluster: str, server: str, ca: bytes, user: dict[str, str], *, namespace: str = "default") -> str:
    """A kubeconfig with one context. JSON is YAML; every client reads it. Pure."""
    context = {"cluster": cluster, "user": cluster, "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": _base64(ca)}}],
        "users": [{"name": cluster, "user": user}],
        "contexts": [{"name": cluster, "context": context}],
        "current-context": cluster,
    }
    return json.dumps(config, indent=2) + "\n"


def write_all(layout: Layout, server: str) -> None:
    """The kubeconfig of every client of :data:`pki.CLIENTS`; the admin's goes to its own well-known place."""
    ca = (layout.pki / "ca.crt").read_bytes()
    for name in CLIENTS:
        own = pair(layout.pki, name)
        user = {
            "client-certificate-data": _base64(own.certificate_pem),
            "client-key-data": _base64(own.key_pem),
        }
        path = layout.kubeconfig if name == "admin" else layout.component_kubeconfig(name)
        write_if_new(path, render(layout.name, server, ca, user), mode=0o600)


def write_if_new(path: Path, content: str, *, mode: int = 0o644) -> None:
    """Write, unless that very content is there already (a new file means a restart of whoever reads it)."""
    try:
        if path.read_text() == content:
            return
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    write_atomic(path, content, mode=mode)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()

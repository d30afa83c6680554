"""Pods to test with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from validation.targets.embedded.hostagent.environment import Place


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "web-5f7-x",
            "namespace": "ns",
            "uid": "u-1",
            "labels": {"app": "web", "pod-template-hash": "5f7"},
            "annotations": {"note": "n"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5f7", "controller": True}],
        },
        "spec": {"containers": [{"name": "main", "image": "i"}], "serviceAccountName": "robot", **spec},
    }


def place(root: Path = Path("/root-of-pod"), **volumes: Path) -> Place:
    return Place("127.128.0.16", "198.18.0.1", "host", root, volumes)

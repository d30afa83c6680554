"""Which workload a pod stands for."""

from __future__ import annotations

from typing import Any

import pytest

from validation.targets.embedded.hostagent.workload import workloads


def _pod(kind: str, name: str, *, controller: bool = True, **labels: str) -> dict[str, Any]:
    owner = {"kind": kind, "name": name, "controller": controller}
    return {"metadata": {"name": "p", "namespace": "ns", "labels": labels, "ownerReferences": [owner]}}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (_pod("ReplicaSet", "web-5f7", **{"pod-template-hash": "5f7"}), ("ns/web",)),
        (_pod("ReplicaSet", "web-5f7"), ("ns/web-5f7",)),
        (_pod("ReplicaSet", "a-b-5f7", **{"pod-template-hash": "b-5f7"}), ("ns/a",)),
        (_pod("StatefulSet", "db"), ("ns/db",)),
        (_pod("DaemonSet", "agent"), ("ns/agent",)),
        (_pod("Job", "migrate"), ("ns/migrate",)),
        (_pod("Job", "sweep-29012345"), ("ns/sweep-29012345", "ns/sweep")),
        (_pod("Job", "sweep-1"), ("ns/sweep-1",)),
        (_pod("ReplicaSet", "web-5f7", controller=False, **{"pod-template-hash": "5f7"}), ("ns/p",)),
        ({"metadata": {"name": "bare", "namespace": "ns"}}, ("ns/bare",)),
    ],
)
def test_a_pod_counts_as_what_controls_it(pod: dict[str, Any], expected: tuple[str, ...]) -> None:
    assert workloads(pod) == expected

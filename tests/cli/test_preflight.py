"""What would fail on the cluster is refused before anything is touched."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

import cli.session
from base.errors import Refused
from catalog.package.packager import Rendered
from cli.session import preflight
from tests.catalog.package.made import Object, node, obj, workload
from tests.catalog.synthetic import facts

NODES: list[Object] = []


class FakeCluster:
    """A cluster that has nothing but nodes."""

    def __init__(self, kubeconfig: Path, *, context: str | None) -> None:
        assert (kubeconfig, context) == (Path("kubeconfig"), None)

    def __enter__(self) -> FakeCluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def list(self, kind: Any) -> tuple[list[Object], str]:
        assert kind.kind == "Node"
        return NODES, "1"


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> list[Object]:
    monkeypatch.setattr(cli.session, "Cluster", FakeCluster)
    NODES[:] = [node("gpu", taints=("gpu:NoSchedule",))]
    return NODES


def rendered(addon: str, *objects: Object) -> dict[str, Rendered]:
    return {addon: Rendered(addon, "1.0.0", (), objects, (), (), "", "")}


def test_a_pod_that_no_node_takes_is_refused_and_one_node_is_enough(cluster: list[Object]) -> None:
    with pytest.raises(Refused, match=r"demo: Deployment demo/x: no node of 1 would take it"):
        preflight(facts("cluster"), rendered("demo", workload()))
    cluster.append(node("plain"))
    preflight(facts("cluster"), rendered("demo", workload()))


def test_the_embedded_targets_host_takes_every_pod() -> None:
    preflight(facts("embedded"), rendered("demo", workload()))


@pytest.mark.parametrize("target", ["embedded", "cluster"])
def test_an_object_of_two_addons_is_refused_everywhere(target: str) -> None:
    role = obj("ClusterRole", "x", "", "rbac.authorization.k8s.io/v1")
    with pytest.raises(Refused, match="ClusterRole x is made by one and two"):
        preflight(facts(target), {**rendered("one", role), **rendered("two", dict(role))})

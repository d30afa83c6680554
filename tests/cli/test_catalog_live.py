"""What a real API server shows of its nodes decides which version may go onto the cluster, and is kept with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.kube import Cluster
from base.kube.kinds import NODE
from catalog.records import load_facts
from cli.__main__ import main
from tests.components.apiserver import api_server

pytestmark = pytest.mark.integration

LABELS = {
    "nvidia.com/cuda.driver-version.full": "520.61.05",
    "nvidia.com/cuda.runtime-version.full": "11.8",
    "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB",
    "feature.node.kubernetes.io/system-os_release.ID": "ubuntu",
}
INFO = {
    "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.8.0-52-generic", "osImage": "Ubuntu 24.04.1 LTS",
    "containerRuntimeVersion": "containerd://2.1.4", "kubeletVersion": "v1.36.3", "kubeProxyVersion": "",
    "operatingSystem": "linux", "architecture": "amd64",
}  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with api_server(tmp_path_factory.mktemp("apiserver")) as server, Cluster(server.kubeconfig) as cluster:
        node = cluster.create(NODE, {"metadata": {"name": "gpu-1", "labels": LABELS}})
        cluster.replace(NODE, {**node, "status": {"nodeInfo": INFO}}, subresource="status")
        yield cluster


def write(cluster: Cluster, folder: Path, more: str = "") -> Path:
    target = f"{{kind: cluster, kubeconfig: {cluster.kubeconfig}}}"
    spec = folder / "spec.yaml"
    spec.write_text(f"cluster: live\nchannel: edge\ntarget: {target}\nscheduler: kai-scheduler\n{more}")
    return spec


def test_a_driver_that_its_nodes_show_is_a_reason(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["--json", "--state", str(tmp_path / "state"), "catalog", "why-not", "gpu-operator", "26.7.1", "-c"]
    assert main([*command, str(write(cluster, tmp_path))]) == 4
    reasons = json.loads(capsys.readouterr().out)["reasons"]
    assert [reason["code"] for reason in reasons] == ["constraint"]
    assert "needs driver >=535, this cluster has 520.61.05 (say its nodes)" in reasons[0]["text"]


def test_what_is_stated_against_its_nodes_is_refused_with_both(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write(cluster, tmp_path, 'facts: {driver: "580"}\n')
    for words in (["plan", "--scheduler", "kai-scheduler", "-c"], ["catalog", "why-not", "gpu-operator", "26.7.1", "-c"]):
        assert main(["--state", str(tmp_path / "state"), *words, str(spec)]) == 2
        said = capsys.readouterr().err
        assert "spec.yaml:5:1: facts.driver: the spec states 580, nodes of the cluster have 520.61.05" in said


def test_what_was_seen_is_kept_with_the_cluster_and_the_plan_says_what_could_not_be_checked(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = write(cluster, tmp_path, "addons: {slurm-operator: {version: 1.2.1}}\n")
    state = tmp_path / "state"
    command = ["--state", str(state), "plan", "--scheduler", "kai-scheduler", "-c", str(spec)]
    assert main(command) == 0
    assert "slurm-operator 1.2.1: not checked: cgroup (unknown), needed: cgroup v2" in capsys.readouterr().out
    facts = load_facts(state / "clusters" / "live")
    assert facts.nodes["driver"] == ("520.61.05",)
    assert facts.nodes["containerd"] == ("2.1.4",)
    assert facts.kubernetes == "1.36"

"""The catalogue seen from the command line: what there is, and why a version may not go somewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from catalog.read.load import load
from catalog.read.schema import FILES
from cli.__main__ import main

Run = Callable[..., tuple[int, str, str]]

CLUSTER = """\
cluster: demo
channel: edge
target: {kind: embedded, kubernetes: "1.36"}
scheduler: kai-reference
addons: {slurm-operator: {version: 1.0.0}}
nodePools: [{name: default, count: 2}]
"""


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "spec.yaml").write_text(CLUSTER)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(["--state", str(tmp_path / "state"), *(w.replace("SPEC", str(tmp_path / "spec.yaml")) for w in words)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return code, said.out, said.err

    return call


def test_show_lists_every_addon_with_its_pins_and_channels(run: Run) -> None:
    code, out, _ = run("catalog", "show")
    assert code == 0
    lines = out.splitlines()
    for name, addon in load().addons.items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert addon.role in line
    data = json.loads(run("--json", "catalog", "show")[1])
    assert set(data) == set(load().addons)
    assert data["slurm-operator-crds"]["channels"]["stable"]


def test_versions_tell_what_is_declared_apart_from_what_was_tested(run: Run) -> None:
    code, out, _ = run("catalog", "versions", "slurm-operator")
    assert code == 0
    assert "declared: Kubernetes 1.29 and newer (kubeVersion of the chart" in out
    assert "  tested: nothing yet" in out
    assert "  requires slurm-operator-crds 1.0.0: " in out
    assert "  guard crds.enabled: " in out
    assert "known issue pod-binding-webhook: " in out
    assert len(json.loads(run("--json", "catalog", "versions", "slurm-operator")[1])) == len(load().names("slurm-operator"))
    assert run("catalog", "versions", "slurm-opertor")[0] == 3


def test_a_version_that_may_go_onto_a_cluster_is_a_yes(run: Run) -> None:
    code, out, _ = run("catalog", "why-not", "slurm-operator", "1.0.0", "-c", "SPEC")
    assert code == 0
    assert out.startswith("yes: slurm-operator 1.0.0 may go onto cluster demo\nother add-ons: nothing changes for them\n")
    assert "not applicable: cgroup v2 (no kubelet" in out


def test_a_version_that_may_not_is_a_no_with_its_reason_and_what_would_have_to_change(run: Run) -> None:
    code, out, _ = run("catalog", "why-not", "gpu-operator", "26.7.1", "-c", "SPEC")
    assert code == 4
    assert "no: gpu-operator 26.7.1 may not go onto cluster demo" in out
    assert "  - may be installed on cluster only, this is embedded" in out
    assert "what would have to change: " in out
    code, out, _ = run("--json", "catalog", "why-not", "gpu-operator", "26.7.1", "-c", "SPEC")
    data = json.loads(out)
    assert (code, data["may"]) == (4, False)
    assert "target" in [reason["code"] for reason in data["reasons"]]


def test_a_version_that_is_not_there_is_not_found(run: Run) -> None:
    code, _, err = run("catalog", "why-not", "slurm-operator", "1.2.2")
    assert code == 3
    assert "did you mean 1.2.1" in err
    assert run("catalog", "why-not", "slurm", "1.2.1", "-c", "SPEC")[0] == 3


def test_asking_leaves_nothing_behind(run: Run, tmp_path: Path) -> None:
    run("catalog", "why-not", "slurm-operator", "1.0.0", "-c", "SPEC")
    assert not (tmp_path / "state").exists()


def test_a_cluster_that_cannot_be_reached_is_judged_by_what_its_spec_states(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        "users: [{name: u, user: {token: t}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
    )
    (tmp_path / "spec.yaml").write_text(
        CLUSTER.replace('{kind: embedded, kubernetes: "1.36"}', "{kind: cluster, kubeconfig: kubeconfig}").replace(
            "scheduler: kai-reference", "facts: {cgroup: v1}"
        )
    )
    code, out, err = run("catalog", "why-not", "slurm-operator", "1.2.1", "-c", "SPEC")
    assert code == 4
    assert "only what its spec states is known" in err
    assert "needs cgroup v2, this cluster has v1 (says its spec)" in out
    assert "not checked: kubernetes (unknown)" in out


def test_schemas_are_printed_or_written(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("catalog", "schema", "edge")
    assert code == 0
    assert json.loads(out)["properties"]["edges"]["items"]["required"][0] == "from"
    code, out, _ = run("catalog", "schema", "-o", str(tmp_path / "schemas"))
    assert code == 0
    assert {path.name for path in (tmp_path / "schemas").iterdir()} == {f"{kind}.schema.json" for kind in FILES}
    assert run("catalog", "schema", "adon")[0] == 3
    assert run("catalog", "schema")[0] == 2

"""What a user can get wrong, seen from the command line: the exit code, the place, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.__main__ import main

GOOD = """\
cluster: demo
channel: edge
target: {kind: embedded, kubernetes: "1.36"}
scheduler: kai-reference
addons:
  cert-manager:
nodePools:
  - {name: default, count: 2, gpusPerNode: 8}
tenancy:
  departments:
    - name: research
      quotas: {default: {gpu: {deserved: 8, limit: 16, overQuotaWeight: 1}}}
      projects:
        - name: vision
          quotas: {default: {gpu: {deserved: 4, limit: 8, overQuotaWeight: 1}}}
"""


class Said:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    """Run ``chandlery plan`` on the good spec with one thing changed."""

    def run(old: str, new: str, *more: str) -> Said:
        assert old in GOOD
        spec = tmp_path / "spec.yaml"
        spec.write_text(GOOD.replace(old, new, 1))
        code = main(["--state", str(tmp_path / "state"), *more, "plan", "-c", str(spec)])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Said(code, said.out, said.err)

    return run


def test_the_good_spec_is_planned_before_there_is_a_cluster(plan, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    said = plan("demo", "demo", "--json")
    assert said.code == 0
    plan_made = json.loads(said.out)
    assert [item["addon"] for item in plan_made["items"]] == ["cert-manager", "kai-reference"]
    assert [queue["metadata"]["name"] for queue in plan_made["queues"]] == ["research", "vision"]
    assert not (tmp_path / "state").exists(), "planning leaves nothing behind"


@pytest.mark.parametrize(
    ("old", "new", "code", "told"),
    [
        ("cert-manager:", "cert-manger:", 2, ["cert-manger", "did you mean cert-manager"]),
        ("cert-manager:", "cert-manager: {version: 1.2.3}", 2, ["1.2.3", "not in the catalogue", "1.21.2"]),
        ("cert-manager:", "kai-scheduler:", 2, ["exclude each other"]),
        ("  cert-manager:", "\tcert-manager:", 2, ["tab", "spec.yaml:6"]),
        ("channel: edge", "channel: edge\nchannel: edge", 2, ["spec.yaml:3", "channel"]),
        ("channel: edge", "chanel: edge", 2, ["chanel", "did you mean channel"]),
        ("deserved: 4", "deserved: -4", 2, ["spec.yaml:15", "deserved"]),
        ("deserved: 4, limit: 8", "deserved: 12, limit: 16", 2, ["deserved", "research", "spec.yaml:"]),
        ("name: vision", "name: research", 2, ["research"]),
        ("limit: 8, overQuotaWeight: 1}", "overQuotaWeight: 1}", 2, ["limit"]),
        (
            "limit: 8, overQuotaWeight: 1}",
            "limit: 8, overQuotaWeight: 1}, memoryMB: {deserved: 549755813888, limit: -1, overQuotaWeight: 1}",
            2,
            ["memoryMB", "bytes"],
        ),
        ("channel: edge", "channel: stable", 2, ["channel stable has no version of cert-manager", "channel edge has one"]),
        ("kind: embedded", "kind: cluster, kubeconfig: nowhere", 4, ["kai-reference", "embedded"]),
        ('kubernetes: "1.36"', 'kubernetes: "1.99"', 4, ["1.99"]),
    ],
)
def test_a_mistake_in_the_spec_is_found_before_anything_is_touched(  # type: ignore[no-untyped-def]
    plan, tmp_path: Path, old: str, new: str, code: int, told: list[str]
) -> None:
    said = plan(old, new)
    assert said.code == code, said.err
    for words in told:
        assert words in said.err
    assert not (tmp_path / "state").exists()


def test_a_kubeconfig_that_points_nowhere_is_unavailable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "c",
                "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    spec = tmp_path / "spec.yaml"
    text = GOOD.replace("kind: embedded", f"kind: cluster, kubeconfig: {kubeconfig}")
    spec.write_text(text.replace("scheduler: kai-reference", "scheduler: kai-scheduler"))
    code = main(["--state", str(tmp_path / "state"), "plan", "-c", str(spec)])
    said = capsys.readouterr()
    assert code == 6
    assert "does not answer" in said.err
    assert "https://127.0.0.1:1" in said.err
    spec.write_text(spec.read_text().replace(str(kubeconfig), str(tmp_path / "absent")))
    assert main(["--state", str(tmp_path / "state"), "plan", "-c", str(spec)]) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["plan", "-c", "absent.yaml"], 3, "absent.yaml"),
        (["validate", "explain", "T999"], 3, "T999"),
        (["target", "status", "--name", "nobody"], 3, "nobody"),
        (["catalog", "versions", "kai-schedular"], 3, "kai-scheduler"),
        (["catalog", "frobnicate"], 2, "frobnicate"),
        (["up"], 2, "--spec"),
    ],
)
def test_what_is_not_there_is_said_with_the_right_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, told: str
) -> None:
    assert main(["--state", str(tmp_path), *arguments]) == code
    assert told in capsys.readouterr().err


def test_clean_cluster_with_nothing_to_clean_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--state", str(tmp_path / "state"), "target", "down", "--all"]) == 0
    assert "nothing to do" in capsys.readouterr().out

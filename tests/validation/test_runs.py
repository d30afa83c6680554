"""Whole runs against a real API server: every way in which a check or a run can end, and that nothing is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from base.deadlines import Deadline, poll
from base.errors import Refused
from base.events import QuietReporter
from base.kube import Cluster, wait_for
from base.kube.kinds import CLUSTER_ROLE, CRD, NAMESPACE, NODE, POD, QUEUE, SERVICE_ACCOUNT
from tests.validation.synthetic import a_plan, a_spec, item, some_facts
from tests.validation.targets.clusters import Site, namespace, running
from toolchain import obtain_all
from validation.harness.cleanup import restore_roles, sweep, take_rules
from validation.harness.names import CHECK, Names
from validation.outcomes import Outcome
from validation.run import CheckResult, RunResult, Times, run
from validation.targets.embedded import TOOLS

pytestmark = pytest.mark.integration

REPOSITORY = Path(__file__).parents[2]
SAMPLES = Path(__file__).parent / "samples" / "behaviours.py"
CRDS = REPOSITORY / "catalog" / "addons" / "kai-reference" / "crds"
QUICK = Times(must=3.0, quiet=2.0, settled=1.0, clean=20.0, namespaces=60.0)
PLAN = a_plan(item("sample"), item("other", "9.9.9"), item("kai-reference", "0.1.0", "reference"), scheduler="kai-reference")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("runs")
    made = Site("runs", folder / "state", folder / "cache", obtain_all(TOOLS, QuietReporter(), offline=True))
    with running(made):
        with made.admin() as cluster:
            for file in sorted(CRDS.glob("*.yaml")):
                cluster.apply(CRD, YAML(typ="safe").load(file), manager="test")
        yield made


@pytest.fixture
def cluster(site: Site) -> Iterator[Cluster]:
    with site.admin() as made:
        yield made
        assert left(made) == [], "the run left something behind"


def left(cluster: Cluster) -> list[str]:
    kinds = (NAMESPACE, NODE, QUEUE)
    return [f"{kind.kind} {found['metadata']['name']}" for kind in kinds for found in cluster.list(kind, labels=CHECK)[0]]


def go(site: Site, *select: str, suite: Path | None = SAMPLES, **more: Any) -> RunResult:
    facts = some_facts(site.layout.kubeconfig, site.layout.directory)
    settings: dict[str, Any] = {"times": QUICK, "suite": suite, "workers": 1, **more}
    return run(a_spec(), facts, PLAN, QuietReporter(), select=select, **settings)


def only(result: RunResult) -> CheckResult:
    assert len(result.checks) == 1, [check.name for check in result.checks]
    return result.checks[0]


@pytest.mark.usefixtures("cluster")
def test_every_end_of_a_check_is_told_apart(site: Site) -> None:
    started = time.monotonic()
    result = go(site, "S01", "S02", "S03", "S04", "S05", "S06", "S11", "S12", "S13", "S14")
    assert time.monotonic() - started < 120, "a check that hangs or a scheduler that does nothing must not hold the run up"
    outcomes = {check.name: str(check.outcome) for check in result.checks}
    assert outcomes == {
        "S01": "passed",
        "S02": "failed",
        "S03": "failed",
        "S04": "unknown",
        "S05": "unknown",
        "S06": "skipped",
        "S11": "expected-fail",
        "S12": "unexpected-pass",
        "S13": "unknown",
        "S14[sample]": "passed",
        "S14[other]": "failed",
        "S14[kai-reference]": "failed",
    }
    assert result.verdict == "failed"
    said = {check.name: check.reason for check in result.checks}
    assert "the map is missing" in said["S02"]
    assert "a miracle did not happen within 1 s" in said["S03"]
    assert "own deadline" in said["S04"]
    assert "a fault of the check itself: KeyError" in said["S05"]
    assert said["S06"] == "nothing for S06 here"
    assert "example/sample#1" in said["S11"]
    assert "sign of life" in said["S13"]
    seen = {check.name: [line.what for line in check.seen] for check in result.checks}
    assert "ConfigMap thing: appeared" in seen["S01"]
    assert "here it hangs" in seen["S04"]
    rows = {row.addon: (row.passed, row.failed) for row in result.addons}
    assert rows == {"sample": (2, 2), "other": (0, 1), "kai-reference": (0, 1)}


@pytest.mark.usefixtures("cluster")
def test_with_a_scheduler_that_does_nothing_no_check_of_the_suite_passes(site: Site) -> None:
    """Preconditions may skip a check, but nothing may pass: neither what must happen nor what must not."""
    result = go(site, "queues", "gangs", "preempt", "reclaim", suite=None, workers=3)
    assert len(result.checks) == 12
    outcomes = {check.name: check.outcome for check in result.checks}
    assert Outcome.PASSED not in outcomes.values(), outcomes
    assert {name for name, outcome in outcomes.items() if outcome is Outcome.SKIPPED} == {"T01"}, "no default queue here"
    assert {outcome for name, outcome in outcomes.items() if name != "T01"} == {Outcome.FAILED}, outcomes
    assert not [check.reason for check in result.checks if "nodes Ready" in check.reason], "failed before the scheduler was asked"


def test_what_cannot_be_removed_fails_the_check(site: Site, cluster: Cluster) -> None:
    check = only(go(site, "S07"))
    stuck = [found["metadata"]["name"] for found in cluster.list(NODE, labels=CHECK)[0]]
    for name in stuck:
        cluster.patch(NODE, name, {"metadata": {"finalizers": None}})
    assert check.outcome is Outcome.FAILED
    assert len(stuck) == 1
    assert stuck[0] in check.reason


def test_a_neighbour_that_moved_fails_the_check(site: Site, cluster: Cluster) -> None:
    namespace(cluster, "neighbours")
    node = next(n["metadata"]["name"] for n in cluster.list(NODE, labels="type=kwok")[0])
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "none"}], "tolerations": [{"operator": "Exists"}]}
    wait_for_account(cluster, "neighbours")
    cluster.create(POD, {"metadata": {"name": "neighbour", "namespace": "neighbours"}, "spec": spec})
    check = only(go(site, "S08"))
    assert check.outcome is Outcome.FAILED
    assert f"pod neighbours/neighbour on {node} is gone" in check.reason


@pytest.mark.usefixtures("cluster")
def test_a_run_whose_process_dies_is_cleaned_up_and_has_no_verdict_for_the_rest(site: Site) -> None:
    result = go(site, "S01", "S09", "S12")
    outcomes = {check.name: check.outcome for check in result.checks}
    assert outcomes == {"S01": Outcome.PASSED, "S09": Outcome.UNKNOWN, "S12": Outcome.UNKNOWN}
    assert result.verdict == "incomplete"
    assert "signal 9" in next(check.reason for check in result.checks if check.name == "S09")
    assert any("now removed: namespace chandlery-check-s09" in note for note in result.notes)


@pytest.mark.usefixtures("cluster")
def test_side_by_side_a_check_that_takes_its_process_with_it_costs_no_other_its_verdict(site: Site) -> None:
    result = go(site, "S01", "S02", "S09", "S12", workers=3)
    outcomes = {check.name: str(check.outcome) for check in result.checks}
    assert outcomes == {"S01": "passed", "S02": "failed", "S09": "unknown", "S12": "unexpected-pass"}


@pytest.mark.usefixtures("cluster")
def test_the_runs_own_deadline_ends_it(site: Site) -> None:
    started = time.monotonic()
    result = go(site, "S10", "S12", within=6.0)
    assert time.monotonic() - started < 60
    assert [check.outcome for check in result.checks] == [Outcome.UNKNOWN, Outcome.UNKNOWN]
    assert result.verdict == "incomplete"


PROGRAM = """
import sys; sys.path.insert(0, {repository!r})
from pathlib import Path
from tests.validation import test_runs as t
from tests.validation.targets.clusters import Site
try:
    t.go(Site("runs", Path({state!r}), Path("."), {{}}), "S10", "S12")
except KeyboardInterrupt:
    sys.exit(130)
"""


def start(site: Site) -> subprocess.Popen[bytes]:
    text = PROGRAM.format(repository=str(REPOSITORY), state=str(site.state))
    return subprocess.Popen([sys.executable, "-c", text], cwd=REPOSITORY)


def under_way(cluster: Cluster, check: str = "s10") -> str:
    """Wait until the slow check has its namespace; its name."""

    def found(live: dict[str, Any]) -> str | None:
        return next((name for name in live if name.startswith(f"chandlery-check-{check}")), None)

    return wait_for(cluster, NAMESPACE, found, Deadline.after(30), "the slow check", labels=CHECK)


def test_an_interrupt_cleans_up_and_ends_with_130(site: Site, cluster: Cluster) -> None:
    process = start(site)
    under_way(cluster)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=90) == 130


def test_a_second_run_at_the_same_time_is_refused_and_a_killed_one_cleans_up_by_itself(site: Site, cluster: Cluster) -> None:
    process = start(site)
    under_way(cluster)
    with pytest.raises(Refused, match="already going on"):
        go(site, "S12")
    process.kill()
    process.wait()
    wait_for(cluster, NAMESPACE, lambda live: not live, Deadline.after(60), "clean-up by the orphaned child", labels=CHECK)


def test_leftovers_of_a_run_that_was_killed_with_its_child_are_removed_by_the_next(site: Site, cluster: Cluster) -> None:
    names = Names.of("T99", "earlier", "zzzzz")
    cluster.create(NAMESPACE, {"metadata": {"name": names.lab, "labels": names.labels()}})
    cluster.create(QUEUE, {"metadata": {"name": names("q"), "labels": names.labels()}, "spec": {}})
    result = go(site, "S12")
    assert [note for note in result.notes if "left by an earlier run" in note] == [
        f"left by an earlier run, now removed: namespace {names.lab}",
        f"left by an earlier run, now removed: Queue {names('q')}",
    ]


def test_a_right_that_was_taken_is_given_back_exactly(cluster: Cluster) -> None:
    rules = [
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    meta = {"name": "sample-role", "labels": {"app.kubernetes.io/managed-by": "Helm"}}
    before = cluster.apply(CLUSTER_ROLE, {"metadata": meta, "rules": rules}, manager="chandlery")
    names = Names.of("T99", "earlier", "zzzzz")
    take_rules(cluster, "sample-role", names.labels(), keep=lambda rule: "apps" not in rule["apiGroups"])
    weak = cluster.get(CLUSTER_ROLE, "sample-role")
    assert weak["rules"] == rules[1:]
    assert weak["metadata"]["labels"][CHECK] == "T99"
    assert sweep(cluster, CHECK) == ["ClusterRole sample-role, restored"], "any later run finds and mends it"
    after = cluster.get(CLUSTER_ROLE, "sample-role")
    assert after["rules"] == rules
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert after["metadata"].get("annotations") is None
    assert after["metadata"]["managedFields"] == before["metadata"]["managedFields"]
    assert restore_roles(cluster, CHECK) == []
    cluster.apply(CLUSTER_ROLE, {"metadata": meta, "rules": rules[:1]}, manager="chandlery", force=False)
    cluster.delete(CLUSTER_ROLE, "sample-role")


def test_without_an_api_server_there_is_no_verdict_and_no_hang(site: Site) -> None:
    """Last of all, because it takes the API server away in the middle of a check."""

    def take_away() -> None:
        with site.admin() as cluster:
            under_way(cluster, "s00")
        site.kill("kube-apiserver")

    thread = threading.Thread(target=take_away)
    thread.start()
    started = time.monotonic()
    result = go(site, "S00", "S12", "S14")
    thread.join()
    assert time.monotonic() - started < 120
    assert {check.outcome for check in result.checks} == {Outcome.UNKNOWN}, result.checks
    assert result.verdict == "incomplete"


def wait_for_account(cluster: Cluster, where: str) -> None:
    poll(lambda: cluster.find(SERVICE_ACCOUNT, "default", where), Deadline.after(20), "the default ServiceAccount")

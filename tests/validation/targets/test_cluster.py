"""A real cluster: who may do what, how it survives, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.deadlines import Deadline
from base.errors import InvalidInput, Refused, Unavailable
from base.files import lock
from base.kube import Cluster, Refusal, wait_for
from base.kube.kinds import CONFIG_MAP, JOB, LEASE, NAMESPACE, NODE, POD
from spec.model import NodePool
from tests.validation.targets.clusters import POOL, Site, namespace, running
from validation.targets import embedded
from validation.targets.embedded import sockets
from validation.targets.embedded.layout import PROGRAMS

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def site(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    with running(Site("one", directory / "state", directory / "cache", tools)) as found:
        yield found


@pytest.fixture(scope="module")
def admin(site: Site) -> Iterator[Cluster]:
    with site.admin() as cluster:
        yield cluster


def _simulated_pod(name: str, **annotations: str) -> dict[str, object]:
    notes = {f"chandlery.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {
        "metadata": {"name": name, "namespace": "default", "annotations": notes},
        "spec": {
            "nodeSelector": {"type": "kwok"},
            "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "none", "resources": {"limits": {"nvidia.com/gpu": "8"}}}],
        },
    }


def test_it_is_ready_with_its_nodes_and_an_identity(site: Site, admin: Cluster) -> None:
    found = embedded.status(site.state, site.name)
    assert found.ready
    assert (found.nodes_ready, found.nodes_total) == (2, 2)
    assert found.kubernetes.startswith("v1.36.")
    assert found.cluster_uid == admin.uid()
    assert [p.name for p in found.processes if p.pid] == list(PROGRAMS)


def test_a_second_up_starts_nothing_and_writes_nothing(site: Site) -> None:
    before = site.pids()
    files = {
        p: p.stat().st_mtime_ns for p in site.layout.directory.rglob("*") if p.is_file() and p.parent.name in {"pki", "config"}
    }
    site.up()
    assert site.pids() == before
    assert {p: p.stat().st_mtime_ns for p in files} == files


def test_more_nodes_are_added_and_none_is_taken_away(site: Site, admin: Cluster) -> None:
    uids = {n["metadata"]["name"]: n["metadata"]["uid"] for n in admin.list(NODE)[0]}
    found = site.up(NodePool("default", 3), NodePool("small", 1, 1, "Tesla-T4"))
    assert found.nodes_ready == 4
    after = {n["metadata"]["name"]: n for n in admin.list(NODE)[0]}
    assert {name: after[name]["metadata"]["uid"] for name in uids} == uids
    assert after["small-0001"]["metadata"]["labels"]["kai.scheduler/node-pool"] == "small"
    assert after["small-0001"]["status"]["allocatable"]["nvidia.com/gpu"] == "1"
    assert site.up().nodes_ready == 4


def test_a_node_that_was_tampered_with_is_mended(site: Site, admin: Cluster) -> None:
    admin.patch(NODE, "default-0001", {"metadata": {"labels": {"nvidia.com/gpu.memory": "1", "mine": "stays"}}})
    site.up()
    labels = admin.get(NODE, "default-0001")["metadata"]["labels"]
    assert (labels["nvidia.com/gpu.memory"], labels["mine"]) == ("81559", "stays")


def test_everything_listens_on_loopback_only(site: Site) -> None:
    own = sockets.listening(site.pids().values())
    assert len(own) >= 4
    assert [entry for entry in own if not entry.loopback] == []


def test_a_request_without_credential_is_refused(site: Site) -> None:
    context = ssl.create_default_context(cafile=str(site.layout.pki / "ca.crt"))
    server = embedded.status(site.state, site.name).server
    for path in ("/api", "/readyz", "/version"):
        with pytest.raises(urllib.error.HTTPError) as refusal:
            urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)).open(
                server + path, timeout=5
            )
        assert refusal.value.code == 401
        refusal.value.close()


def test_the_admin_rules_by_rbac_and_not_by_a_group_that_nothing_can_take_away(site: Site, admin: Cluster) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = admin.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", body=review)
    assert answer["status"]["userInfo"]["username"] == "chandlery:admin"
    assert "system:masters" not in answer["status"]["userInfo"]["groups"]
    assert site.layout.kubeconfig.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("who", ["kwok", "host-agent"])
def test_helpers_may_not_read_secrets_or_make_pods(site: Site, who: str) -> None:
    with Cluster(site.layout.component_kubeconfig(who)) as cluster:
        for path in ("/api/v1/secrets", "/api/v1/namespaces/kube-system/configmaps"):
            with pytest.raises(Refusal) as refusal:
                cluster.request("GET", path)
            assert refusal.value.status == 403
        with pytest.raises(Refusal) as refusal:
            cluster.create(POD, _simulated_pod("smuggled"))
        assert refusal.value.status == 403


def test_a_client_of_the_api_server_is_none_of_etcd(site: Site) -> None:
    port = json.loads(site.layout.settings.read_text())["ports"]["etcd"]

    def first_byte(client: str) -> bytes:
        context = ssl.create_default_context(cafile=str(site.layout.pki / "etcd-ca.crt"))
        context.load_cert_chain(site.layout.pki / f"{client}.crt", site.layout.pki / f"{client}.key")
        with (
            socket.create_connection(("127.0.0.1", port), timeout=5) as raw,
            context.wrap_socket(raw, server_hostname="127.0.0.1") as tls,
        ):
            tls.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            return tls.recv(1)

    assert first_byte("etcd-client") == b"H"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        first_byte("bootstrap")


def test_keys_are_nobody_elses(site: Site) -> None:
    keys = [*site.layout.pki.rglob("*.key"), *site.layout.config.glob("*.kubeconfig")]
    assert len(keys) >= 12
    assert [str(k) for k in keys if k.stat().st_mode & 0o077] == []
    assert site.layout.directory.stat().st_mode & 0o077 == 0


def test_a_gpu_pod_runs_on_a_simulated_node_until_it_is_told_how_long_it_takes(admin: Cluster) -> None:
    admin.create(POD, _simulated_pod("forever"))
    admin.create(POD, _simulated_pod("brief", run_seconds="1"))
    admin.create(POD, _simulated_pod("unlucky", run_seconds="0.5", run_result="failed"))
    wanted = {"forever": "Running", "brief": "Succeeded", "unlucky": "Failed"}

    def decide(live: dict[str, dict[str, object]]) -> bool:
        phases = {name: live.get(f"default/{name}", {}).get("status", {}).get("phase") for name in wanted}  # type: ignore[attr-defined]
        return phases == wanted

    wait_for(admin, POD, decide, Deadline.after(60), "all three phases", "default")
    for name in wanted:
        admin.delete(POD, name, "default")
    wait_for(admin, POD, lambda live: not live, Deadline.after(30), "the pods' end", "default")


def test_a_simulated_node_keeps_its_lease(admin: Cluster) -> None:
    leases = {lease["metadata"]["name"] for lease in admin.list(LEASE, "kube-node-lease")[0]}
    assert {"host", "default-0001", "default-0002"} <= leases


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_killed_program_is_started_again_alone_and_nothing_is_lost(site: Site, admin: Cluster, program: str) -> None:
    namespace(admin, "kept")
    admin.apply(CONFIG_MAP, {"metadata": {"name": program, "namespace": "kept"}, "data": {"a": "b"}}, manager="test")
    before = site.pids()
    site.kill(program)
    assert not embedded.status(site.state, site.name).ready
    found = site.up()
    assert found.ready
    after = site.pids()
    # An API server does not get over the loss of its etcd soon enough; all others outlive each other.
    expected = {"etcd", "kube-apiserver"} if program == "etcd" else {program}
    assert {name for name in PROGRAMS if before[name] != after[name]} == expected
    assert admin.get(CONFIG_MAP, program, "kept")["data"] == {"a": "b"}
    _still_works(admin, f"after-{program}")


def test_all_killed_at_once_come_back_with_everything(site: Site, admin: Cluster) -> None:
    namespace(admin, "kept-too")
    uid = admin.uid()
    site.kill(*PROGRAMS)
    assert site.up().ready
    assert admin.uid() == uid
    assert admin.find(NAMESPACE, "kept-too") is not None
    _still_works(admin, "after-all")


def _still_works(admin: Cluster, name: str) -> None:
    """Scheduler, controller manager and KWOK all do their part: a Job's pod runs to its end."""
    template = _simulated_pod(name, run_seconds="0.2")
    del template["metadata"]["name"], template["metadata"]["namespace"]  # type: ignore[attr-defined]
    admin.create(JOB, {"metadata": {"name": name, "namespace": "default"}, "spec": {"template": template}})

    def done(live: dict[str, dict[str, object]]) -> bool:
        return bool(live.get(f"default/{name}", {}).get("status", {}).get("succeeded"))  # type: ignore[attr-defined]

    wait_for(admin, JOB, done, Deadline.after(60), f"job {name}", "default")
    admin.delete(JOB, name, "default", propagation="Background")


def test_a_change_while_another_goes_on_is_refused_and_says_who(site: Site) -> None:
    with lock(site.layout.lock, "a change of target one"), pytest.raises(Refused, match="already going on") as refusal:
        site.up()
    assert str(os.getpid()) in refusal.value.where


def test_another_minor_is_refused_for_a_cluster_that_has_one(site: Site) -> None:
    request = embedded.TargetRequest(site.name, site.state, "1.35", (POOL,), 0, site.cache)
    with pytest.raises(Refused, match=r"runs Kubernetes 1\.36, not 1\.35"):
        embedded.up(request, site.tools, _quiet())


def test_a_minor_that_the_programs_are_not_is_refused_before_anything_starts(site: Site, tmp_path: Path) -> None:
    request = embedded.TargetRequest("other", tmp_path / "state", "1.35", (POOL,), 0, site.cache)
    with pytest.raises(InvalidInput, match=r"1\.35 was asked for"):
        embedded.up(request, site.tools, _quiet())
    assert not (tmp_path / "state/clusters/other/run").exists()


def test_a_fixed_port_that_a_stranger_has_is_named_with_its_holder(site: Site, tmp_path: Path) -> None:
    other = Site("taken", tmp_path / "state", site.cache, site.tools)
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        port = stranger.getsockname()[1]
        with pytest.raises(Unavailable, match=f"port {port} is taken by process {os.getpid()}"):
            other.up(api_port=port)
    assert other.leftovers() == []


def test_a_port_that_a_stranger_took_while_the_cluster_was_down_is_replaced(site: Site, admin: Cluster) -> None:
    del admin
    uid = embedded.status(site.state, site.name).cluster_uid
    ports = json.loads(site.layout.settings.read_text())["ports"]
    site.down(delete=False)
    assert site.leftovers() == []
    with socket.create_server(("127.0.0.1", ports["api"])), socket.create_server(("127.0.0.1", ports["etcd"])):
        found = site.up()
        assert found.ready
        assert found.cluster_uid == uid
        after = json.loads(site.layout.settings.read_text())["ports"]
        assert not {after["api"], after["etcd"]} & {ports["api"], ports["etcd"]}
    with site.admin() as again:
        _still_works(again, "after-move")


def test_two_clusters_stand_side_by_side_and_one_goes_without_the_other(site: Site) -> None:
    second = Site("two", site.state, site.cache, site.tools)
    with running(second):
        one, two = embedded.list_targets(site.state)
        assert one.ready
        assert two.ready
        assert one.service_range != two.service_range
        assert one.cluster_uid != two.cluster_uid
        with second.admin() as there:
            namespace(there, "only-in-two")
        with site.admin() as here:
            assert here.find(NAMESPACE, "only-in-two") is None
    assert second.leftovers() == []
    assert not second.layout.directory.exists()
    assert embedded.status(site.state, "one").ready


def test_the_credential_of_one_cluster_is_worth_nothing_at_another(site: Site) -> None:
    second = Site("three", site.state, site.cache, site.tools)
    with running(second):
        text = site.layout.kubeconfig.read_text()
        forged = site.state / "forged"
        here, there = (embedded.status(site.state, name).server for name in ("one", "three"))
        forged.write_text(text.replace(here, there))
        with Cluster(forged, timeout=3) as cluster, pytest.raises(Unavailable):
            cluster.version()


def test_down_leaves_no_process_and_no_state(tools: dict[str, Path], tmp_path: Path) -> None:
    site = Site("brief", tmp_path / "state", tmp_path / "cache", tools)
    with running(site):
        assert sorted(site.down()) == sorted(PROGRAMS)
    assert site.leftovers() == []
    assert not site.layout.directory.exists()
    assert json.loads((tmp_path / "cache/targets/claims.json").read_text()) == {}


_UP = """
import sys
from pathlib import Path
from base.events import TextReporter
from spec.model import NodePool
from validation.targets import embedded
state, cache, tools = (Path(a) for a in sys.argv[1:])
request = embedded.TargetRequest("cut", state, "1.36", (NodePool("default", 40),), 0, cache)
embedded.up(request, {name: next(tools.glob(name)) for name in embedded.TOOLS}, TextReporter())
"""


@pytest.mark.parametrize(
    ("phase", "words"), [("prepare", ""), ("API", "prepare"), ("controllers", "API server"), ("nodes", "controllers")]
)
def test_an_up_that_is_interrupted_goes_on_where_it_was(tools: dict[str, Path], tmp_path: Path, phase: str, words: str) -> None:
    """Ctrl-C in the phase that follows the line with ``words``."""
    links = tmp_path / "tools"
    links.mkdir()
    for name, path in tools.items():
        (links / name).symlink_to(path)
    site = Site("cut", tmp_path / "state", tmp_path / "cache", {name: links / name for name in tools})
    child = subprocess.Popen(
        [sys.executable, "-c", _UP, str(site.state), str(site.cache), str(links)],
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path.cwd(),
    )
    assert child.stderr is not None
    try:
        with child.stderr:
            while words and f"target cut: {words}" not in child.stderr.readline():
                assert child.poll() is None
            child.send_signal(signal.SIGINT)
            rest = child.stderr.read()
        assert child.wait(20) == -signal.SIGINT, rest
        interrupted = site.pids() if site.layout.settings.exists() else {}
        found = site.up(NodePool("default", 40))
        assert found.ready
        assert found.nodes_ready == 40
        kept = {name for name, pid in interrupted.items() if pid}
        assert {name for name in kept if site.pids()[name] != interrupted[name]} == set(), f"restarted after {phase}"
    finally:
        site.down()
    assert site.leftovers() == []


def _quiet() -> object:
    from base.events import QuietReporter

    return QuietReporter()

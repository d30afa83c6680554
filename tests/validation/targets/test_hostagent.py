"""Pods of the node ``host`` are real processes: with their own identity, really probed, really ended."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from base import processes
from base.deadlines import Deadline, poll
from base.kube import Cluster, Refusal, wait_for
from base.kube.kinds import CONFIG_MAP, DEPLOYMENT, EVENT, JOB, POD, SECRET, SERVICE, VALIDATING_WEBHOOK, Kind
from spec.model import NodePool
from tests.validation.targets.clusters import Site, deploy, deployment, is_ready, namespace, pods, running
from validation.targets.embedded import RealProgram, serving_certificate, set_programs, sockets

pytestmark = pytest.mark.integration

PROGRAM = str(Path(__file__).with_name("program.py"))
PORT = 18090
PROBE = {"readinessProbe": {"httpGet": {"port": PORT, "path": "/"}, "periodSeconds": 1, "failureThreshold": 1}}
ROLE = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
BINDING = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")


@pytest.fixture(scope="module")
def site(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("agent")
    with running(Site("agent", directory / "state", directory / "cache", tools), NodePool("default", 1)) as found:
        yield found


@pytest.fixture(scope="module")
def admin(site: Site) -> Iterator[Cluster]:
    with site.admin() as cluster:
        yield cluster


@pytest.fixture
def where(admin: Cluster, request: pytest.FixtureRequest) -> str:
    """A namespace for the test alone."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[-50:].strip("-")
    namespace(admin, name)
    return name


def _serve(where: str, name: str = "web", *, args: tuple[str, ...] = (), **more: Any) -> RealProgram:
    return RealProgram(f"{where}/{name}", (sys.executable, PROGRAM, "serve", str(PORT)), args, **more)


def _ready_pod(admin: Cluster, where: str, *, but: str = "", seconds: float = 40) -> dict[str, Any]:
    """The namespace's one ready pod, other than the one with the UID ``but``."""

    def decide(live: dict[str, Any]) -> dict[str, Any] | None:
        return next((pod for pod in live.values() if is_ready(pod) and pod["metadata"]["uid"] != but), None)

    return wait_for(admin, POD, decide, Deadline.after(seconds), f"a ready pod in {where}", where)


def _process(site: Site, pod: dict[str, Any]) -> processes.Process:
    found = processes.load(site.layout.run / f"pod.{pod['metadata']['uid']}.main.json")
    assert found is not None
    return found


def _get(site: Site, pod: dict[str, Any], path: str = "/") -> Any:
    """Ask the pod's program, where it really listens."""
    own = [entry for entry in sockets.listening([_process(site, pod).pid]) if entry.port == PORT]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{own[0].address}:{PORT}{path}", timeout=5) as answer:
        return json.load(answer)


def test_a_pod_is_ready_only_with_its_program_and_that_has_the_pods_own_identity(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where, env={"EXTRA": "{namespace}/{pod_ip}"})])
    env = [{"name": "MY_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
    deploy(admin, deployment("web", where, {**PROBE, "args": ["--flag", "$(MY_NODE)"], "env": env}))
    pod = _ready_pod(admin, where)
    assert pod["spec"]["nodeName"] == "host"
    told = _get(site, pod)
    assert told["pid"] == _process(site, pod).pid
    assert told["args"][-2:] == ["--flag", "host"]
    assert told["env"]["POD_NAME"] == pod["metadata"]["name"]
    assert told["env"]["EXTRA"].startswith(f"{where}/127.")
    assert "HTTPS_PROXY" not in told["env"]
    assert _get(site, pod, "/whoami")["user"]["username"] == f"system:serviceaccount:{where}:default"
    log = site.layout.logs / "pods" / f"{where}_{pod['metadata']['name']}_main.log"
    assert str(site.layout.pods) in log.read_text()


def test_a_program_may_do_what_its_service_account_may_and_no_more(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where)])
    deploy(admin, deployment("web", where, PROBE))
    pod = _ready_pod(admin, where)
    path = f"/api/v1/namespaces/{where}/configmaps"
    assert _get(site, pod, path)["status"] == 403
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    admin.apply(ROLE, {"metadata": {"name": "r", "namespace": where}, "rules": rules}, manager="test")
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": where}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
    binding = {"metadata": {"name": "b", "namespace": where}, "roleRef": reference, "subjects": [subject]}
    admin.apply(BINDING, binding, manager="test")
    poll(lambda: _get(site, pod, path)["status"] == 200, Deadline.after(10), "the grant")
    admin.delete(BINDING, "b", where)
    poll(lambda: _get(site, pod, path)["status"] == 403, Deadline.after(10), "the end of the grant")


def test_a_webhook_is_served_by_the_program_and_its_word_counts(site: Site, admin: Cluster, where: str) -> None:
    ca, certificate, key = serving_certificate(site.layout, "web", where)
    data = {"tls.crt": base64.b64encode(certificate).decode(), "tls.key": base64.b64encode(key).decode()}
    set_programs(site.layout, [_serve(where, args=("--certs", "{volume:certs}"))])
    probe = {"httpGet": {"port": PORT, "path": "/", "scheme": "HTTPS"}, "periodSeconds": 1}
    obj = deployment("web", where, {"readinessProbe": probe}, volumes=[{"name": "certs", "secret": {"secretName": "certs"}}])
    deploy(admin, obj)
    service = {"selector": {"app": "web"}, "ports": [{"port": 443, "targetPort": PORT}]}
    admin.apply(SERVICE, {"metadata": {"name": "web", "namespace": where}, "spec": service}, manager="test")
    client = {"service": {"name": "web", "namespace": where}, "caBundle": base64.b64encode(ca).decode()}
    hook = {
        "name": "web.chandlery.dev",
        "clientConfig": client,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": where}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    # The certificate comes late, as from a controller that issues it: the pod waits for its volume.
    waiting = poll(lambda: next(iter(pods(admin, where)), None), Deadline.after(20), "the pod")
    assert not is_ready(waiting)
    admin.apply(SECRET, {"metadata": {"name": "certs", "namespace": where}, "data": data}, manager="test")
    _ready_pod(admin, where)
    admin.apply(VALIDATING_WEBHOOK, {"metadata": {"name": where}, "webhooks": [hook]}, manager="test")
    try:

        def said() -> str | None:
            try:
                admin.create(CONFIG_MAP, {"metadata": {"name": "forbidden", "namespace": where}})
            except Refusal as refusal:
                return refusal.message
            admin.delete(CONFIG_MAP, "forbidden", where)
            return None

        assert "the real program says no" in poll(said, Deadline.after(10), "the webhook's refusal")
        admin.create(CONFIG_MAP, {"metadata": {"name": "welcome", "namespace": where}})
        address = admin.get(SERVICE, "web", where)["spec"]["clusterIP"]
        assert address.startswith("127.")
        admin.patch(DEPLOYMENT, "web", {"spec": {"replicas": 0}}, where)
        wait_for(admin, POD, lambda live: not live, Deadline.after(20), "the program's end", where)
        with pytest.raises(Refusal, match="failed calling webhook"):
            admin.create(CONFIG_MAP, {"metadata": {"name": "unseen", "namespace": where}})
    finally:
        admin.delete(VALIDATING_WEBHOOK, where)


def test_a_killed_program_makes_its_pod_unready_and_is_started_again(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where)])
    deploy(admin, deployment("web", where, PROBE))
    pod = _ready_pod(admin, where)
    os.kill(_process(site, pod).pid, signal.SIGKILL)

    wait_for(admin, POD, _restarted_once, Deadline.after(30), "the restart", where)
    again = _ready_pod(admin, where)
    assert again["metadata"]["uid"] == pod["metadata"]["uid"]
    assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 137


def test_a_program_that_does_not_answer_its_probe_is_not_ready(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where)])
    deploy(admin, deployment("web", where, {"readinessProbe": {"tcpSocket": {"port": 1}}}))

    def alive(live: dict[str, Any]) -> bool:
        return any(s.get("started") for p in live.values() for s in p["status"].get("containerStatuses") or ())

    wait_for(admin, POD, alive, Deadline.after(30), "the program's start", where)
    assert not any(is_ready(pod) for pod in pods(admin, where))


def test_a_pod_without_program_stays_pending_and_says_so_until_one_is_listed(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [])
    deploy(admin, deployment("web", where, PROBE))

    def explained(live: dict[str, Any]) -> dict[str, Any] | None:
        return next((p for p in live.values() if p["status"].get("reason") == "NoProgram"), None)

    pod = wait_for(admin, POD, explained, Deadline.after(30), "the explanation", where)
    assert pod["status"]["phase"] == "Pending"
    assert f"{where}/web" in pod["status"]["message"]
    events = [e for e in admin.list(EVENT, where)[0] if e["reason"] == "NoProgram"]
    assert len(events) == 1
    set_programs(site.layout, [_serve(where)])
    ready = _ready_pod(admin, where)
    assert ready["metadata"]["uid"] == pod["metadata"]["uid"]
    assert "reason" not in ready["status"]


def test_a_simulated_workload_is_shown_running_and_labelled(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [], [f"{where}/*"])
    deploy(admin, deployment("web", where, PROBE))
    pod = _ready_pod(admin, where)
    assert pod["metadata"]["annotations"]["chandlery.dev/simulated"] == "true"
    assert list(site.layout.run.glob(f"pod.{pod['metadata']['uid']}.*")) == []


def test_containers_without_program_beside_one_with_are_named(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where)])
    obj = deployment("web", where, PROBE)
    obj["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "none"})
    deploy(admin, obj)
    assert _ready_pod(admin, where)["metadata"]["annotations"]["chandlery.dev/simulated-containers"] == "side"


def test_deleting_the_deployment_ends_the_program_and_frees_what_it_had(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where)])
    deploy(admin, deployment("web", where, PROBE))
    pod = _ready_pod(admin, where)
    process = _process(site, pod)
    assert (site.layout.pods / pod["metadata"]["uid"] / "credentials" / "token").stat().st_mode & 0o077 == 0
    admin.delete(DEPLOYMENT, "web", where, propagation="Foreground")
    wait_for(admin, POD, lambda live: not live, Deadline.after(30), "the pod's end", where)
    poll(lambda: not processes.alive(process), Deadline.after(5), "the program's end")
    poll(lambda: not (site.layout.pods / pod["metadata"]["uid"]).exists(), Deadline.after(5), "the directory's end")
    assert not (site.layout.run / f"pod.{pod['metadata']['uid']}.main.json").exists()


def test_a_rollout_starts_the_new_program_before_the_old_one_ends(site: Site, admin: Cluster, where: str) -> None:
    """Both listen on the same port at once, each on its pod's address."""
    set_programs(site.layout, [_serve(where)])
    deploy(admin, deployment("web", where, {**PROBE, "args": ["old"]}))
    before = _ready_pod(admin, where)
    deploy(admin, deployment("web", where, {**PROBE, "args": ["new"]}))
    after = _ready_pod(admin, where, but=before["metadata"]["uid"])
    assert _get(site, after)["args"][-1] == "new"
    wait_for(admin, POD, lambda live: len(live) == 1, Deadline.after(30), "the old pod's end", where)


@pytest.mark.parametrize(("code", "condition"), [("0", "Complete"), ("3", "Failed")])
def test_a_jobs_program_decides_how_the_job_ends(site: Site, admin: Cluster, where: str, code: str, condition: str) -> None:
    set_programs(site.layout, [RealProgram(f"{where}/hook", (sys.executable, PROGRAM, "exit", code))])
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
    admin.create(JOB, {"metadata": {"name": "hook", "namespace": where}, "spec": {"template": template, "backoffLimit": 0}})

    def ended(live: dict[str, Any]) -> bool:
        conditions = [c for job in live.values() for c in job.get("status", {}).get("conditions") or ()]
        return any(c["type"] == condition and c["status"] == "True" for c in conditions)

    wait_for(admin, JOB, ended, Deadline.after(40), f"the job to be {condition}", where)
    (pod,) = pods(admin, where)
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == int(code)


def test_programs_outlive_the_agent_and_are_taken_over_by_the_next(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where)])
    deploy(admin, deployment("web", where, PROBE))
    pod = _ready_pod(admin, where)
    process = _process(site, pod)
    site.kill("host-agent")
    assert processes.alive(process)
    site.up(NodePool("default", 1))
    assert _process(site, pod) == process
    os.kill(process.pid, signal.SIGKILL)  # and is still looked after
    wait_for(admin, POD, _restarted_once, Deadline.after(20), "a new process", where)
    assert _process(site, pod) != process


def _restarted_once(live: dict[str, Any]) -> bool:
    return any(is_ready(p) and p["status"]["containerStatuses"][0]["restartCount"] == 1 for p in live.values())


def test_what_went_away_while_no_agent_was_there_is_ended(site: Site, admin: Cluster, where: str) -> None:
    set_programs(site.layout, [_serve(where)])
    bare = {"metadata": {"name": "web", "namespace": where}, "spec": {"containers": [{"name": "main", "image": "none", **PROBE}]}}
    admin.create(POD, bare)
    process = _process(site, _ready_pod(admin, where))
    site.kill("host-agent")
    admin.delete(POD, "web", where, grace=0)
    wait_for(admin, POD, lambda live: not live, Deadline.after(20), "the pod's end", where)
    assert processes.alive(process)
    site.up(NodePool("default", 1))
    poll(lambda: not processes.alive(process), Deadline.after(20), "the program's end")


def test_a_down_ends_the_programs_of_pods_too(site: Site, admin: Cluster, where: str) -> None:
    """Last: the cluster is down after it, and comes back with the same program for the same pod."""
    set_programs(site.layout, [_serve(where)])
    deploy(admin, deployment("web", where, PROBE))
    pod = _ready_pod(admin, where)
    process = _process(site, pod)
    stopped = site.down(delete=False)
    assert any(name.startswith("pod ") for name in stopped)
    assert not processes.alive(process)
    assert site.leftovers() == []
    site.up(NodePool("default", 1))
    with site.admin() as again:
        wait_for(again, POD, _restarted_once, Deadline.after(40), "the program's return", where)

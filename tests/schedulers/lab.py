"""An embedded cluster with the engine's CRDs, and the engine as a process with rights of its own."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base.deadlines import Deadline, poll
from base.kube import Cluster, Kind, Object, wait_for
from base.kube.kinds import CRD, EVENT, NAMESPACE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, SERVICE_ACCOUNT
from schedulers.engine.rights import RULES
from schedulers.kai.crds import crd
from schedulers.kai.models import RESOURCES
from spec.model import NodePool
from tests.validation.targets.clusters import Site, running
from validation.targets.embedded.kubeconfig import render

_ROOT = Path(__file__).resolve().parents[2]
_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
_BINDING = Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
_SYSTEM = "kai-scheduler"
_CLASSES = {"train": 50, "build-preemptible": 75, "build": 100, "inference": 125, "low": 40, "high": 90}
WAIT_S = 60.0


@dataclass
class Lab:
    """One cluster of two nodes with eight GPUs each."""

    site: Site
    cluster: Cluster
    kubeconfig: Path
    engines: list[subprocess.Popen[bytes]] = field(default_factory=list)
    log: Path = Path()

    # -- the engine -------------------------------------------------------------------------------------------------

    def start(self, *more: str) -> Running:
        """Start an engine and wait until it is ready (or, with ``--once``, until it ended)."""
        port = free_port()
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "schedulers.engine", "--health-address", f"127.0.0.1:{port}", *more],
                env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
                cwd=_ROOT,
                stdout=log,
                stderr=log,
            )
        self.engines.append(process)
        return Running(process, port)

    # -- objects ----------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def room(self) -> Iterator[Room]:
        """A namespace and queues of its own, gone afterwards."""
        name = f"room-{secrets.token_hex(4)}"
        self.cluster.apply(NAMESPACE, {"metadata": {"name": name}}, manager="test")
        made = Room(self, name)
        try:
            yield made
        finally:
            made.clear()


@dataclass
class Running:
    """An engine at work."""

    process: subprocess.Popen[bytes]
    port: int

    def probe(self, path: str) -> str:
        """The answer's text, with its status in front where that is not 200; empty where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return str(answer.read().decode().strip())
        except urllib.error.HTTPError as error:
            with error:
                return f"{error.code} {error.read().decode().strip()}"
        except OSError:
            return ""

    def ready(self) -> Running:
        poll(lambda: self.probe("/readyz") == "ok", Deadline.after(WAIT_S), "readiness of the engine")
        return self

    def details(self) -> dict[str, Any]:
        return dict(json.loads(self.probe("/statusz")))

    def stop(self, sig: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(timeout=30)


@dataclass
class Room:
    """Objects of one test."""

    lab: Lab
    name: str
    queues: list[str] = field(default_factory=list)

    def queue(self, name: str, *, parent: str = "", gpu: float = -1, limit: float = -1, **spec: Any) -> str:
        """A queue; its name is made unique for the room."""
        full = f"{self.name}-{name}"
        unlimited = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        body: Object = {
            "resources": {"gpu": {**unlimited, "quota": gpu, "limit": limit}, "cpu": unlimited, "memory": unlimited},
            **spec,
        }
        if parent:
            body["parentQueue"] = parent
        self.lab.cluster.apply(QUEUE, {"metadata": {"name": full}, "spec": body}, manager="test")
        self.queues.append(full)
        return full

    def pod(
        self,
        name: str,
        queue: str,
        *,
        gpus: int = 1,
        group: str = "",
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        """A pod of the engine's; ``group`` names a PodGroup of the test's own."""
        annotations = {"pod-group-name": group, "kai.scheduler/skip-podgrouper": "true"} if group else {}
        meta = {
            "name": name,
            "namespace": self.name,
            "labels": {"kai.scheduler/queue": queue, **(labels or {})},
            "annotations": annotations,
        }
        return self.lab.cluster.create(POD, {"metadata": meta, "spec": self.pod_spec(gpus, **spec)})

    def pod_spec(self, gpus: int, **spec: Any) -> Object:
        return {
            "schedulerName": "kai-scheduler",
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"type": "kwok"},
            "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
            "containers": [{"name": "main", "image": "none", "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}],
            **spec,
        }

    def group(self, name: str, queue: str, minimum: int, **spec: Any) -> Object:
        body = {"metadata": {"name": name, "namespace": self.name}, "spec": {"queue": queue, "minMember": minimum, **spec}}
        return self.lab.cluster.create(POD_GROUP, body)

    # -- looking ----------------------------------------------------------------------------------------------------

    def wait(self, kind: Kind, decide: Callable[[dict[str, Object]], Any], what: str) -> Any:
        return wait_for(self.lab.cluster, kind, decide, Deadline.after(WAIT_S), what, self.name if kind.namespaced else None)

    def bound(self, *names: str) -> None:
        """Wait until these pods have nodes."""
        self.wait(
            POD,
            lambda live: all((live.get(f"{self.name}/{n}") or {}).get("spec", {}).get("nodeName") for n in names),
            f"binding of {', '.join(names)}",
        )

    def nodes(self) -> dict[str, str]:
        """Node by pod, empty for a pod without."""
        pods = self.lab.cluster.list(POD, self.name)[0]
        return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "") for pod in pods}

    def unschedulable(self, name: str, fragment: str) -> str:
        """Wait until the pod's condition says so; its message."""

        def look(live: dict[str, Object]) -> str | None:
            pod = live.get(f"{self.name}/{name}") or {}
            for condition in (pod.get("status") or {}).get("conditions") or ():
                if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
                    message = str(condition["message"])
                    return message if fragment in message else None
            return None

        return str(self.wait(POD, look, f"{name} being unschedulable with {fragment!r}"))

    def event(self, reason: str, of: str = "") -> Object:
        """Wait for an event; ``of`` is the start of the object's name."""
        return dict(
            self.wait(
                EVENT,
                lambda live: next(
                    (e for e in live.values() if e["reason"] == reason and e["involvedObject"]["name"].startswith(of)), None
                ),
                f"event {reason}",
            )
        )

    def group_of(self, pod: str) -> Object:
        """Wait for the pod's group."""

        def look(live: dict[str, Object]) -> Object | None:
            return next((g for key, g in live.items() if key.startswith(f"{self.name}/pg-{pod}-")), None)

        return dict(self.wait(POD_GROUP, look, f"the group of {pod}"))

    def reason(self, group: str) -> Object:
        """Wait for the first reason of the group's scheduling condition."""

        def look(live: dict[str, Object]) -> Object | None:
            found = next((g for key, g in live.items() if key.startswith(f"{self.name}/{group}")), {})
            conditions = (found.get("status") or {}).get("schedulingConditions") or []
            return next((r for c in conditions for r in c.get("reasons") or ()), None)

        return dict(self.wait(POD_GROUP, look, f"a reason why {group} waits"))

    def clear(self) -> None:
        cluster = self.lab.cluster
        cluster.delete(NAMESPACE, self.name)
        for queue in self.queues:
            cluster.delete(QUEUE, queue)
        wait_for(
            cluster,
            POD,
            lambda live: not any(key.startswith(f"{self.name}/") for key in live),
            Deadline.after(WAIT_S),
            "the end of the pods",
        )


@contextlib.contextmanager
def lab(tools: Mapping[str, Path], directory: Path) -> Iterator[Lab]:
    """The cluster, set up for the engine. Every engine that a test left running is stopped."""
    site = Site("engine", directory / "state", directory / "cache", tools)
    with running(site, NodePool("default", 2)), site.admin() as cluster:
        for resource in RESOURCES:
            cluster.apply(CRD, crd(resource), manager="test")
        wait_for(
            cluster,
            CRD,
            lambda live: all(
                any(c["type"] == "Established" and c["status"] == "True" for c in (o.get("status") or {}).get("conditions") or ())
                for o in live.values()
            ),
            Deadline.after(WAIT_S),
            "the CRDs being served",
        )
        cluster.apply(NAMESPACE, {"metadata": {"name": _SYSTEM}}, manager="test")
        for name, value in _CLASSES.items():
            cluster.apply(PRIORITY_CLASS, {"metadata": {"name": name}, "value": value}, manager="test")
        made = Lab(site, cluster, _credential(cluster, site, directory), log=directory / "engine.log")
        try:
            yield made
        finally:
            for process in made.engines:
                if process.poll() is None:
                    process.kill()
                process.wait(timeout=30)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _credential(cluster: Cluster, site: Site, directory: Path) -> Path:
    """A ServiceAccount with the rights that the engine says it needs, and its kubeconfig."""
    meta = {"name": "engine", "namespace": _SYSTEM}
    cluster.apply(SERVICE_ACCOUNT, {"metadata": meta}, manager="test")
    cluster.apply(_ROLE, {"metadata": {"name": "engine"}, "rules": list(RULES)}, manager="test")
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "engine"}
    subjects = [{"kind": "ServiceAccount", **meta}]
    cluster.apply(_BINDING, {"metadata": {"name": "engine"}, "roleRef": role, "subjects": subjects}, manager="test")
    ca = (site.layout.pki / "ca.crt").read_bytes()
    path = directory / "engine.kubeconfig"
    path.write_text(render("engine", cluster.server, ca, {"token": cluster.token(_SYSTEM, "engine")}))
    return path

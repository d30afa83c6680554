"""What the tests do to a cluster."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from base import processes
from base.deadlines import Deadline, poll
from base.events import QuietReporter
from base.kube import Cluster, Object
from base.kube.kinds import DEPLOYMENT, NAMESPACE, POD
from spec.model import NodePool
from validation.targets import embedded
from validation.targets.embedded import Layout, TargetRequest, TargetStatus, supervision
from validation.targets.embedded.layout import PROGRAMS

POOL = NodePool("default", 2)


@dataclass(frozen=True)
class Site:
    """One cluster of a test. ``cache`` stands for the user cache, so that the machine's own register is left alone."""

    name: str
    state: Path
    cache: Path
    tools: Mapping[str, Path]

    @property
    def layout(self) -> Layout:
        return Layout(self.state, self.name)

    def request(self, *pools: NodePool, api_port: int = 0) -> TargetRequest:
        return TargetRequest(self.name, self.state, "1.36", pools or (POOL,), api_port, self.cache)

    def up(self, *pools: NodePool, api_port: int = 0) -> TargetStatus:
        return embedded.up(self.request(*pools, api_port=api_port), self.tools, QuietReporter())

    def down(self, *, delete: bool = True) -> list[str]:
        return embedded.down(self.state, self.name, delete=delete, reporter=QuietReporter(), cache=self.cache)

    def admin(self) -> Cluster:
        return Cluster(self.layout.kubeconfig)

    def pids(self) -> dict[str, int]:
        """Process ids by program, 0 where it does not run; from the records alone, so that it takes no time."""
        found = {name: supervision.running(self.layout, name) for name in PROGRAMS}
        return {name: process.pid if process else 0 for name, process in found.items()}

    def kill(self, *programs: str) -> None:
        """kill -9, and wait until they are gone."""
        pids = self.pids()
        for program in programs:
            os.kill(pids[program], signal.SIGKILL)
        poll(lambda: all(not self.pids()[p] for p in programs), Deadline.after(20), "the kill")

    def leftovers(self) -> list[str]:
        """Command lines of live processes that name the cluster's directory, or have one of its sockets."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    if str(self.layout.directory) in command and processes.identity(int(entry.name)):
                        found.append(command)
                except OSError:
                    continue
        return found


@contextmanager
def running(site: Site, *pools: NodePool) -> Iterator[Site]:
    """The site's cluster, up for the length of the block."""
    try:
        site.up(*pools)
        yield site
    finally:
        if site.layout.directory.exists():
            site.down()


def namespace(cluster: Cluster, name: str) -> None:
    cluster.apply(NAMESPACE, {"metadata": {"name": name}}, manager="test")


def deployment(name: str, where: str, container: Object, **pod: object) -> Object:
    labels = {"app": name}
    spec = {"containers": [{"name": "main", "image": "none", **container}], "terminationGracePeriodSeconds": 2, **pod}
    return {
        "metadata": {"name": name, "namespace": where},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def deploy(cluster: Cluster, obj: Object) -> None:
    cluster.apply(DEPLOYMENT, obj, manager="test")


def pods(cluster: Cluster, where: str, labels: str = "") -> list[Object]:
    return cluster.list(POD, where, labels=labels)[0]


def is_ready(pod: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions") or ())

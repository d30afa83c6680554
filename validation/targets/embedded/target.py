"""``up``, ``down``, ``status``: the embedded target from the outside."""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from base import processes
from base.deadlines import Deadline
from base.errors import ChandleryError, InvalidInput, NotFound, Refused, Unavailable
from base.events import Reporter
from base.files import lock
from base.kube import Cluster
from base.places import cache_dir
from spec.model import NodePool
from validation.targets.embedded import bootstrap, health, nodes, pki, sockets, supervision
from validation.targets.embedded.claims import Register
from validation.targets.embedded.control_plane import Component, components, write_config
from validation.targets.embedded.layout import PROGRAMS, Layout
from validation.targets.embedded.settings import Settings, load, save, tools_of

_PORT_OWNERS = {"api": "kube-apiserver", "etcd": "etcd", "etcd-peer": "etcd"}


@dataclass(frozen=True, slots=True)
class TargetRequest:
    """A wanted cluster. ``state`` is the state directory, ``kubernetes`` a minor (``1.36``), ``api_port`` 0 for any free one.

    ``cache`` holds the machine-wide register of ports; ``timeout`` is for each of API server and nodes, in seconds.
    """

    name: str
    state: Path
    kubernetes: str
    pools: tuple[NodePool, ...] = ()
    api_port: int = 0
    cache: Path | None = None
    timeout: float = 120.0


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """One program of the cluster; ``pid`` is 0 where it does not run."""

    name: str
    pid: int
    log: Path


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """A cluster as found. ``kubernetes`` is the server's version (``v1.36.3``), empty with ``cluster_uid`` where it is down."""

    name: str
    directory: Path
    kubeconfig: Path
    kubernetes: str
    cluster_uid: str
    server: str
    service_range: str
    processes: tuple[ProcessStatus, ...]
    nodes_ready: int
    nodes_total: int
    ready: bool


def up(request: TargetRequest, tools: Mapping[str, Path], reporter: Reporter) -> TargetStatus:
    """Have the cluster run as asked: make it, go on where an earlier ``up`` was interrupted, repair what died, add nodes.

    What is right already is not touched. ``tools`` maps the names of :data:`control_plane.TOOLS` to programs. Nodes that
    are there beyond the request stay. Errors: InvalidInput (impossible pools), Refused (another ``up`` or ``down`` at work,
    or the cluster runs another Kubernetes minor), Unavailable (no room, port taken, program ends), DeadlineExceeded.
    """
    nodes.check(request.pools)
    layout = Layout(request.state.absolute(), request.name)
    supervision.enough_room(layout)
    with lock(layout.lock, f"a change of target {layout.name}"):
        with reporter.step(f"target {layout.name}: prepare") as step:
            settings = _settle(request, tools, layout, reporter)
            pki.prepare(layout, ["127.0.0.1", settings.addressing.api_service])
            write_config(layout, settings)
            parts = components(layout, settings, tools)
            step.note(f"API server on 127.0.0.1:{settings.ports['api']}, services in {settings.addressing.service_range}")
        with reporter.step(f"target {layout.name}: API server") as step:
            done = _start_api(layout, settings, parts, Deadline.after(request.timeout))
            step.note(done)
        bootstrap_config = layout.component_kubeconfig("bootstrap")
        with reporter.step(f"target {layout.name}: controllers") as step, Cluster(bootstrap_config) as cluster:
            bootstrap.grant(cluster)
            step.note(_ensure_all(layout, parts[2:], {"kwok": lambda: bootstrap.release_nodes(cluster)}))
        with reporter.step(f"target {layout.name}: nodes") as step, Cluster(layout.kubeconfig) as cluster:
            version = cluster.version()
            wanted = [bootstrap.host_node(version), *nodes.render(request.pools, kubelet=version)]
            bootstrap.ensure_nodes(cluster, wanted, step)
            deadline = Deadline.after(request.timeout)
            every = [node["metadata"]["name"] for node in wanted]
            bootstrap.wait_ready(cluster, every, deadline, step)
            bootstrap.wait_played(cluster, every, deadline)
            _await(layout, "host-agent", lambda: health.agent_answers(layout), deadline)
            supervision.check_alive(layout, *PROGRAMS)
            surplus = len(bootstrap.kwok_nodes(cluster)) - (len(wanted) - 1)
        if surplus > 0:
            reporter.event("target-surplus", f"{surplus} nodes more than asked for are left in place", count=surplus)
    return status(request.state, request.name)


def down(state: Path, name: str, *, delete: bool, reporter: Reporter, cache: Path | None = None) -> list[str]:
    """Stop everything of the cluster by its records; with ``delete`` remove its directory too. Names of what was stopped."""
    layout = Layout(state.absolute(), name)
    if not layout.directory.is_dir():
        raise NotFound(f"there is no target {name}", where=str(layout.directory))
    with lock(layout.lock, f"a change of target {name}"):
        with reporter.step(f"target {name}: stop") as step:
            stopped = supervision.stop_all(layout)
            step.note(f"{len(stopped)} processes stopped")
        if delete:
            with reporter.step(f"target {name}: delete"):
                # Renamed first: a deletion that is cut short leaves no half cluster under the name.
                shutil.rmtree(layout.deleted, ignore_errors=True)
                layout.directory.rename(layout.deleted)
                shutil.rmtree(layout.deleted)
                Register(cache or cache_dir()).release(layout.directory)
    return stopped


def sweep(state: Path, reporter: Reporter) -> list[str]:
    """Stop what runs for clusters whose directory somebody removed by hand. Names of the programs stopped."""
    left = supervision.orphans(state.absolute())
    for process in left:
        reporter.event("orphan", f"{process.name} ({process.pid}) runs for a cluster that is gone; stopping it", pid=process.pid)
        processes.stop(process, grace=5.0)
    return [process.name for process in left]


def status(state: Path, name: str) -> TargetStatus:
    """The cluster as it is now, running or not. NotFound where there is none."""
    layout = Layout(state.absolute(), name)
    settings = load(layout)
    if settings is None:
        raise NotFound(f"there is no target {name}", where=str(layout.directory), todo="make one with `chandlery target up`")
    found = []
    for program in PROGRAMS:
        process = supervision.running(layout, program)
        found.append(ProcessStatus(program, process.pid if process else 0, layout.log(program)))
    version = uid = ""
    ready = total = 0
    # Without etcd the API server answers, if at all, after long waits.
    if found[0].pid and found[1].pid and health.api_answers(layout, settings.ports["api"]) and layout.kubeconfig.exists():
        try:
            with Cluster(layout.kubeconfig, timeout=5) as cluster:
                version, uid = cluster.version(), cluster.uid()
                kwok = bootstrap.kwok_nodes(cluster)
                ready, total = sum(map(bootstrap.ready, kwok)), len(kwok)
        except ChandleryError:
            version = uid = ""  # it went away, or has no RBAC for the admin yet: not up, and said so by `ready`
    return TargetStatus(
        name=name,
        directory=layout.directory,
        kubeconfig=layout.kubeconfig,
        kubernetes=version,
        cluster_uid=uid,
        server=settings.server,
        service_range=settings.addressing.service_range,
        processes=tuple(found),
        nodes_ready=ready,
        nodes_total=total,
        ready=bool(version) and all(process.pid for process in found) and ready == total,
    )


def kubeconfig(state: Path, name: str) -> Path:
    """Path of the admin's kubeconfig; NotFound where the cluster was never up."""
    path = Layout(state.absolute(), name).kubeconfig
    if not path.is_file():
        raise NotFound(f"there is no kubeconfig for target {name}", where=str(path), todo="run `chandlery target up`")
    return path


def names(state: Path) -> list[str]:
    """Names of all clusters in the state directory, also of those whose first ``up`` was interrupted."""
    directory = state.absolute() / "clusters"
    if not directory.is_dir():
        return []
    begun = [entry for entry in directory.iterdir() if (entry / "target.json").exists() or (entry / "run").is_dir()]
    return sorted(entry.name for entry in begun if not entry.name.startswith("."))


def list_targets(state: Path) -> list[TargetStatus]:
    """All clusters in the state directory that were begun, by name."""
    return [status(state, name) for name in names(state) if Layout(state.absolute(), name).settings.exists()]


def _settle(request: TargetRequest, tools: Mapping[str, Path], layout: Layout, reporter: Reporter) -> Settings:
    """Decide ports and ranges, keeping what was decided before; a port that a stranger took is replaced or complained about."""
    before = load(layout)
    if before is not None and before.kubernetes != request.kubernetes:
        raise Refused(
            f"target {layout.name} runs Kubernetes {before.kubernetes}, not {request.kubernetes}",
            where=str(layout.directory),
            todo="give the other version a cluster of its own, or delete this one with `chandlery target down`",
        )
    if before is None or before.tools != tools_of(tools):
        _check_version(request.kubernetes, tools)
    lost: set[str] = set()
    if before is not None:
        lost = supervision.strangers_ports(layout, dict(before.ports), _PORT_OWNERS)
    if request.api_port and supervision.strangers_ports(layout, {"api": request.api_port}, _PORT_OWNERS):
        raise Unavailable(
            f"port {request.api_port} is taken by {sockets.holder(request.api_port)}",
            where=f"127.0.0.1:{request.api_port}",
            todo="stop that program, or leave the port to be chosen",
        )
    register = Register(request.cache or cache_dir())
    claim = register.claim(layout.directory, held=before.claim if before else None, api_port=request.api_port, lost=lost)
    for name in sorted(lost):
        reporter.event(
            "port-taken",
            f"port {before.ports[name] if before else 0} is taken by another program; {name} moves to {claim.ports[name]}",
        )
    settings = Settings(request.kubernetes, claim.slot, claim.ports, request.pools, tools_of(tools))
    save(layout, settings)
    return settings


def _check_version(minor: str, tools: Mapping[str, Path]) -> None:
    """InvalidInput where the programs handed in are of another minor than the one that was asked for."""
    program = tools.get("kube-apiserver")
    if program is None:
        return  # missing tools are complained about all at once
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"kube-apiserver does not run: {error}", where=str(program), todo="run `chandlery doctor`") from error
    if not re.search(rf"v{re.escape(minor)}\.\d", answer):
        raise InvalidInput(
            f"Kubernetes {minor} was asked for, but the programs are {answer.strip() or 'of no known version'}",
            where=str(program),
            todo="ask for the minor that `chandlery doctor` shows",
        )


def _start_api(layout: Layout, settings: Settings, parts: tuple[Component, ...], deadline: Deadline) -> str:
    ports = settings.ports
    etcd = _ensure_all(layout, parts[:1])
    _await(layout, "etcd", lambda: health.etcd_answers(layout, ports["etcd"]), deadline)
    if etcd:
        # An API server that lost its etcd takes up to two minutes to come back: each of its some hundred connections has
        # a growing pause of its own between attempts. A new one is there in seconds.
        supervision.stop(layout, "kube-apiserver")
    api = _ensure_all(layout, parts[1:2])
    _await(layout, "kube-apiserver", lambda: health.api_answers(layout, ports["api"]), deadline, "etcd")
    return ", ".join(word for word in (etcd, api) if word)


def _ensure_all(layout: Layout, parts: tuple[Component, ...], before: Mapping[str, Callable[[], None]] | None = None) -> str:
    """Ensure the programs in a thread: a Ctrl-C reaches the main thread only, so that no program starts half."""
    first = before or {}
    with ThreadPoolExecutor(1, thread_name_prefix="start") as pool:
        done = list(pool.map(lambda part: supervision.ensure(layout, part, first.get(part.name)), parts))
    return ", ".join(f"{part.name} {word}" for part, word in zip(parts, done, strict=True) if word != "kept")


def _await(layout: Layout, name: str, probe: Callable[[], bool], deadline: Deadline, *also: str) -> None:
    while not probe():
        supervision.check_alive(layout, name, *also)
        supervision.missed(deadline, layout, name)
        time.sleep(0.1)

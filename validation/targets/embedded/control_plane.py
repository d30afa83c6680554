"""Command lines of a cluster's programs. Pure but for reading the files whose content they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from base.errors import Unavailable
from base.places import REPOSITORY
from validation.targets.embedded.addressing import SIMULATED_POD_RANGE
from validation.targets.embedded.kubeconfig import write_all, write_if_new
from validation.targets.embedded.layout import Layout
from validation.targets.embedded.settings import Settings

#: Programs that must be handed in; the sixth, the host agent, is our own.
TOOLS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
#: Socket of the host agent, relative to the cluster directory: a path below 108 bytes however deep the state directory is.
EGRESS_SOCKET = "run/egress.sock"
ISSUER = "https://kubernetes.default.svc.cluster.local"


@dataclass(frozen=True, slots=True)
class Component:
    """A program of the cluster. It runs in the cluster directory; ``digest`` covers the files that it reads once."""

    name: str
    command: tuple[str, ...]
    digest: str
    ports: tuple[str, ...] = ()


def environment() -> dict[str, str]:
    """The whole environment of every program of a cluster: no proxies, no cloud credentials, no user configuration."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
    return kept | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1", "GOGC": "200"}


def write_config(layout: Layout, settings: Settings) -> None:
    """Files that the programs read, written only where their content changes."""
    write_all(layout, settings.server)
    stages = (Path(__file__).parent / "data" / "stages.yaml").read_text(encoding="utf-8")
    write_if_new(layout.config / "kwok.yaml", stages)
    write_if_new(layout.config / "egress.yaml", _egress())
    write_if_new(layout.config / "scheduler.yaml", _scheduler(layout))


def components(layout: Layout, settings: Settings, tools: Mapping[str, Path]) -> tuple[Component, ...]:
    """All six programs in start order. Unavailable where a tool was not handed in."""
    missing = [name for name in TOOLS if name not in tools]
    if missing:
        raise Unavailable(f"programs are missing: {', '.join(missing)}", todo="run `chandlery doctor`")
    pki, config = layout.pki, layout.config
    ports = settings.ports
    etcd_files = [pki / "etcd-ca.crt", pki / "etcd.crt", pki / "etcd.key"]
    etcd = [
        str(tools["etcd"]),
        f"--name={layout.name}",
        f"--data-dir={layout.etcd}",
        f"--listen-client-urls=https://127.0.0.1:{ports['etcd']}",
        f"--advertise-client-urls=https://127.0.0.1:{ports['etcd']}",
        f"--listen-peer-urls=https://127.0.0.1:{ports['etcd-peer']}",
        "--client-cert-auth",
        f"--trusted-ca-file={etcd_files[0]}",
        f"--cert-file={etcd_files[1]}",
        f"--key-file={etcd_files[2]}",
        "--peer-client-cert-auth",
        f"--peer-trusted-ca-file={etcd_files[0]}",
        f"--peer-cert-file={etcd_files[1]}",
        f"--peer-key-file={etcd_files[2]}",
        # A new member id per start would orphan the data; these two only count for a directory without data.
        f"--initial-advertise-peer-urls=https://127.0.0.1:{ports['etcd-peer']}",
        f"--initial-cluster={layout.name}=https://127.0.0.1:{ports['etcd-peer']}",
        "--auto-compaction-retention=1h",
        "--quota-backend-bytes=4294967296",
        "--logger=zap",
        "--log-level=warn",
    ]
    api_files = [pki / name for name in ("ca.crt", "kube-apiserver.crt", "kube-apiserver.key", "sa.key", "sa.pub")]
    api_files += [pki / "etcd-ca.crt", pki / "etcd-client.crt", pki / "etcd-client.key", config / "egress.yaml"]
    api = [
        str(tools["kube-apiserver"]),
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={ports['api']}",
        # The API refuses loopback addresses as endpoints of the Service `kubernetes`; the host agent serves it instead.
        "--endpoint-reconciler-type=none",
        f"--etcd-servers=https://127.0.0.1:{ports['etcd']}",
        f"--etcd-cafile={pki / 'etcd-ca.crt'}",
        f"--etcd-certfile={pki / 'etcd-client.crt'}",
        f"--etcd-keyfile={pki / 'etcd-client.key'}",
        f"--service-cluster-ip-range={settings.addressing.service_range}",
        "--anonymous-auth=false",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--tls-cert-file={pki / 'kube-apiserver.crt'}",
        f"--tls-private-key-file={pki / 'kube-apiserver.key'}",
        "--tls-min-version=VersionTLS12",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={pki / 'sa.pub'}",
        f"--service-account-signing-key-file={pki / 'sa.key'}",
        # What the API server sends into the cluster (webhooks, proxied requests) goes through the host agent.
        f"--egress-selector-config-file={config / 'egress.yaml'}",
        "--allow-privileged=true",
        "--profiling=false",
        "--max-requests-inflight=800",
        "--max-mutating-requests-inflight=400",
    ]
    manager_config = layout.component_kubeconfig("kube-controller-manager")
    manager = [
        str(tools["kube-controller-manager"]),
        f"--kubeconfig={manager_config}",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        f"--service-account-private-key-file={pki / 'sa.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        "--allocate-node-cidrs=false",
        # At the default of 20 requests a second, taking the not-ready taint off 500 nodes takes half a minute.
        "--kube-api-qps=400",
        "--kube-api-burst=800",
        "--node-monitor-period=2s",
        # The TTL annotation is for kubelets; it would be one more write to each node.
        "--controllers=*,-ttl-controller",
        "--profiling=false",
    ]
    scheduler = [
        str(tools["kube-scheduler"]),
        f"--config={config / 'scheduler.yaml'}",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
    ]
    kwok_config = layout.component_kubeconfig("kwok")
    kwok = [
        str(tools["kwok"]),
        f"--kubeconfig={kwok_config}",
        f"--config={config / 'kwok.yaml'}",
        f"--cidr={SIMULATED_POD_RANGE}",
    ]
    agent = [sys.executable, "-m", "validation.targets.embedded.hostagent", str(layout.directory)]
    scheduler_files = [layout.component_kubeconfig("kube-scheduler"), config / "scheduler.yaml"]
    return (
        Component("etcd", tuple(etcd), digest(etcd_files), ("etcd", "etcd-peer")),
        Component("kube-apiserver", tuple(api), digest(api_files), ("api",)),
        Component("kube-controller-manager", tuple(manager), digest([manager_config, pki / "ca.crt", pki / "sa.key"])),
        Component("kube-scheduler", tuple(scheduler), digest(scheduler_files)),
        Component("kwok", tuple(kwok), digest([kwok_config, config / "kwok.yaml"])),
        Component("host-agent", tuple(agent), digest([layout.component_kubeconfig("host-agent")])),
    )


def digest(files: Iterable[Path]) -> str:
    """One digest over the content of all files."""
    total = hashlib.sha256()
    for path in files:
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:32]


def _egress() -> str:
    """EgressSelectorConfiguration: only what goes into the cluster; etcd and the control plane are dialled directly."""
    connection = {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": EGRESS_SOCKET}}}
    config = {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }
    return json.dumps(config, indent=2) + "\n"


def _scheduler(layout: Layout) -> str:
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(layout.component_kubeconfig("kube-scheduler")), "qps": 400, "burst": 800},
        "leaderElection": {"leaderElect": False},
    }
    return json.dumps(config, indent=2) + "\n"

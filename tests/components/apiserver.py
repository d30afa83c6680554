"""A bare control plane on loopback: etcd, kube-apiserver, and of the controllers those that end a deletion. No nodes, no pods:
enough for objects, and up within seconds."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from base import processes
from base.deadlines import Deadline, poll
from base.errors import ChandleryError
from base.events import QuietReporter
from base.kube import Cluster
from toolchain import obtain_all

_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: bare
contexts: [{{name: bare, context: {{cluster: bare, user: admin}}}}]
clusters: [{{name: bare, cluster: {{server: "https://127.0.0.1:{port}", insecure-skip-tls-verify: true}}}}]
users: [{{name: admin, user: {{token: {token}}}}}]
"""


@dataclass
class ApiServer:
    """``reset`` makes it anew: the same address and credential, another cluster."""

    directory: Path
    port: int
    token: str

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    def uid(self) -> str:
        with Cluster(self.kubeconfig) as cluster:
            return cluster.uid()

    def start(self) -> None:
        programs = obtain_all(["etcd", "kube-apiserver", "kube-controller-manager"], QuietReporter(), offline=True)
        etcd, peer = free_port(), free_port()
        client = f"http://127.0.0.1:{etcd}"
        at_peer = f"http://127.0.0.1:{peer}"
        self._spawn(
            programs["etcd"],
            data_dir=self.directory / "etcd",
            unsafe_no_fsync="true",
            listen_client_urls=client,
            advertise_client_urls=client,
            listen_peer_urls=at_peer,
            initial_advertise_peer_urls=at_peer,
            initial_cluster=f"default={at_peer}",
            log_level="warn",
        )
        self._spawn(
            programs["kube-apiserver"],
            etcd_servers=client,
            cert_dir=self.directory / "certs",
            bind_address="127.0.0.1",
            advertise_address="127.0.0.1",
            secure_port=self.port,
            service_cluster_ip_range="127.111.0.0/16",
            authorization_mode="RBAC",
            anonymous_auth="false",
            service_account_issuer="https://kubernetes.default.svc",
            service_account_key_file=self.directory / "sa.key",
            service_account_signing_key_file=self.directory / "sa.key",
            token_auth_file=self.directory / "tokens.csv",
        )
        poll(self._answers, Deadline.after(60), "start of the API server", every=0.2)
        self._spawn(
            programs["kube-controller-manager"],
            kubeconfig=self.kubeconfig,
            leader_elect="false",
            controllers="namespace-controller,garbage-collector-controller",
            secure_port=0,
        )

    def stop(self) -> None:
        for name in ("kube-controller-manager", "kube-apiserver", "etcd"):
            process = processes.load(self.directory / f"{name}.json")
            if process is not None:
                processes.stop(process, grace=5)

    def reset(self) -> None:
        self.stop()
        shutil.rmtree(self.directory / "etcd")
        self.start()

    def _answers(self) -> bool:
        with contextlib.suppress(ChandleryError):
            return bool(self.uid())
        return False

    def _spawn(self, program: Path, **flags: object) -> None:
        command = [str(program), *(f"--{name.replace('_', '-')}={value}" for name, value in flags.items())]
        processes.spawn(
            program.name, command, record=self.directory / f"{program.name}.json", log=self.directory / f"{program.name}.log"
        )


@contextlib.contextmanager
def api_server(directory: Path) -> Iterator[ApiServer]:
    server = ApiServer(directory, free_port(), secrets.token_hex(16))
    directory.mkdir(parents=True, exist_ok=True)
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    (directory / "sa.key").write_bytes(pem)
    (directory / "tokens.csv").write_text(f"{server.token},admin,admin,system:masters\n")
    server.kubeconfig.write_text(_KUBECONFIG.format(port=server.port, token=server.token))
    try:
        server.start()
        yield server
    finally:
        server.stop()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])

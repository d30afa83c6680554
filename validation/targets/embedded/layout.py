"""Where one embedded cluster keeps its things. Everything of a cluster lies below one directory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from base.errors import InvalidInput

#: Programs of a cluster in the order in which they are started; they are stopped the other way round.
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "host-agent")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Layout:
    """Paths of the cluster ``name`` in the state directory ``state``."""

    state: Path
    name: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise InvalidInput(f"{self.name!r} cannot name a cluster", todo="use up to 40 lower-case letters, digits and hyphens")

    @classmethod
    def of(cls, directory: Path) -> Layout:
        """The layout whose cluster directory is ``directory`` (``<state>/clusters/<name>``)."""
        return cls(directory.parent.parent, directory.name)

    @property
    def directory(self) -> Path:
        return self.state / "clusters" / self.name

    @property
    def deleted(self) -> Path:
        """Where the directory goes while it is deleted. No cluster can be called so."""
        return self.state / "clusters" / f".{self.name}.deleted"

    @property
    def kubeconfig(self) -> Path:
        """The admin's, handed out; 0600."""
        return self.directory / "kubeconfig"

    @property
    def settings(self) -> Path:
        return self.directory / "target.json"

    @property
    def pki(self) -> Path:
        return self.directory / "pki"

    @property
    def config(self) -> Path:
        """Files that the cluster's own programs read; rendered anew by each ``up``."""
        return self.directory / "config"

    @property
    def etcd(self) -> Path:
        return self.directory / "etcd"

    @property
    def logs(self) -> Path:
        return self.directory / "logs"

    @property
    def run(self) -> Path:
        """Process records, and the socket of the host agent."""
        return self.directory / "run"

    @property
    def pods(self) -> Path:
        """What the host agent keeps for the pods of node ``host``, one directory per pod UID."""
        return self.directory / "pods"

    @property
    def programs(self) -> Path:
        return self.directory / "programs.json"

    @property
    def lock(self) -> Path:
        """Held while the cluster is changed. Beside the directory, so that deleting the cluster leaves it alone."""
        return self.state / "clusters" / f"{self.name}.lock"

    def record(self, program: str) -> Path:
        return self.run / f"{program}.json"

    def log(self, program: str) -> Path:
        return self.logs / f"{program}.log"

    def component_kubeconfig(self, user: str) -> Path:
        return self.config / f"{user}.kubeconfig"

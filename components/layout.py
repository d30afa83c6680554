"""Where a stack's things lie in the state directory, and the environment in which Pulumi finds them."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from base.errors import NotFound, Unavailable
from base.files import lock, write_atomic

#: What makes the project: the same name and runtime as Pulumi.yaml at the repository root.
PROJECT_FILE = "name: chandlery\nruntime: python\n"


@dataclass(frozen=True, slots=True)
class Tools:
    """The Pulumi CLI, its version (``3.276.0``), and the environment (PATH, PULUMI_HOME ...) in which it finds the provider and
    the language host: what :func:`toolchain.pulumi.pulumi_environment` gives."""

    pulumi: Path
    version: str
    environment: Mapping[str, str]

    @classmethod
    def of(cls, environment: Mapping[str, str], version: str) -> Tools:
        """The CLI that comes first on the environment's PATH: the one with the language host beside it."""
        found = shutil.which("pulumi", path=environment.get("PATH"))
        if found is None:
            raise Unavailable("pulumi is not there", where=environment.get("PATH", ""), todo="run `chandlery doctor`")
        return cls(Path(found), version, environment)


@dataclass(frozen=True, slots=True)
class Layout:
    """``state`` is the state directory of the checkout (``.chandlery`` by default).

    Stack settings (``Pulumi.STACK.yaml``) lie in ``state/project``, to which ``stackConfigDir`` of the repository's
    Pulumi.yaml points as well. They hold the salt of the secrets in ``state/pulumi``; beside Pulumi.yaml, two state
    directories with a stack of one name would overwrite each other's.
    """

    state: Path
    stack: str

    @property
    def backend(self) -> Path:
        return self.state / "pulumi"

    @property
    def project(self) -> Path:
        return self.state / "project"

    @property
    def settings(self) -> Path:
        return self.project / f"Pulumi.{self.stack}.yaml"

    @property
    def passphrase(self) -> Path:
        return self.state / "passphrase"

    @property
    def cluster(self) -> Path:
        return self.state / "clusters" / self.stack

    @property
    def lock(self) -> Path:
        return self.cluster / "stack.lock"

    @property
    def engine_record(self) -> Path:
        return self.cluster / "run" / "pulumi.json"

    @property
    def intended(self) -> Path:
        return self.cluster / "run" / "intended.json"

    @property
    def log(self) -> Path:
        return self.cluster / "logs" / "pulumi.log"

    @property
    def scratch(self) -> Path:
        """The engine's TMPDIR: the provider writes a copy of the kubeconfig there and leaves it behind."""
        return self.cluster / "tmp"

    def prepare(self, *, encrypted: bool) -> None:
        """Make the directories, the project file and, once, the passphrase. ``encrypted``: there is state that needs it."""
        for directory in (self.backend, self.project, self.cluster, self.scratch):
            directory.mkdir(parents=True, exist_ok=True)
        self.scratch.chmod(0o700)
        if not (self.project / "Pulumi.yaml").exists():
            write_atomic(self.project / "Pulumi.yaml", PROJECT_FILE)
        with lock(self.state / ".passphrase.lock", "making the passphrase", wait=10):
            if self.passphrase.exists():
                return
            if encrypted:
                raise NotFound(
                    f"the passphrase of stack {self.stack} is gone, and its state cannot be read without it",
                    where=str(self.passphrase),
                    todo="put the file back, or move the state directory away and start anew",
                )
            write_atomic(self.passphrase, secrets.token_urlsafe(32) + "\n", mode=0o600)

    def environment(self, tools: Tools) -> dict[str, str]:
        """What plain ``pulumi`` needs to work on the same stack; the engine here gets the same."""
        return {
            **tools.environment,
            "PULUMI_BACKEND_URL": f"file://{self.backend}",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.passphrase),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            # Programs come from where the environment's PULUMI_HOME and the CLI's own directory say, of the pinned version;
            # a provider of another version that happens to be on PATH would be taken before them.
            "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
        }

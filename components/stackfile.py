"""What Pulumi's file backend has on disk about one stack: its checkpoint and its locks. Read only, but for dead locks
and stacks that are forgotten.

Read here and not through the CLI, since each call of the CLI costs half a second and `up` asks before every run. The
layout is that of Pulumi v3.276 (``pkg/backend/diy``): ``.pulumi/stacks/PROJECT/STACK.json`` and
``.pulumi/locks/organization/PROJECT/STACK/ID.json`` with ``{pid, username, hostname, timestamp}``.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from base.errors import InvalidInput
from base.processes import identity

PROJECT = "chandlery"
_PROVIDER = "pulumi:providers:kubernetes"
_CRD = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Pending:
    """An operation that an interrupted run had begun and not recorded the end of.

    ``operation`` is creating, updating, deleting ...; ``object`` the Kubernetes object as it was to be, empty for anything else.
    """

    operation: str
    urn: str
    object: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StackState:
    """``cluster_uid`` is the identity of the cluster that the resources are on, empty for a stack without any.

    ``salt`` belongs to the passphrase that the stack's secrets are encrypted with; ``crds`` are the names of the CRDs among the
    resources, ``outputs`` those of the stack (ours hold no secrets).
    """

    exists: bool
    cluster_uid: str = ""
    salt: str = ""
    kubeconfig: str = ""
    resources: int = 0
    pending: tuple[Pending, ...] = ()
    crds: frozenset[str] = frozenset()
    outputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock of the file backend. ``alive`` is False only when its process is known to be gone."""

    file: Path
    pid: int
    user: str
    host: str
    since: str
    alive: bool

    def __str__(self) -> str:
        return f"process {self.pid} ({self.user}@{self.host}) since {self.since}"


def checkpoint_path(backend: Path, stack: str) -> Path:
    return backend / ".pulumi" / "stacks" / PROJECT / f"{stack}.json"


def lock_dir(backend: Path, stack: str) -> Path:
    return backend / ".pulumi" / "locks" / "organization" / PROJECT / stack


def read_state(backend: Path, stack: str) -> StackState:
    """The stack's state as of its last checkpoint; a stack that was never made does not exist."""
    path = checkpoint_path(backend, stack)
    try:
        if path.exists():
            raw = json.loads(path.read_bytes())
        else:
            raw = json.loads(gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes()))
        return state_of(raw)
    except FileNotFoundError:
        return StackState(exists=False)
    except (ValueError, AttributeError, TypeError, EOFError, gzip.BadGzipFile) as error:
        raise InvalidInput(
            f"the state of stack {stack} cannot be read ({error})",
            where=str(path),
            todo=f"put the copy from before the last change in its place: {path}.bak",
        ) from error


def state_of(raw: Mapping[str, Any]) -> StackState:
    """The same from the checkpoint's JSON."""
    latest = (raw.get("checkpoint") or {}).get("latest") or {}
    resources = latest.get("resources") or []
    uid = kubeconfig = ""
    for resource in resources:
        if resource.get("type") == _PROVIDER and not resource.get("delete"):
            uid = str(resource.get("inputs", {}).get("clusterIdentifier", ""))
            kubeconfig = str(resource.get("inputs", {}).get("kubeconfig", ""))
    own = sum(1 for r in resources if str(r.get("type", "")).startswith("kubernetes:"))
    pending = tuple(_pending(op) for op in latest.get("pending_operations") or ())
    salt = str(((latest.get("secrets_providers") or {}).get("state") or {}).get("salt", ""))
    crds = frozenset(str(r["inputs"]["metadata"]["name"]) for r in resources if r.get("type") == _CRD)
    outputs = next((r.get("outputs") or {} for r in resources if r.get("type") == "pulumi:pulumi:Stack"), {})
    return StackState(True, uid, salt, kubeconfig, own, pending, crds, outputs)


def _pending(operation: Mapping[str, Any]) -> Pending:
    resource = operation.get("resource") or {}
    obj = resource.get("inputs") if str(resource.get("type", "")).startswith("kubernetes:") else None
    return Pending(str(operation.get("type", "")), str(resource.get("urn", "")), obj or {})


def read_locks(backend: Path, stack: str) -> tuple[Lock, ...]:
    """All locks on the stack, those of dead processes too."""
    locks = []
    directory = lock_dir(backend, stack)
    for file in sorted(directory.glob("*.json")) if directory.is_dir() else ():
        try:
            raw = json.loads(file.read_text())
            lock = Lock(file, int(raw["pid"]), str(raw["username"]), str(raw["hostname"]), str(raw["timestamp"]), True)
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError):
            # A lock of which the writer died half way says nothing about its holder, and holds all the same.
            lock = Lock(file, 0, "unknown", "unknown", time.ctime(_modified(file)), True)
        locks.append(_judged(lock))
    return tuple(locks)


def clear(lock: Lock) -> None:
    """Remove a dead process's lock: what ``pulumi cancel`` does, for this one lock alone."""
    with contextlib.suppress(FileNotFoundError):
        lock.file.unlink()
    with contextlib.suppress(FileNotFoundError):
        lock.file.with_name(f"{lock.file.name}.attrs").unlink()


def forget(state: Path, stack: str) -> bool:
    """Remove all records of a stack whose cluster is gone for good; False where there were none.

    ``state`` is the state directory. Not for a stack that somebody works on.
    """
    bookkeeping = state / "pulumi" / ".pulumi"
    found = sorted(checkpoint_path(state / "pulumi", stack).parent.glob(f"{stack}.json*"))
    for file in (*found, state / "project" / f"Pulumi.{stack}.yaml"):
        file.unlink(missing_ok=True)
    for kind in ("history", "backups"):
        shutil.rmtree(bookkeeping / kind / PROJECT / stack, ignore_errors=True)
    shutil.rmtree(lock_dir(state / "pulumi", stack), ignore_errors=True)
    return bool(found)


def _judged(lock: Lock) -> Lock:
    if lock.pid == 0 or lock.host != socket.gethostname():
        return lock
    start = identity(lock.pid)
    alive = start is not None and _epoch(start) <= _parse(lock.since) + 2.0
    return Lock(lock.file, lock.pid, lock.user, lock.host, lock.since, alive)


def _epoch(ticks: int) -> float:
    """Seconds since 1970 at which a process started, from its start in clock ticks since boot."""
    match = re.search(r"^btime (\d+)$", Path("/proc/stat").read_text(), re.MULTILINE)
    assert match is not None
    return int(match.group(1)) + ticks / os.sysconf("SC_CLK_TCK")


def _parse(timestamp: str) -> float:
    """RFC 3339 with up to nine decimals, of which Python reads six."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", timestamp)).timestamp()


def _modified(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0

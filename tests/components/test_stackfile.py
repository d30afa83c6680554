"""Pulumi's own files about a stack: what they say about its cluster, what was interrupted, and who holds it."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from base.errors import InvalidInput, Refused
from components.identity import same_cluster
from components.stackfile import Pending, StackState, checkpoint_path, clear, forget, lock_dir, read_locks, read_state

PROVIDER = {"type": "pulumi:providers:kubernetes", "inputs": {"clusterIdentifier": "uid-1", "kubeconfig": "/k"}}
OBJECT: dict[str, Any] = {
    "type": "kubernetes:core/v1:Namespace",
    "urn": "urn:pulumi:s::chandlery::kubernetes:core/v1:Namespace::a/b",
    "inputs": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}},
}


def write_checkpoint(backend: Path, latest: dict[str, Any], *, zipped: bool = False) -> None:
    path = checkpoint_path(backend, "s")
    path.parent.mkdir(parents=True)
    data = json.dumps({"version": 3, "checkpoint": {"latest": latest}}).encode()
    if zipped:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(data))
    else:
        path.write_bytes(data)


def write_lock(backend: Path, pid: int, *, host: str = "", since: datetime | None = None) -> Path:
    since = since or datetime.now(UTC)
    file = lock_dir(backend, "s") / "1b2c.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    timestamp = since.isoformat(timespec="microseconds").replace("+00:00", "123Z")
    file.write_text(json.dumps({"pid": pid, "username": "ann", "hostname": host or socket.gethostname(), "timestamp": timestamp}))
    return file


def test_a_stack_that_was_never_made_does_not_exist(tmp_path: Path) -> None:
    assert read_state(tmp_path, "s") == StackState(exists=False)


@pytest.mark.parametrize("zipped", [False, True])
def test_the_state_tells_cluster_objects_salt_and_what_was_pending(tmp_path: Path, zipped: bool) -> None:
    write_checkpoint(
        tmp_path,
        {
            "secrets_providers": {"type": "passphrase", "state": {"salt": "v1:abc"}},
            "resources": [PROVIDER, OBJECT, {"type": "chandlery:addons:CertManager"}],
            "pending_operations": [{"type": "creating", "resource": OBJECT}],
        },
        zipped=zipped,
    )
    found = read_state(tmp_path, "s")
    assert found == StackState(True, "uid-1", "v1:abc", "/k", 1, (Pending("creating", OBJECT["urn"], OBJECT["inputs"]),))


def test_a_provider_that_waits_for_its_deletion_is_not_the_stacks_cluster(tmp_path: Path) -> None:
    old = {**PROVIDER, "delete": True, "inputs": {"clusterIdentifier": "uid-0"}}
    write_checkpoint(tmp_path, {"resources": [PROVIDER, old]})
    assert read_state(tmp_path, "s").cluster_uid == "uid-1"


def test_the_lock_of_a_living_process_is_alive(tmp_path: Path) -> None:
    write_lock(tmp_path, os.getpid())
    (held,) = read_locks(tmp_path, "s")
    assert held.alive
    assert f"process {os.getpid()} (ann@{socket.gethostname()})" in str(held)


def test_the_lock_of_a_process_that_is_gone_is_dead_and_can_be_cleared(tmp_path: Path) -> None:
    gone = subprocess.run(["true"], check=True)
    assert gone.returncode == 0
    child = subprocess.Popen(["true"])
    child.wait()
    file = write_lock(tmp_path, child.pid)
    file.with_name(f"{file.name}.attrs").write_text("{}")
    (held,) = read_locks(tmp_path, "s")
    assert not held.alive
    clear(held)
    assert read_locks(tmp_path, "s") == ()
    assert list(file.parent.iterdir()) == []


def test_a_process_id_that_was_given_to_somebody_else_since_is_not_the_holder(tmp_path: Path) -> None:
    write_lock(tmp_path, os.getpid(), since=datetime.now(UTC) - timedelta(days=30))
    (held,) = read_locks(tmp_path, "s")
    assert not held.alive


def test_a_lock_from_another_machine_is_believed(tmp_path: Path) -> None:
    write_lock(tmp_path, 1, host="another-machine")
    (held,) = read_locks(tmp_path, "s")
    assert held.alive


def test_a_lock_that_cannot_be_read_holds_all_the_same(tmp_path: Path) -> None:
    write_lock(tmp_path, 1).write_text("{")
    (held,) = read_locks(tmp_path, "s")
    assert held.alive


def test_a_stack_and_its_cluster_belong_together() -> None:
    recorded = StackState(exists=True, cluster_uid="uid-1", resources=7)
    same_cluster("s", recorded, "uid-1", "uid-1")
    same_cluster("s", StackState(exists=False), "uid-2", "uid-2")
    same_cluster("s", StackState(exists=True, cluster_uid="uid-1", resources=0), "uid-2", "uid-2")


def test_a_cluster_that_was_made_anew_is_recognised_and_the_way_on_is_named() -> None:
    recorded = StackState(exists=True, cluster_uid="uid-1", resources=7)
    with pytest.raises(Refused, match="was made anew: its 7 recorded objects") as caught:
        same_cluster("s", recorded, "uid-2", "uid-2")
    assert "--replace-cluster" in caught.value.todo


def test_facts_about_another_cluster_are_not_acted_upon() -> None:
    with pytest.raises(Refused, match="not the one that was looked at"):
        same_cluster("s", StackState(exists=False), "uid-1", "uid-2")


def test_a_stack_is_forgotten_with_its_cluster_and_no_other_one(tmp_path: Path) -> None:
    backend = tmp_path / "pulumi"
    write_checkpoint(backend, {"resources": [PROVIDER]})
    checkpoint_path(backend, "s").with_name("s.json.bak").write_text("{}")
    checkpoint_path(backend, "s2").write_text("{}")
    write_lock(backend, 1)
    settings = tmp_path / "project" / "Pulumi.s.yaml"
    settings.parent.mkdir()
    settings.write_text("config: {}")
    assert forget(tmp_path, "s")
    assert read_state(backend, "s") == StackState(exists=False)
    assert read_locks(backend, "s") == ()
    assert not settings.exists()
    assert [path.name for path in checkpoint_path(backend, "s").parent.iterdir()] == ["s2.json"]
    assert not forget(tmp_path, "s")


def test_a_state_that_was_cut_off_is_an_error_that_names_file_and_copy(tmp_path: Path) -> None:
    path = checkpoint_path(tmp_path, "demo")
    path.parent.mkdir(parents=True)
    path.write_text('{"checkpoint": {"latest": {"resources": [{"type": "x')
    with pytest.raises(InvalidInput, match=r"demo\.json\.bak"):
        read_state(tmp_path, "demo")

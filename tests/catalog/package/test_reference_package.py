"""The reference engine's package gives its program what it needs, and nothing more."""

from __future__ import annotations

from pathlib import Path

from catalog.package.render import render_package
from catalog.read.load import ROOT
from schedulers.engine.rights import RULES


def test_the_cluster_role_is_what_the_engine_uses() -> None:
    package = ROOT / "addons" / "kai-reference" / "package"
    assert isinstance(package, Path)
    rendered = render_package(package, {"namespace": "kai-scheduler", "version": "0.1.0", "values": {}})
    (role,) = [obj for obj in rendered.objects if obj["kind"] == "ClusterRole"]
    assert role["rules"] == list(RULES)

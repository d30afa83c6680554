"""What KAI's releases newly may do: their rendered charts are test data beside the repository; skipped where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.package.render import documents
from catalog.supply.rights import Rights, new_rights, rights_of, summed

UPSTREAM = Path(__file__).resolve().parents[4] / "shared" / "upstream" / "kai-scheduler"
pytestmark = pytest.mark.skipif(not UPSTREAM.is_dir(), reason="KAI's charts are not beside the repository")


def rights(version: str) -> Rights:
    return rights_of(list(documents((UPSTREAM / version / "rendered.yaml").read_text("utf-8"), version)))


def fresh(old: str, new: str) -> dict[str, str]:
    return {right.what: " ".join(right.verbs) for right in summed(new_rights(rights(old), rights(new)))}


def test_kai_0_17_may_make_and_delete_resource_claims() -> None:
    assert fresh("v0.16.8", "v0.17.0") == {"kartas.run.ai": "get list watch", "resourceclaims.resource.k8s.io": "create delete"}


def test_kai_0_16_no_longer_reads_the_nodes_metrics() -> None:
    gone = fresh("v0.16.8", "v0.14.7")
    assert set(gone) == {"/metrics", "/metrics/cadvisor", "nodes/metrics", "ingresses.networking.k8s.io"}


def test_every_binding_of_kai_is_to_a_role_of_its_own() -> None:
    for version in ("v0.14.7", "v0.16.8", "v0.17.0"):
        found = rights(version)
        assert found.notes == ()
        assert {danger for right in summed(found.all) for danger in right.dangers} == {
            "crds-write",
            "pods-create",
            "secrets-read",
            "webhooks-write",
        }

"""The list of what a run is about to make."""

from __future__ import annotations

from pathlib import Path

from components import leftovers
from components.objects import resources
from components.stackfile import Pending
from tests.components.synthetic import crd, obj, queue

PLANNED = resources(
    "a", (crd("x.dev", "Thing"),), [obj("v1", "Namespace", "ns"), obj("apps/v1", "Deployment", "d", "ns"), queue("q")]
)


def test_what_outlives_the_stack_anyway_is_not_on_the_list() -> None:
    assert {str(entry) for entry in leftovers.intended(PLANNED)} == {"Namespace ns", "Deployment ns/d"}


def test_the_list_survives_writing_and_goes_away_empty(tmp_path: Path) -> None:
    file, wanted = tmp_path / "run" / "intended.json", leftovers.intended(PLANNED)
    assert leftovers.read(file) == frozenset()
    leftovers.write(file, wanted)
    assert leftovers.read(file) == wanted
    leftovers.write(file, ())
    assert not file.exists()


def test_a_damaged_list_is_no_list(tmp_path: Path) -> None:
    (tmp_path / "intended.json").write_text('[{"kind": ')
    assert leftovers.read(tmp_path / "intended.json") == frozenset()


def test_what_was_pending_creation_goes_on_the_list_too() -> None:
    pending = [
        Pending("creating", "urn", obj("v1", "ConfigMap", "c", "ns")),
        Pending("updating", "urn", obj("v1", "ConfigMap", "u", "ns")),
        Pending("creating", "urn", queue("q")),
        Pending("creating", "urn"),
    ]
    assert {str(entry) for entry in leftovers.interrupted(pending)} == {"ConfigMap ns/c"}


def test_workloads_go_before_what_they_stand_in() -> None:
    assert [str(entry) for entry in sorted(leftovers.intended(PLANNED), reverse=True)] == ["Deployment ns/d", "Namespace ns"]

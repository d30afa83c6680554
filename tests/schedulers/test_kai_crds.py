"""The generated CRDs: committed as generated, structural, and shaped like KAI's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from schedulers.kai import crds
from schedulers.kai.models import (
    RESOURCES,
    BindRequestSpec,
    PodGroupSpec,
    Queue,
    QueueResource,
    QueueResources,
    QueueSpec,
    Resource,
    SubGroup,
    TopologyLevel,
    TopologySpec,
)

#: KAI's own CRDs, as test data beside the checkout.
_UPSTREAM = Path(__file__).resolve().parents[3] / "shared" / "upstream" / "kai-scheduler" / "v0.17.0" / "crds"


def test_the_committed_files_are_what_the_models_generate() -> None:
    committed = {path.name: path.read_text() for path in crds.DIRECTORY.glob("*.yaml")}
    assert committed == crds.files(), "run `python -m schedulers.kai.crds`"


def test_writing_removes_what_is_no_longer_generated(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("old")
    crds.write(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(crds.files())


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.__name__)
def test_schemas_are_structural(resource: type[Resource]) -> None:
    """Kubernetes refuses references, and anything but a few keywords, in a structural schema."""
    for path, node in walk(crds.schema(resource)):
        assert "$ref" not in node, path
        assert "title" not in node, path
        assert "default" not in node, path
        if "anyOf" in node:
            assert node.get("x-kubernetes-int-or-string"), path
        else:
            assert isinstance(node.get("type"), str), path


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda r: r.__name__)
def test_fields_types_and_bounds_are_kais(resource: type[Resource]) -> None:
    kind = resource.kind_info
    upstream = _UPSTREAM / f"{kind.api_version.partition('/')[0]}_{kind.plural}.yaml"
    if not upstream.exists():
        pytest.skip("KAI's CRDs are not at hand")
    theirs = YAML(typ="safe").load(upstream)
    ours = crds.crd(resource)
    assert ours["spec"]["scope"] == theirs["spec"]["scope"]
    assert ours["spec"]["names"] == theirs["spec"]["names"]
    mine, reference = ours["spec"]["versions"][0], theirs["spec"]["versions"][0]
    assert mine.get("subresources") == reference.get("subresources")
    assert mine.get("additionalPrinterColumns") == reference.get("additionalPrinterColumns")
    left, right = facts(mine["schema"]["openAPIV3Schema"]), facts(reference["schema"]["openAPIV3Schema"])
    for path in [p for p, fact in left.items() if fact.get("x-kubernetes-preserve-unknown-fields")]:
        left[path].pop("x-kubernetes-preserve-unknown-fields")  # another API's structure, kept as it comes
        right = {p: fact for p, fact in right.items() if not p.startswith((f"{path}.", f"{path}[", f"{path}{{"))}
        right[path].pop("required", None)
    assert left == right


def walk(node: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from walk(child, f"{path}.{name}")
    if isinstance(node.get("items"), dict):
        yield from walk(node["items"], f"{path}[]")
    if isinstance(node.get("additionalProperties"), dict):
        yield from walk(node["additionalProperties"], f"{path}{{}}")


def facts(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What matters of every field: everything but prose, order, and the wording of rules."""
    result = {}
    for path, node in walk(schema):
        fact = {k: v for k, v in node.items() if k not in {"description", "properties", "items", "additionalProperties"}}
        if "required" in fact:
            fact["required"] = sorted(fact["required"])
        if "x-kubernetes-validations" in fact:
            fact["x-kubernetes-validations"] = len(fact["x-kubernetes-validations"])
        result[path] = fact
    return result


def test_a_manifest_says_only_what_was_set_and_whole_numbers_as_such() -> None:
    gpu = QueueResource(quota=2, limit=-1, over_quota_weight=0.5)
    spec = QueueSpec(parent_queue="top", resources=QueueResources(gpu=gpu))
    assert Queue.manifest("q", spec, labels={"a": "b"}) == {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "q", "labels": {"a": "b"}},
        "spec": {"parentQueue": "top", "resources": {"gpu": {"quota": 2, "limit": -1, "overQuotaWeight": 0.5}}},
    }
    quota = Queue.manifest("q", spec)["spec"]["resources"]["gpu"]["quota"]
    assert isinstance(quota, int)


def test_abbreviations_keep_their_capitals() -> None:
    spec = BindRequestSpec.model_validate({"podName": "p", "receivedGPU": {"count": 1}, "selectedGPUGroups": ["g"]})
    assert spec.dump() == {"podName": "p", "receivedGPU": {"count": 1}, "selectedGPUGroups": ["g"]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: QueueSpec.model_validate({"parentqueue": "typo"}),
        lambda: PodGroupSpec(min_member=0),
        lambda: PodGroupSpec.model_validate({"preemptibility": "maybe"}),
        lambda: SubGroup(name="Not_A_Label"),
        lambda: TopologySpec(levels=[]),
        lambda: TopologyLevel(node_label=""),
    ],
    ids=["misspelt-field", "min-member", "preemptibility", "subgroup-name", "no-levels", "empty-label"],
)
def test_what_the_api_server_would_refuse_cannot_be_made(make: Any) -> None:
    with pytest.raises(ValidationError):
        make()

"""The bill of materials: valid by CycloneDX's own schema, complete, and the same bytes each time."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from catalog.model import (
    Catalogue,
    ChartSource,
    FileSource,
    Image,
    ModuleSource,
    OciSource,
    PackageSource,
    RepositorySource,
)
from catalog.plan import Plan, PlanItem
from catalog.supply.sbom import bill_of_materials
from tests.catalog.crds.made import crd
from tests.catalog.supply.made import rendered
from tests.catalog.synthetic import PINNED, addon, version

SOURCES: dict[str, tuple[ChartSource, str, str]] = {
    "oci": (
        OciSource("registry.invalid/charts/Oci", "v1.0.0", PINNED, "sha256:" + "b" * 64),
        f"pkg:oci/oci@{PINNED}?repository_url=registry.invalid/charts/oci&tag=v1.0.0",
        "b" * 64,
    ),
    "unread": (OciSource("registry.invalid/unread", "v1"), "pkg:oci/unread?repository_url=registry.invalid/unread&tag=v1", ""),
    "module": (
        ModuleSource("example.invalid/Group/op", "v1.2.3", "h1:abc=", "helm/op"),
        "pkg:golang/example.invalid/group/op@v1.2.3#helm/op",
        "",
    ),
    "repository": (
        RepositorySource("https://charts.invalid", "op", "1.2.3", PINNED),
        "pkg:helm/op@1.2.3?repository_url=https://charts.invalid",
        "a" * 64,
    ),
    "file": (FileSource(Path("op.tgz"), PINNED), "pkg:generic/file@v1.0.0", "a" * 64),
    "package": (PackageSource(Path("package")), "pkg:generic/package@v1.0.0", ""),
}
SHARED = Image("registry.invalid/shared:1", PINNED)


def made() -> tuple[Plan, Catalogue, dict[str, Any]]:
    images = {"oci": (SHARED, Image("registry.invalid/own:1", operand=True)), "module": (SHARED,)}
    versions = {name: (version(name, source=source, images=images.get(name, ())),) for name, (source, _, _) in SOURCES.items()}
    catalogue = Catalogue({name: addon(name) for name in SOURCES}, versions, {})
    items = tuple(
        PlanItem(
            name, "1.0.0", name, "simulated" if name == "oci" else "real", {}, "x", requires=("oci",) if name == "module" else ()
        )
        for name in SOURCES
    )
    plan = Plan("demo", items, "oci", "x", "sha256:" + "d" * 64)
    return plan, catalogue, {name: rendered(name, crds=[crd()] if name == "module" else []) for name in SOURCES}


def bill(**more: Any) -> dict[str, Any]:
    plan, catalogue, objects = made()
    parsed: dict[str, Any] = json.loads(bill_of_materials(plan, catalogue, objects, **more))
    return parsed


def component(name: str) -> dict[str, Any]:
    (found,) = (one for one in bill()["components"] if one["bom-ref"].startswith(name))
    return dict(found)


def said(name: str) -> dict[str, str]:
    return {one["name"]: one["value"] for one in component(name)["properties"]}


@pytest.mark.parametrize("timestamp", [None, datetime.datetime(2026, 12, 1, tzinfo=datetime.UTC)])
def test_it_is_valid_by_the_official_schema(timestamp: datetime.datetime | None) -> None:
    plan, catalogue, objects = made()
    text = bill_of_materials(plan, catalogue, objects, timestamp=timestamp)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert json.loads(text)["metadata"].get("timestamp") == ("2026-12-01T00:00:00+00:00" if timestamp else None)
    broken = text.replace('"bomFormat": "CycloneDX"', '"bomFormat": "other"')
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(broken) is not None, "the validator looks"


def test_the_same_plan_gives_the_same_bytes() -> None:
    plan, catalogue, objects = made()
    one = bill_of_materials(plan, catalogue, objects)
    assert one == bill_of_materials(plan, catalogue, objects)
    turned = replace(plan, items=plan.items[::-1])
    assert one == bill_of_materials(turned, catalogue, objects), "the order of installation is no part of it"
    assert "serialNumber" not in json.loads(one)


@pytest.mark.parametrize("name", SOURCES)
def test_a_chart_has_its_package_url_and_a_hash_where_it_is_pinned(name: str) -> None:
    _, purl, sha256 = SOURCES[name]
    chart = component(f"chart:{name}@")
    assert chart["purl"] == purl
    assert [entry["content"] for entry in chart.get("hashes", [])] == ([sha256] if sha256 else [])


def test_an_image_stands_there_once_with_its_pin() -> None:
    shared, own = component("image:registry.invalid/shared"), component("image:registry.invalid/own")
    assert shared["purl"] == f"pkg:oci/shared@{PINNED}?repository_url=registry.invalid/shared&tag=1"
    assert shared["hashes"] == [{"alg": "SHA-256", "content": "a" * 64}]
    assert "hashes" not in own
    assert said("image:registry.invalid/own") == {"chandlery:pin": "unpinned", "chandlery:operand": "true"}


def test_state_sum_and_crds_are_said() -> None:
    assert said("addon:oci@")["chandlery:state"] == "simulated"
    assert said("chart:module@")["chandlery:sum"] == "h1:abc="
    assert said("crds:module@")["chandlery:crd"] == "things.demo.invalid"
    assert len(component("crds:module@")["hashes"][0]["content"]) == 64


def test_everything_hangs_together_below_the_cluster() -> None:
    parsed = bill()
    depends = {entry["ref"]: set(entry.get("dependsOn", ())) for entry in parsed["dependencies"]}
    assert parsed["metadata"]["component"]["bom-ref"] == "cluster"
    assert depends["cluster"] == {f"addon:{name}@1.0.0" for name in SOURCES}
    image = f"image:registry.invalid/shared:1@{PINNED}"
    assert depends["addon:module@1.0.0"] == {"chart:module@v1.0.0", image, "crds:module@1.0.0", "addon:oci@1.0.0"}
    reached, todo = set(), ["cluster"]
    while todo:
        ref = todo.pop()
        reached.add(ref)
        todo.extend(depends.get(ref, set()) - reached)
    assert reached >= {one["bom-ref"] for one in parsed["components"]}

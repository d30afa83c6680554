"""The whole way from a plan's item to objects: unknown values, placement, digests, and a cache that never renders again."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import InvalidInput, Refused
from catalog.model import Image
from catalog.plan import PlanItem
from spec.model import Placement
from tests.catalog.package.test_packager import Shop
from tests.catalog.synthetic import DEPLOYMENT, PINNED

VALUES = "replicas: 1\nscheduling: {tolerations: [{key: gpu, operator: Exists}], nodeSelector: {}}\n"
PLACED = DEPLOYMENT.replace(
    "      containers:",
    "      tolerations: {{ toYaml .Values.scheduling.tolerations | nindent 8 }}\n"
    "      nodeSelector: {{ toYaml .Values.scheduling.nodeSelector | nindent 8 }}\n"
    "      containers:",
)
PATHS = {"tolerations": ("scheduling.tolerations",), "nodeSelector": ("scheduling.nodeSelector",)}
PLACEMENT = Placement(({"key": "infra", "operator": "Exists"},), {"role": "infra"}, registry="m.invalid:5000/all")


def shop(root: Path, **fields: Any) -> Shop:
    return Shop(root, {"a.yaml": PLACED}, **{"files": {"values.yaml": VALUES}, "paths": PATHS, **fields})


def pod(made: Shop, item: PlanItem) -> dict[str, Any]:
    spec: dict[str, Any] = made.packager().render(item).objects[1]["spec"]["template"]["spec"]
    return spec


def test_a_value_of_the_spec_that_the_chart_ignores_is_refused_whenever_it_is_asked_for(tmp_path: Path) -> None:
    made = shop(tmp_path)
    item = replace(made.item(replica=3), given={"replica": 3})
    for _ in range(2):
        with pytest.raises(InvalidInput, match=r"values\.replica: unknown to the chart \(did you mean replicas\?\)"):
            made.packager().render(item)
    assert made.helm.asked == 0
    assert made.packager().render(made.item(replica=3)).objects  # the package's own are a matter of lint


def test_pods_get_what_the_cluster_asks_beside_what_the_chart_says(tmp_path: Path) -> None:
    made = shop(tmp_path)
    found = pod(made, replace(made.item(), placement=PLACEMENT))
    assert [one["key"] for one in found["tolerations"]] == ["gpu", "infra"]
    assert found["nodeSelector"] == {"role": "infra"}
    assert found["containers"][0]["image"] == "m.invalid:5000/all/demo:v1.0.0"
    rendered = made.packager().render(replace(made.item(), placement=PLACEMENT))
    assert rendered.images == ("registry.invalid/demo:v1.0.0",)  # as the catalogue names it
    assert pod(made, made.item())["containers"][0]["image"] == "registry.invalid/demo:v1.0.0"


def test_a_pod_that_does_not_get_it_is_refused_with_the_missing_path(tmp_path: Path) -> None:
    made = shop(tmp_path, paths={"tolerations": ("scheduling.elsewhere",)})
    with pytest.raises(Refused) as caught:
        made.packager().render(replace(made.item(), placement=PLACEMENT))
    assert "Deployment demo-ns/demo does not get the toleration of infra: none of scheduling.elsewhere reaches it" in str(
        caught.value
    )
    assert "the node selector role=infra: the add-on has no such path (`paths.nodeSelector`" in str(caught.value)


def test_an_image_that_stays_outside_of_the_mirror_is_refused(tmp_path: Path) -> None:
    resource = "\n---\napiVersion: demo.invalid/v1\nkind: Part\nmetadata: {name: p, namespace: x}\nspec: {image: bare}\n"
    images = (Image("registry.invalid/demo:v1.0.0"), Image("bare-1:1", operand=True))
    made = Shop(tmp_path, {"a.yaml": PLACED + resource}, files={"values.yaml": VALUES}, paths=PATHS, images=images)
    with pytest.raises(Refused, match=r"cannot be taken out of m\.invalid:5000/all: bare"):
        made.packager().render(replace(made.item(), placement=PLACEMENT))
    assert made.packager().render(made.item()).objects


def test_what_runs_is_what_was_pinned(tmp_path: Path) -> None:
    made = shop(tmp_path, images=(Image("registry.invalid/demo:v1.0.0", PINNED),))
    assert pod(made, made.item())["containers"][0]["image"] == f"registry.invalid/demo:v1.0.0@{PINNED}"


def test_a_new_pin_is_rendered_anew(tmp_path: Path) -> None:
    loose = shop(tmp_path)
    before = loose.packager().render(loose.item()).digest
    pinned = shop(tmp_path, images=(Image("registry.invalid/demo:v1.0.0", PINNED),))
    assert pinned.packager().render(pinned.item()).digest != before


def test_a_cache_hit_renders_nothing_and_is_quick(tmp_path: Path) -> None:
    many = "\n---\n".join(PLACED.replace("name: {{ .Release.Name }}", f"name: part-{index}") for index in range(100))
    made = Shop(tmp_path, {"a.yaml": many}, files={"values.yaml": VALUES}, paths=PATHS)
    first = made.packager().render(made.item())
    assert len(first.objects) == 101
    asked, taken = made.helm.asked, []
    for _ in range(5):
        begun = time.perf_counter()
        assert made.packager().render(made.item()) == first
        taken.append(time.perf_counter() - begun)
    assert made.helm.asked == asked
    assert min(taken) < 0.02

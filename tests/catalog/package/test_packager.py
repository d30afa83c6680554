"""From a plan item to objects: rendered by Helm's engine, checked against the catalogue, kept and found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import InvalidInput, NotFound, Refused
from catalog.model import AddonVersion, Catalogue, DroppedHook, FileSource, Image, ModuleSource, PackageSource
from catalog.obtain.archive import sha256
from catalog.package.objects import label
from catalog.package.packager import Packager
from catalog.package.render import HelmLibrary, Release, Templates, documents
from catalog.plan import PlanItem
from tests.catalog.synthetic import DEPLOYMENT, addon, packaged, version

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.demo.invalid}
spec: {group: demo.invalid, scope: Cluster, names: {kind: Thing, plural: things}, versions: []}
"""
HOOK = """\
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {helm.sh/hook: pre-install}}
"""


class CountingHelm:
    """Helm's engine, counting how often it is asked."""

    def __init__(self) -> None:
        self.helm, self.asked = HelmLibrary(), 0

    @property
    def identity(self) -> str:
        return self.helm.identity

    def render(self, archive: bytes, release: Release) -> Templates:
        self.asked += 1
        return self.helm.render(archive, release)


class Shop:
    """A packager over a catalogue of one add-on, ``demo``, whose chart has the given templates."""

    def __init__(self, root: Path, templates: Mapping[str, str] | None = None, **fields: Any) -> None:
        files = fields.pop("files", {})
        archive = packaged(templates=templates, **files)
        path = root / "demo.tgz"
        path.write_bytes(archive)
        images = fields.pop("images", (Image("registry.invalid/demo:v1.0.0"),))
        self.version = version("demo", source=FileSource(path, sha256(archive)), images=images, **fields)
        self.catalogue = Catalogue({"demo": addon("demo")}, {"demo": (self.version,)}, {})
        self.helm = CountingHelm()
        self.root = root

    def packager(self) -> Packager:
        return Packager(self.catalogue, self.root / "cache", fetch_module=no_module, renderer=self.helm)

    def item(self, **values: Any) -> PlanItem:
        return PlanItem("demo", "1.0.0", "demo-ns", "real", values, "x")


def no_module(source: ModuleSource) -> Path:
    raise AssertionError(f"{source} is not wanted here")


def test_a_chart_becomes_objects_with_the_catalogues_versions(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    rendered = shop.packager().render(shop.item(replicas=3))
    assert [label(o) for o in rendered.objects] == ["Namespace demo-ns", "Deployment demo-ns/demo"]
    deployment = rendered.objects[1]
    assert deployment["spec"]["replicas"] == 3
    assert deployment["metadata"]["labels"] == {"chart": "demo-v1.0.0"}
    assert rendered.images == ("registry.invalid/demo:v1.0.0",)
    assert (rendered.addon, rendered.version, rendered.crds, rendered.hooks) == ("demo", "1.0.0", (), ())


def test_the_same_inputs_are_never_rendered_twice(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    one = shop.packager().render(shop.item(replicas=3))
    assert shop.packager().render(shop.item(replicas=3)) == one
    assert shop.helm.asked == 2  # the first time twice: once does not show what a chart makes up
    assert shop.packager().render(shop.item(replicas=4)).digest != one.digest
    assert shop.helm.asked == 4


def test_what_is_kept_is_the_same_as_what_was_rendered(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"deployment.yaml": DEPLOYMENT, "crd.yaml": CRD}, crds=("things.demo.invalid",))
    first, second = shop.packager().render(shop.item()), shop.packager().render(shop.item())
    assert first == second
    assert [crd["metadata"]["name"] for crd in second.crds] == ["things.demo.invalid"]


def test_a_damaged_cache_is_rendered_again(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    one = shop.packager().render(shop.item())
    for path in (tmp_path / "cache/renders/blobs/sha256").iterdir():
        path.write_text("{}")
    assert shop.packager().render(shop.item()) == one
    assert shop.helm.asked == 4


def test_crds_are_split_off_from_templates_and_from_the_crds_directory(tmp_path: Path) -> None:
    other = CRD.replace("things", "parts").replace("Thing", "Part")
    shop = Shop(tmp_path, {"crd.yaml": CRD}, files={"crds/parts.yaml": other}, crds=("things.demo.invalid", "parts.demo.invalid"))
    rendered = shop.packager().render(shop.item())
    assert [crd["metadata"]["name"] for crd in rendered.crds] == ["parts.demo.invalid", "things.demo.invalid"]
    assert rendered.objects == ()


@pytest.mark.parametrize(
    ("owned", "message"),
    [
        ((), "renders things.demo.invalid, which it does not own"),
        (("things.demo.invalid", "x.y"), "does not render x.y, which it owns"),
    ],
)
def test_crds_that_the_catalogue_does_not_name_are_refused(tmp_path: Path, owned: tuple[str, ...], message: str) -> None:
    shop = Shop(tmp_path, {"crd.yaml": CRD}, crds=owned)
    with pytest.raises(Refused, match=message):
        shop.packager().render(shop.item())


def test_an_image_that_the_version_file_does_not_name_is_refused(tmp_path: Path) -> None:
    shop = Shop(tmp_path, images=(Image("registry.invalid/demo:v0.9.0"),))
    with pytest.raises(Refused, match=r"images that the catalogue does not name: registry\.invalid/demo:v1\.0\.0"):
        shop.packager().render(shop.item())


def test_hooks_are_dropped_only_where_the_addon_says_why(tmp_path: Path) -> None:
    templates = {"deployment.yaml": DEPLOYMENT, "hook.yaml": HOOK}
    with pytest.raises(Refused, match="nobody has looked at"):
        Shop(tmp_path, templates).packager().render(Shop(tmp_path, templates).item())
    shop = Shop(tmp_path, templates, hooks=(DroppedHook("Job", "migrate", "nothing to migrate"),))
    assert shop.packager().render(shop.item()).hooks == ("Job migrate (pre-install)",)


def test_an_object_that_is_rendered_twice_is_refused(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"a.yaml": DEPLOYMENT, "b.yaml": DEPLOYMENT})
    with pytest.raises(Refused, match="renders Deployment demo twice"):
        shop.packager().render(shop.item())


def test_values_that_the_chart_refuses_are_invalid_input_with_the_charts_reason(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"x.yaml": '{{ fail "replicas must be odd" }}'})
    with pytest.raises(InvalidInput, match="replicas must be odd"):
        shop.packager().render(shop.item())


def test_a_chart_that_renders_no_yaml_is_invalid_input(tmp_path: Path) -> None:
    shop = Shop(tmp_path, {"x.yaml": "a: b: c"})
    with pytest.raises(InvalidInput, match="is no YAML mapping"):
        shop.packager().render(shop.item())


def test_notes_and_empty_documents_are_passed_over(tmp_path: Path) -> None:
    templates = {
        "NOTES.txt": "not: yaml: at all",
        "a.yaml": f"---\n# nothing\n---\n{DEPLOYMENT}\n---\n",
        "_h.tpl": '{{ define "x" }}{{ end }}',
    }
    shop = Shop(tmp_path, templates)
    assert [label(o) for o in shop.packager().render(shop.item()).objects] == ["Namespace demo-ns", "Deployment demo-ns/demo"]


def test_documents_end_at_a_line_of_dashes_and_not_inside_of_a_text() -> None:
    text = "a: |\n  ---\n  b\n--- # next\nc: no\n"
    assert list(documents(text, "x")) == [{"a": "---\nb\n"}, {"c": False}]


def test_a_version_that_the_catalogue_has_not_is_not_found(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with pytest.raises(NotFound, match=r"version 9\.9\.9 of demo"):
        shop.packager().render(replace(shop.item(), version="9.9.9"))


def package(root: Path, **files: str) -> tuple[Catalogue, AddonVersion]:
    """A package of our own with these manifests, and one CRD beside it."""
    for path, text in {"package/a.yaml.j2": DEPLOYED, "crds/things.yaml": CRD, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    made = version("demo", source=PackageSource(root / "package"), images=(Image("chandlery.invalid/demo:1.0.0"),))
    made = replace(made, crds=("things.demo.invalid",))
    return Catalogue({"demo": addon("demo")}, {"demo": (made,)}, {}), made


DEPLOYED = """\
apiVersion: v1
kind: Pod
metadata: {name: engine, namespace: {{ namespace }}, labels: {answer: "{{ values.answer }}"}}
spec: {containers: [{name: engine, image: "chandlery.invalid/demo:{{ version }}"}]}
"""
ITEM = PlanItem("demo", "1.0.0", "demo-ns", "reference", {"answer": "yes"}, "x")


def test_a_package_of_our_own_is_rendered_from_its_manifests(tmp_path: Path) -> None:
    made, _ = package(tmp_path)
    rendered = Packager(made, tmp_path / "cache", fetch_module=no_module).render(ITEM)
    assert [label(o) for o in rendered.objects] == ["Namespace demo-ns", "Pod demo-ns/engine"]
    assert rendered.objects[1]["metadata"]["labels"] == {"answer": "yes"}
    assert [crd["metadata"]["name"] for crd in rendered.crds] == ["things.demo.invalid"]


def test_a_changed_manifest_of_our_own_is_rendered_anew(tmp_path: Path) -> None:
    made, _ = package(tmp_path)
    one = Packager(made, tmp_path / "cache", fetch_module=no_module).render(ITEM)
    (tmp_path / "package/a.yaml.j2").write_text(DEPLOYED.replace("engine", "motor"))
    assert Packager(made, tmp_path / "cache", fetch_module=no_module).render(ITEM).digest != one.digest


def test_a_manifest_that_asks_for_what_is_not_there_is_told(tmp_path: Path) -> None:
    made, _ = package(tmp_path)
    with pytest.raises(InvalidInput, match="'dict object' has no attribute 'answer'"):
        Packager(made, tmp_path / "cache", fetch_module=no_module).render(replace(ITEM, values={}))

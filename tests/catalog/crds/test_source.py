"""Where CRDs are taken from, and what is no CRD."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import InvalidInput, NotFound, SpecError
from catalog.crds.diff import compare
from catalog.crds.shape import shape_problem
from catalog.crds.source import crds_in, crds_of
from catalog.crds.waivers import read_waivers
from catalog.model import Catalogue, FileSource, ModuleSource
from catalog.obtain.archive import sha256
from catalog.package.packager import Packager
from catalog.supply.items import item_of
from tests.catalog.crds.made import SCHEMAS, crd, field, version
from tests.catalog.synthetic import addon, chart_files, packaged
from tests.catalog.synthetic import version as addon_version

BROKEN_TEMPLATE = '{{ fail "no values" }}'


def chart(tmp_path: Path, names: tuple[str, ...], templates: dict[str, str], **files: str) -> tuple[Packager, Any]:
    archive = packaged(templates=templates, **files)
    (tmp_path / "demo.tgz").write_bytes(archive)
    found = addon_version("demo", source=FileSource(tmp_path / "demo.tgz", sha256(archive)), crds=names)
    catalogue = Catalogue({"demo": addon("demo")}, {"demo": (found,)}, {})

    def no_module(source: ModuleSource) -> Path:
        raise AssertionError(f"{source} is not wanted here")

    return Packager(catalogue, tmp_path / "cache", fetch_module=no_module), found


def test_crds_beside_the_templates_need_no_rendering(tmp_path: Path) -> None:
    assert "templates/deployment.yaml" in chart_files()
    packager, found = chart(tmp_path, ("things.demo.invalid",), {"a.yaml": BROKEN_TEMPLATE}, **{"crds/a.yaml": json.dumps(crd())})
    assert [c["metadata"]["name"] for c in crds_of(packager, item_of(addon("demo"), found), found)] == ["things.demo.invalid"]


def test_crds_among_the_templates_are_rendered(tmp_path: Path) -> None:
    packager, found = chart(tmp_path, ("things.demo.invalid",), {"a.yaml": json.dumps(crd())})
    assert [c["metadata"]["name"] for c in crds_of(packager, item_of(addon("demo"), found), found)] == ["things.demo.invalid"]
    packager, found = chart(tmp_path, (), {"a.yaml": BROKEN_TEMPLATE})
    assert crds_of(packager, item_of(addon("demo"), found), found) == ()


def test_crds_are_read_from_a_file_or_a_directory(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(json.dumps(crd()) + "\n---\n" + json.dumps({"apiVersion": "v1", "kind": "List"}))
    (tmp_path / "two.yml").write_text(json.dumps(crd(name="parts.demo.invalid")))
    assert [c["metadata"]["name"] for c in crds_in(tmp_path)] == ["parts.demo.invalid", "things.demo.invalid"]
    assert len(crds_in(tmp_path / "one.yaml")) == 1


def test_nothing_to_compare_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "none.yaml").write_text("kind: Other\n")
    for path in (tmp_path / "absent", tmp_path, tmp_path / "none.yaml"):
        with pytest.raises(NotFound):
            crds_in(path)
    (tmp_path / "none.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InvalidInput, match="UTF-8"):
        crds_in(tmp_path)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda c: c.pop("spec"), "no name or no spec"),
        (lambda c: c["metadata"].pop("name"), "no name or no spec"),
        (lambda c: c["metadata"].update(labels=[]), "labels"),
        (lambda c: c["spec"]["names"].pop("kind"), "no kind"),
        (lambda c: c["spec"].pop("scope"), "no scope"),
        (lambda c: c["spec"].update(versions=[]), "versions is empty"),
        (lambda c: c["spec"].update(versions=[{}]), "a version has no name"),
        (lambda c: c["spec"].update(conversion=[]), "conversion"),
        (lambda c: c["spec"]["versions"][0].update(subresources=[]), "subresources of v1"),
        (lambda c: c["spec"]["versions"][0].update(schema=[]), "schema of v1"),
        (lambda c: c["spec"]["versions"][0].update(selectableFields=[{}]), "selectableFields of v1"),
    ],
)
def test_what_is_no_crd_is_refused_in_words(tmp_path: Path, change: Any, problem: str) -> None:
    body = copy.deepcopy(crd())
    change(body)
    (tmp_path / "a.yaml").write_text(json.dumps(body))
    with pytest.raises(InvalidInput, match=problem):
        crds_in(tmp_path)


@pytest.mark.parametrize(
    "node",
    [
        {"properties": []},
        {"properties": {"a": 1}},
        {"items": 1},
        {"additionalProperties": "x"},
        {"allOf": {}},
        {"anyOf": [1]},
        {"not": 1},
        {"required": "a"},
        {"required": [1]},
        {"enum": "a"},
        {"minimum": "1"},
        {"maxLength": True},
        {"type": ["string"]},
        {"nullable": "yes"},
        {"x-kubernetes-validations": ["a"]},
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_place(node: dict[str, Any]) -> None:
    assert shape_problem(crd(field(node))).startswith("schema of v1.properties.spec.properties.f")


@settings(deadline=None)
@given(SCHEMAS)
def test_every_structural_schema_has_the_shape(schema: dict[str, Any]) -> None:
    assert shape_problem(crd(version(root={"type": "object", "properties": {"spec": schema}}))) == ""


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(allow_nan=False), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A CRD with one node, anywhere, replaced by something else."""
    body = copy.deepcopy(
        crd(version(root={"type": "object", "properties": {"spec": draw(SCHEMAS)}}, subresources={"status": {}}))
    )
    places: list[tuple[Any, Any]] = []

    def walk(node: Any) -> None:
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(body)
    node, key = draw(st.sampled_from(places))
    node[key] = draw(JSON)
    return body


@settings(deadline=None, max_examples=300)
@given(damaged())
def test_a_damaged_crd_is_refused_in_words_or_compared(body: dict[str, Any]) -> None:
    if not shape_problem(body):
        compare([body], [crd()])
        compare([crd()], [body])
        compare([body], [copy.deepcopy(body)])


WAIVERS = st.one_of(
    st.binary(max_size=80),
    st.text(max_size=80).map(str.encode),
    JSON.map(lambda value: json.dumps({"waivers": value}).encode()),
)


@settings(deadline=None)
@given(WAIVERS)
def test_fuzzed_waivers_are_read_or_refused_in_words(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("w") / "waivers.yaml"
    path.write_bytes(data)
    with contextlib.suppress(SpecError):
        read_waivers(path)

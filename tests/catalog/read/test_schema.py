"""The exported schemas and the reader are one description: what an editor marks, the reader refuses, and never the other way."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from base.errors import ChandleryError
from base.yamltree import parse, plain
from catalog.read.files import Defaults, read_addon, read_channel, read_edges, read_noops, read_version
from catalog.read.load import ROOT, load
from catalog.read.schema import FILES, schema
from catalog.read.sources import Found
from spec.reader import root
from tests.catalog.synthetic import addon

REAL = {kind: sorted(ROOT.parent.glob(pattern)) for kind, (_, pattern) in FILES.items()}
VALIDATORS = {kind: jsonschema.Draft202012Validator(schema(kind)) for kind in FILES}
READERS: dict[str, Any] = {
    "addon": read_addon,
    "version": lambda section: read_version(section, addon("demo"), Path("demo"), Defaults()),
    "edges": lambda section: read_edges(section, addon("demo")),
    "noops": lambda section: read_noops(section, addon("demo")),
    "channel": read_channel,
}
#: One file of each kind that says everything that can be said.
FULL: dict[str, Any] = json.loads((Path(__file__).parent / "full.json").read_text())


def problems(kind: str, data: bytes) -> list[str]:
    """What the reader has against a file, read alone."""
    found = Found()
    tree, broken = parse(data, "file.yaml")
    found.found.extend(broken)
    if tree is not None:
        section = root(tree, tuple(FILES[kind][0].fields), found)
        if section is not None:
            READERS[kind](section)
    return [str(problem) for problem in found.found]


@pytest.mark.parametrize("kind", FILES)
def test_a_schema_is_one(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema(kind))
    assert json.loads(json.dumps(schema(kind))) == schema(kind)


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in REAL.items() for path in paths], ids=str)
def test_every_file_of_the_catalogue_is_as_its_schema_says(kind: str, path: Path) -> None:
    tree, broken = parse(path.read_bytes(), str(path))
    assert tree is not None
    assert not broken
    VALIDATORS[kind].validate(plain(tree))


def test_there_are_files_of_every_kind() -> None:
    assert all(REAL.values())


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_says_everything_is_right_for_both(kind: str) -> None:
    for one in FULL[kind]:
        VALIDATORS[kind].validate(one)
        assert problems(kind, json.dumps(one).encode()) == []


@pytest.mark.parametrize("kind", FILES)
def test_a_file_that_says_everything_leaves_no_field_out(kind: str) -> None:
    """So that the tests below reach every field there is."""

    def fields(node: Any, path: str = "") -> Iterator[str]:
        for part in node.get("oneOf", ()):
            yield from fields(part, path)
        for name, field in node.get("properties", {}).items():
            yield f"{path}.{name}"
            yield from fields(field, f"{path}.{name}")
        if "items" in node:
            yield from fields(node["items"], f"{path}[]")

    def said(node: Any, path: str = "") -> Iterator[str]:
        if isinstance(node, dict):
            for name, value in node.items():
                yield f"{path}.{name}"
                yield from said(value, f"{path}.{name}")
        elif isinstance(node, list):
            for value in node:
                yield from said(value, f"{path}[]")

    assert set(fields(schema(kind))) - {path for one in FULL[kind] for path in said(one)} == set()


def spots(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a tree, itself included."""
    yield path
    for key, value in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        yield from spots(value, (*path, key))


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 10**6), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8),
    st.sampled_from(["unpinned", "latest", "embedded", "oci", "file", "driver", "nri", "semver", "sha256:0", "a/b:c", "1.36"]),
)  # fmt: skip
TREES = st.recursive(
    SCALARS,
    lambda kids: st.one_of(st.lists(kids, max_size=2), st.dictionaries(st.text(max_size=6), kids, max_size=2)),
    max_leaves=4,
)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, Any]:
    """A right file of some kind with up to three places replaced, left out, doubled, or given a field more."""
    kind = draw(st.sampled_from(sorted(FILES)))
    tree: Any = {"": copy.deepcopy(draw(st.sampled_from(FULL[kind])))}
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from([spot for spot in spots(tree) if spot]))
        *way, last = path
        node = tree
        for step in way:
            node = node[step]
        action = draw(st.sampled_from(["replace", "drop", "add", "move"]))
        if action == "replace" or len(path) == 1:
            node[last] = draw(TREES)
        elif action == "drop":
            del node[last]
        elif isinstance(node, dict):
            name = draw(st.one_of(st.text(max_size=6), st.sampled_from(["range", "words", "digest", "addon", "to", "source"])))
            node[name] = node.pop(last) if action == "move" else draw(TREES)
        else:
            node.append(draw(TREES))
    return kind, tree[""]


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(mutated())
def test_what_a_schema_refuses_the_reader_refuses(case: tuple[str, Any]) -> None:
    kind, tree = case
    found = problems(kind, json.dumps(tree, ensure_ascii=False).encode())
    errors = [error.message for error in VALIDATORS[kind].iter_errors(tree)]
    assert not errors or found


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(sorted(FILES)), data=st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)))
def test_any_bytes_are_read_or_told(kind: str, data: bytes) -> None:
    assert isinstance(problems(kind, data), list)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(case=mutated(), junk=st.binary(max_size=30), at=st.integers(0, 2000))
def test_a_broken_catalogue_is_told_and_never_a_fault_of_ours(
    tmp_path: Path, case: tuple[str, Any], junk: bytes, at: int
) -> None:
    """The whole way from the disk, with one mutated file and some bytes of it replaced."""
    kind, tree = case
    places = {
        "addon": "addons/demo/addon.yaml", "version": "addons/demo/versions/1.0.0.yaml",
        "edges": "addons/demo/edges.yaml", "noops": "addons/demo/noops.yaml", "channel": "channels/edge.yaml",
    }  # fmt: skip
    for name, place in places.items():
        data = json.dumps(tree if name == kind else FULL[name][0], ensure_ascii=False).encode()
        path = tmp_path / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[:at] + junk + data[at + len(junk) :] if name == kind else data)
    for eager in (True, False):
        with contextlib.suppress(ChandleryError):
            made = load(tmp_path, eager=eager)
            assert [made.versions[name] for name in made.addons]
            dict(made.edges)

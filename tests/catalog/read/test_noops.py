"""The list of values that do nothing is read with its lines, and each version has what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import SpecError
from catalog.read.load import load
from tests.catalog.read.test_load import VERSION, write

NOOPS = """\
noops:
  - {path: binder.name, instead: nothing does, source: the chart}
  - {path: scheduler.replicas, versions: "<1.1.0", instead: operator.replicaCount, source: demo#7}
"""


def put(root: Path, text: str) -> Path:
    write(root)
    (root / "addons/demo/versions/1.1.0.yaml").write_text(VERSION.replace("1.0.0", "1.1.0"))
    (root / "addons/demo/noops.yaml").write_text(text)
    return root


def test_each_version_has_what_is_said_of_it(tmp_path: Path) -> None:
    made = load(put(tmp_path, NOOPS))
    paths = {version.version: [noop.path for noop in version.noops] for version in made.versions["demo"]}
    assert paths == {"1.0.0": ["binder.name", "scheduler.replicas"], "1.1.0": ["binder.name"]}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("noops:\n  - {path: a, source: x}\n", "noops.yaml:2:5: noops[0].instead: is missing"),
        (
            "noops:\n  - {path: a, source: x, instead: y, versions: soon}\n",
            "noops.yaml:2:38: noops[0].versions: 'soon' is no semver",
        ),
        ("noops: {a: b}\n", "noops.yaml:1:1: noops: expected a list"),
        ("values: []\n", "unknown field"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(put(tmp_path, text), eager=True)
    assert problem in str(caught.value)
    assert len(caught.value.problems) == len(set(caught.value.problems))

"""Lint of files: lines are those of the fields, whatever file a version has them from, and the output can be relied on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.lint.output import as_data, as_sarif, as_text, counts
from catalog.lint.rules import RULES
from catalog.lint.run import lint_directory
from catalog.lint.world import Finding
from cli.app import chandlery

ADDON = """\
name: demo
title: Demo
role: slurm
namespace: demo
upstream: http://demo.invalid
targets: [cluster]
hooks:
  - {kind: Job, name: upgrade, reason: none}
paths: {tolerations: [tolerations]}
"""
VERSION = """\
version: 1.0.0
released: "2026-05-01"
support: some
chart: {source: oci, repository: r.invalid/demo, tag: v1.0.0, digest: unpinned, archiveDigest: unpinned, chartVersion: v1.0.0}
images:
  - reference: r.invalid/demo:v1.0.0
  - reference: demo/demo:v1.0.0
compatibility:
  kubernetes: {from: "1.30", source: made up}
guards:
  - path: crds.enabled
    why: x
issues:
  - id: odd
    title: odd
    reference: demo#1
    guard: crds.enabled
"""
CHANNEL = "name: edge\nallowsUnpinned: true\nversions:\n  demo: 1.0.0\n"
TEMPLATE = "# what is set\ndefaults: {}\nguards:\n  crds:\n    enabled: false\n  other: 1\n"
SCHEMA = """\
{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "x": {"type": "string", "default": "a"}
  }
}
"""
FILES = {
    "catalog/addons/demo/addon.yaml": ADDON,
    "catalog/addons/demo/versions/1.0.0.yaml": VERSION,
    "catalog/addons/demo/values.yaml.j2": TEMPLATE,
    "catalog/addons/demo/config.schema.json": SCHEMA,
    "catalog/channels/edge.yaml": CHANNEL,
}


def write(root: Path, **changes: str) -> Path:
    for path, text in {**FILES, **changes}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root / "catalog"


def findings(root: Path) -> list[Finding]:
    return lint_directory(root)[0]


def lines(root: Path) -> dict[str, str]:
    return {finding.rule.id: str(finding.position) for finding in findings(root)}


def test_a_finding_has_the_line_of_its_field_whatever_file_has_it(tmp_path: Path) -> None:
    found = lines(write(tmp_path))
    assert found["CAT106"] == "catalog/addons/demo/versions/1.0.0.yaml:7:5"
    assert found["CAT302"] == "catalog/addons/demo/versions/1.0.0.yaml:14:5"
    assert found["CAT109"] == "catalog/addons/demo/addon.yaml:5:1"
    assert found["CAT706"] == "catalog/addons/demo/addon.yaml:8:5"
    assert found["CAT202"] == "catalog/addons/demo/values.yaml.j2:6:1"
    assert found["CAT205"] == found["CAT208"] == "catalog/addons/demo/config.schema.json:5:5"


def test_a_version_that_has_a_field_itself_is_told_there(tmp_path: Path) -> None:
    own = f"{VERSION}hooks:\n  - {{kind: Job, name: other, reason: none}}\n"
    found = lines(write(tmp_path, **{"catalog/addons/demo/versions/1.0.0.yaml": own}))
    assert found["CAT706"] == "catalog/addons/demo/versions/1.0.0.yaml:19:5"


def test_what_two_versions_have_from_one_place_is_told_once(tmp_path: Path) -> None:
    second = VERSION.replace("1.0.0", "1.1.0")
    found = findings(write(tmp_path, **{"catalog/addons/demo/versions/1.1.0.yaml": second}))
    assert len([f for f in found if f.rule.id == "CAT706"]) == 1
    assert len([f for f in found if f.rule.id == "CAT106"]) == 2


def test_what_cannot_be_read_is_a_finding_for_each_problem(tmp_path: Path) -> None:
    found, catalogue = lint_directory(write(tmp_path, **{"catalog/addons/demo/addon.yaml": ADDON + "colour: red\nx: y\n"}))
    assert catalogue is None
    assert [(f.rule.id, str(f.position)) for f in found] == [
        ("CAT001", "catalog/addons/demo/addon.yaml:10:1"),
        ("CAT001", "catalog/addons/demo/addon.yaml:11:1"),
    ]
    assert "colour: unknown field" in found[0].message


def test_text_is_as_compilers_write_it_and_says_why(tmp_path: Path) -> None:
    found = findings(write(tmp_path))
    text = as_text(found)
    first = text.splitlines()[0]
    assert first.startswith("catalog/addons/demo/addon.yaml:5:1: error CAT109 http://demo.invalid is plain HTTP")
    assert f"  CAT109 {RULES['CAT109'].title}: {RULES['CAT109'].why}" in text
    total = counts(found)
    assert text.endswith(f"{total['error']} errors, {total['warning']} warnings, {total['note']} notes")
    quiet = as_text(found, notes=False)
    assert "CAT101" in text
    assert "CAT101" not in quiet
    assert quiet.endswith(f"notes ({total['note']} not shown)")


#: The part of SARIF 2.1.0 (OASIS, errata 01) that is used here; what is not named is not allowed.
_TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "additionalProperties": False,
                                "properties": {
                                    "name": {"type": "string", "minLength": 1},
                                    "semanticVersion": {"type": "string", "pattern": r"^\d+\.\d+\.\d+"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "shortDescription": _TEXT,
                                                "fullDescription": _TEXT,
                                                "help": _TEXT,
                                                "defaultConfiguration": {
                                                    "type": "object",
                                                    "additionalProperties": False,
                                                    "properties": {"level": _LEVEL},
                                                },
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": _LEVEL,
                                "message": _TEXT,
                                "locations": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "additionalProperties": False,
                                        "properties": {
                                            "physicalLocation": {
                                                "type": "object",
                                                "required": ["artifactLocation"],
                                                "additionalProperties": False,
                                                "properties": {
                                                    "artifactLocation": {
                                                        "type": "object",
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "uri": {"type": "string", "pattern": "^[^/:]+(/[^/:]+)*$"},
                                                            "uriBaseId": {"type": "string"},
                                                        },
                                                    },
                                                    "region": {
                                                        "type": "object",
                                                        "required": ["startLine"],
                                                        "additionalProperties": False,
                                                        "properties": {
                                                            "startLine": {"type": "integer", "minimum": 1},
                                                            "startColumn": {"type": "integer", "minimum": 1},
                                                        },
                                                    },
                                                },
                                            }
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
    },
}


def test_sarif_is_of_its_shape_and_its_parts_fit_together(tmp_path: Path) -> None:
    found = findings(write(tmp_path))
    sarif = as_sarif(found, version="0.1.0")
    jsonschema.Draft202012Validator(SARIF).validate(sarif)
    (run,) = sarif["runs"]
    assert len(run["results"]) == len(found) > 5
    for result, finding in zip(run["results"], found, strict=True):
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == finding.rule.id
        (place,) = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert (tmp_path / uri).is_file()
    assert json.loads(json.dumps(sarif)) == sarif


def test_data_has_a_row_for_each_finding(tmp_path: Path) -> None:
    found = findings(write(tmp_path))
    rows = as_data(found)
    assert len(rows) == len(found)
    assert rows[0] == {
        "rule": "CAT109",
        "severity": "error",
        "file": "catalog/addons/demo/addon.yaml",
        "line": 5,
        "column": 1,
        "message": "http://demo.invalid is plain HTTP",
        "addon": "demo",
    }


CLEAN = {
    "catalog/addons/demo/addon.yaml": ADDON.replace("http:", "https:").replace("reason: none}", "reason: none, doneBy: delete}"),
    "catalog/addons/demo/versions/1.0.0.yaml": VERSION.replace("demo/demo:v1.0.0", "r.invalid/b:v1").partition("issues:")[0],
    "catalog/addons/demo/values.yaml.j2": "defaults: {x: {{ config.x | tojson }}}\nguards: {crds: {enabled: false}}\n",
    "catalog/addons/demo/config.schema.json": SCHEMA.replace('"type": "string"', '"description": "X.", "type": "string"'),
}


def run(*arguments: str) -> Any:
    return CliRunner().invoke(chandlery, ["catalog", "lint", *arguments], standalone_mode=False)


@pytest.mark.parametrize(
    ("changes", "options", "code"),
    [
        ({}, [], 1),
        (CLEAN, [], 0),  # it is unpinned, which is worth a note and no fault
        (CLEAN, ["--strict"], 0),
        ({**CLEAN, "catalog/addons/demo/versions/1.0.0.yaml": VERSION.replace("support: some\n", "")}, [], 1),
        (
            {
                **CLEAN,
                "catalog/addons/demo/versions/1.0.0.yaml": CLEAN["catalog/addons/demo/versions/1.0.0.yaml"].replace(
                    "support: some\n", ""
                ),
            },
            [],
            0,
        ),
        (
            {
                **CLEAN,
                "catalog/addons/demo/versions/1.0.0.yaml": CLEAN["catalog/addons/demo/versions/1.0.0.yaml"].replace(
                    "support: some\n", ""
                ),
            },
            ["--strict"],
            1,
        ),
        ({"catalog/channels/edge.yaml": "a: b: c"}, [], 1),
    ],
)
def test_the_exit_code_says_whether_it_is_clean(tmp_path: Path, changes: dict[str, str], options: list[str], code: int) -> None:
    root = write(tmp_path, **changes)
    assert run("--catalogue", str(root), *options).return_value == code


def test_the_verb_writes_each_format_and_a_file(tmp_path: Path) -> None:
    root = write(tmp_path)
    assert "CAT109" in run("--catalogue", str(root)).output
    assert json.loads(run("--catalogue", str(root), "--format", "sarif").output)["version"] == "2.1.0"
    assert json.loads(run("--catalogue", str(root), "--format", "json").output)[0]["rule"] == "CAT109"
    told = run("--catalogue", str(root), "--format", "sarif", "-o", str(tmp_path / "lint.sarif"))
    assert "lint.sarif: " in told.output
    assert told.return_value == 1
    assert json.loads((tmp_path / "lint.sarif").read_text())["runs"]


def test_one_addon_can_be_looked_at_alone(tmp_path: Path) -> None:
    root = write(tmp_path)
    for path, text in FILES.items():
        if "addons/demo" in path:
            place = tmp_path / path.replace("demo", "next")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text.replace("demo", "next"))
    rows = json.loads(run("--catalogue", str(root), "--addon", "next", "--format", "json").output)
    assert rows
    assert all("addons/next/" in row["file"] or "channels/" in row["file"] for row in rows)


def _mutations(draw: Callable[[Any], Any], text: str) -> str:
    lines = text.splitlines()
    index = draw(st.integers(0, len(lines) - 1))
    lines[index] = draw(st.sampled_from(["", "- x", lines[index][:-3], f"{lines[index]} # {lines[index]}", "  a: [", "é: \t"]))
    return "\n".join(lines) + "\n"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_a_mutated_catalogue_is_told_and_never_a_fault_of_ours(tmp_path: Path, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(sorted(FILES)))
    root = write(tmp_path, **{path: _mutations(data.draw, FILES[path])})
    found, _ = lint_directory(root)
    as_text(found)
    jsonschema.Draft202012Validator(SARIF).validate(as_sarif(found, version="0.1.0"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["object", "string", "[", "#/x", "#"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["type", "properties", "default", "description", "pattern", "$ref", "enum", "items", "additionalProperties", "x"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(schema=st.dictionaries(st.sampled_from(["type", "properties", "default", "$ref", "allOf"]), JSON, max_size=4))
def test_any_schema_is_judged_and_never_a_fault_of_ours(tmp_path: Path, schema: dict[str, Any]) -> None:
    root = write(tmp_path, **{"catalog/addons/demo/config.schema.json": json.dumps(schema)})
    assert lint_directory(root)[0]

"""``chandlery catalog images``, ``sbom``, ``rbac`` and ``diff`` from the command line, on what needs no network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from base.errors import Exit
from cli.__main__ import main

SPEC = """\
cluster: demo
channel: edge
target: {kind: embedded, kubernetes: "1.36"}
scheduler: kai-reference
"""


class Verbs:
    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self.capsys = root, capsys
        self.spec = root / "spec.yaml"
        self.spec.write_text(SPEC)
        self.out = self.err = ""

    def run(self, *words: str, as_json: bool = False) -> int:
        code = main(["--state", str(self.root / "state"), *(["--json"] if as_json else []), "catalog", *words])
        said = self.capsys.readouterr()
        self.out, self.err = said.out, said.err
        assert "Traceback" not in said.err
        return code


@pytest.fixture
def verbs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verbs:
    return Verbs(tmp_path, capsys)


def test_images_of_all_of_an_add_on_and_of_a_cluster(verbs: Verbs) -> None:
    assert verbs.run("images", as_json=True) == Exit.OK
    everything = {image["reference"] for image in json.loads(verbs.out)}
    assert verbs.run("images", "--addon", "cert-manager", "--list") == Exit.OK
    own = {line.partition("@")[0] for line in verbs.out.split()}
    assert len(own) >= 4
    assert own < everything
    assert all("cert-manager" in reference for reference in own)
    assert verbs.run("images", "-c", str(verbs.spec), as_json=True) == Exit.OK
    (only,) = json.loads(verbs.out)
    assert only["used_by"] == ["kai-reference 0.1.0"]


def test_a_bill_of_materials_is_valid_and_the_same_each_time(verbs: Verbs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    file = verbs.root / "demo.cdx.json"
    assert verbs.run("sbom", "-c", str(verbs.spec), "-o", str(file)) == Exit.OK
    assert "1 add-ons" in verbs.out
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(file.read_text()) is None
    assert verbs.run("sbom", "-c", str(verbs.spec)) == Exit.OK
    assert verbs.out == file.read_text()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1796083200")
    assert verbs.run("sbom", "-c", str(verbs.spec)) == Exit.OK
    assert json.loads(verbs.out)["metadata"]["timestamp"] == "2026-12-01T00:00:00+00:00"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "noon")
    assert verbs.run("sbom", "-c", str(verbs.spec)) == Exit.INVALID_INPUT
    assert "SOURCE_DATE_EPOCH" in verbs.err


def test_rights_of_a_version_and_of_a_cluster(verbs: Verbs) -> None:
    assert verbs.run("rbac", "kai-reference", "0.1.0") == Exit.OK
    assert "held by: ServiceAccount kai-scheduler/kai-reference" in verbs.out
    one = verbs.out
    assert verbs.run("rbac", "-c", str(verbs.spec)) == Exit.OK
    assert verbs.out == one
    assert verbs.run("rbac", "kai-reference", "0.1.0", "--against", "0.1.0", as_json=True) == Exit.OK
    (told,) = json.loads(verbs.out)
    assert (told["cluster"], told["namespaced"]) == ([], [])


def test_nothing_changes_between_a_version_and_itself(verbs: Verbs) -> None:
    assert verbs.run("diff", "kai-reference", "0.1.0", "0.1.0") == Exit.OK
    assert "the same: images, CRDs" in verbs.out
    assert verbs.run("diff", "kai-reference", "0.1.0", "0.1.0", "-c", str(verbs.spec), as_json=True) == Exit.OK
    told = json.loads(verbs.out)
    assert not any(told[part] for part in ("images", "crds", "objects", "rights_added", "defaults", "config"))


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("rbac",), Exit.INVALID_INPUT, "which add-on?"),
        (("rbac", "kai-reference"), Exit.INVALID_INPUT, "which version of kai-reference?"),
        (("rbac", "kai-referenec", "0.1.0"), Exit.NOT_FOUND, "did you mean kai-reference"),
        (("rbac", "kai-reference", "9.9.9"), Exit.NOT_FOUND, "there are 0.1.0"),
        (("rbac", "kai-reference", "0.1.0", "--against", "9.9.9"), Exit.NOT_FOUND, "there are 0.1.0"),
        (("rbac", "-c", "SPEC", "--against", "0.1.0"), Exit.INVALID_INPUT, "which add-on?"),
        (("rbac", "cert-manager", "-c", "SPEC"), Exit.NOT_FOUND, "is not in the plan of demo"),
        (("images", "--addon", "cert-manger"), Exit.NOT_FOUND, "did you mean cert-manager"),
        (("images", "--addon", "cert-manager", "-c", "SPEC"), Exit.NOT_FOUND, "is not in the plan of demo"),
        (("images", "-c", "absent.yaml"), Exit.NOT_FOUND, "absent.yaml"),
        (("sbom",), Exit.INVALID_INPUT, "--spec"),
        (("diff", "kai-reference", "0.1.0", "9.9.9"), Exit.NOT_FOUND, "there are 0.1.0"),
        (("diff", "nobody", "0.1.0", "0.2.0"), Exit.NOT_FOUND, "unknown add-on 'nobody'"),
    ],
)
def test_what_cannot_be_meant_is_told(verbs: Verbs, words: tuple[str, ...], code: Exit, message: str) -> None:
    assert verbs.run(*(str(verbs.spec) if word == "SPEC" else word for word in words)) == code
    assert message in verbs.err


@pytest.mark.parametrize("verb", ["crd-diff", "diff", "images", "rbac", "sbom"])
def test_each_explains_itself_with_an_example(verbs: Verbs, verb: str) -> None:
    assert verbs.run(verb, "--help") == Exit.OK
    assert "Example:" in verbs.out

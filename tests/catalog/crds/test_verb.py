"""``chandlery catalog crd-diff`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from base.errors import Exit
from cli.__main__ import main
from tests.catalog.crds.made import crd, field

STRING = {"type": "string"}
OLD = crd(field(STRING))
WAIVERS = """\
waivers:
  - {crd: things.demo.invalid, path: .spec.f, rule: property-removed, from: OLD, to: NEW, owner: o, reason: r, expires: DATE}
"""


class Verb:
    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root, self.capsys = root, capsys
        self.out = self.err = ""

    def files(self, old: Any, new: Any) -> tuple[str, str]:
        places = []
        for name, body in (("old", old), ("new", new)):
            (self.root / f"{name}.yaml").write_text(json.dumps(body))
            places.append(str(self.root / f"{name}.yaml"))
        return places[0], places[1]

    def run(self, *words: str, json_out: bool = False) -> int:
        start = ["--state", str(self.root / "state"), *(["--json"] if json_out else [])]
        code = main([*start, "catalog", "crd-diff", *words])
        said = self.capsys.readouterr()
        self.out, self.err = said.out, said.err
        return code


@pytest.fixture
def verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Verb:
    return Verb(tmp_path, capsys)


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (OLD, Exit.OK),
        (crd({"properties": {"f": STRING, "g": STRING}}), Exit.OK),
        (crd(field({**STRING, "default": "x"})), Exit.CHECK_FAILED),
        (crd(), Exit.REFUSED),
    ],
)
def test_the_exit_code_is_that_of_the_worst_finding(verb: Verb, new: Any, code: Exit) -> None:
    assert verb.run("kai-reference", *verb.files(OLD, new)) == code


def test_a_finding_is_told_with_its_rule_place_and_reason(verb: Verb) -> None:
    verb.run("kai-reference", *verb.files(OLD, crd()))
    assert "1 CRD, 1 blocking, 0 at risk, 0 safe" in verb.out
    assert "property-removed  things.demo.invalid v1  .spec.f" in verb.out
    assert "its data is dropped silently at the next write" in verb.out


def test_safe_changes_are_counted_and_listed_when_asked(verb: Verb) -> None:
    files = verb.files(crd(), OLD)
    verb.run("kai-reference", *files)
    assert "safe: property-added (1)" in verb.out
    verb.run("kai-reference", *files, "--all")
    assert ".spec.f" in verb.out


def test_the_same_is_told_as_json(verb: Verb) -> None:
    assert verb.run("kai-reference", *verb.files(OLD, crd()), json_out=True) == Exit.REFUSED
    told = json.loads(verb.out)
    assert (told["level"], told["waived"]) == ("blocking", [])
    (change,) = told["changes"]
    assert (change["rule"], change["path"], change["version"], change["before"]) == (
        "property-removed",
        ".spec.f",
        "v1",
        "string",
    )


def test_a_version_of_the_catalogue_is_compared_with_files(verb: Verb) -> None:
    package = Path(__file__).resolve().parents[3] / "catalog/addons/kai-reference/crds"
    assert verb.run("kai-reference", "0.1.0", str(package), "--all") == Exit.OK
    assert "5 CRDs, 0 blocking, 0 at risk, 0 safe" in verb.out


@pytest.mark.parametrize(
    ("date", "code", "note"),
    [
        ("2999-01-01", Exit.OK, "waived until 2999-01-01 by o"),
        ("2020-01-01", Exit.REFUSED, "expired on 2020-01-01 and does not count"),
        ("", Exit.INVALID_INPUT, ""),
    ],
)
def test_a_waiver_counts_until_its_date(verb: Verb, date: str, code: Exit, note: str) -> None:
    old, new = verb.files(OLD, crd())
    waivers = verb.root / "waivers.yaml"
    waivers.write_text(WAIVERS.replace("OLD", old).replace("NEW", new).replace("DATE", date))
    assert verb.run("kai-reference", old, new, "--waivers", str(waivers)) == code
    assert note in verb.out
    assert ("expires: is missing" in verb.err) is (code == Exit.INVALID_INPUT)


def test_a_waiver_that_fits_nothing_is_a_warning(verb: Verb) -> None:
    old, new = verb.files(OLD, OLD)
    waivers = verb.root / "waivers.yaml"
    waivers.write_text(WAIVERS.replace("OLD", old).replace("NEW", new).replace("DATE", "2999-01-01"))
    assert verb.run("kai-reference", old, new, "--waivers", str(waivers)) == Exit.OK
    assert "fits no finding" in verb.out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("kai-referenec", "0.1.0", "0.1.0"), Exit.NOT_FOUND, "did you mean kai-reference"),
        (("kai-reference", "0.1.0", "9.9.9"), Exit.NOT_FOUND, "there are 0.1.0"),
        (("slurm-operator", "1.0.0", "1.0.0"), Exit.NOT_FOUND, "has no CRDs"),
        (("kai-reference", "0.1.0", "./absent"), Exit.NOT_FOUND, "no such file"),
        (("kai-referenec", "./absent", "0.1.0"), Exit.NOT_FOUND, "did you mean kai-reference"),
        (("kai-reference", "0.1.0", "0.1.0", "--waivers", "absent.yaml"), Exit.NOT_FOUND, "no file of waivers"),
        (("kai-reference", "0.1.0", "0.1.0", "-c", "absent.yaml"), Exit.NOT_FOUND, "absent.yaml"),
    ],
)
def test_what_cannot_be_compared_is_told(verb: Verb, words: tuple[str, ...], code: Exit, message: str) -> None:
    assert verb.run(*words) == code
    assert message in verb.err

"""Waivers: read with positions, matched by name, over at a date."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from base.errors import NotFound, SpecError
from catalog.crds.diff import compare
from catalog.crds.waivers import Outcome, apply, read_waivers
from tests.catalog.crds.made import crd

TODAY = datetime.date(2026, 12, 1)
GOOD = """\
waivers:
  - crd: things.demo.invalid
    path: .spec.old
    rule: property-removed
    from: 1.0.0
    to: 1.1.0
    owner: platform team
    reason: nobody ever set it
    expires: 2027-03-31
"""
STRING = {"type": "string"}
OLD = crd({"properties": {"old": STRING, "deep": {"type": "object", "properties": {"a": STRING, "b": STRING}}}})
NEW = crd({"properties": {"deep": {"type": "object"}}})


def outcome(tmp_path: Path, text: str = GOOD, *, to: str = "1.1.0", today: datetime.date = TODAY) -> Outcome:
    path = tmp_path / "waivers.yaml"
    path.write_text(text)
    return apply(compare([OLD], [NEW]), read_waivers(path), "1.0.0", to, today)


def open_paths(found: Outcome) -> list[str]:
    return [change.path for change in found.open if change.level != "safe"]


def test_a_waiver_takes_away_the_finding_that_it_names_and_no_other(tmp_path: Path) -> None:
    found = outcome(tmp_path)
    assert open_paths(found) == [".spec.deep.a", ".spec.deep.b"]
    assert [(waived.change.path, waived.waiver.owner) for waived in found.waived] == [(".spec.old", "platform team")]
    assert (found.expired, found.unused, found.level) == ((), (), "blocking")


def test_two_stars_waive_everything_below_a_place(tmp_path: Path) -> None:
    assert open_paths(outcome(tmp_path, GOOD.replace(".spec.old", ".spec.deep.**"))) == [".spec.old"]
    found = outcome(tmp_path, GOOD.replace(".spec.old", ".spec.de.**"))
    assert len(open_paths(found)) == 3, "a place is whole words"
    found = outcome(tmp_path, GOOD.replace(".spec.old", ".spec.**"))
    assert (open_paths(found), found.level) == ([], "safe")


def test_a_waiver_holds_through_its_last_day_and_not_longer(tmp_path: Path) -> None:
    last = datetime.date(2027, 3, 31)
    assert len(outcome(tmp_path, today=last).waived) == 1
    over = outcome(tmp_path, today=last + datetime.timedelta(1))
    assert (over.waived, over.unused) == ((), ())
    (note,) = over.expired
    assert "expired on 2027-03-31" in note
    assert "waivers.yaml:2:5" in note
    assert "platform team" in note
    assert ".spec.old" in open_paths(over)


def test_a_waiver_that_fits_nothing_is_told_unless_it_is_for_another_step(tmp_path: Path) -> None:
    (note,) = outcome(tmp_path, GOOD.replace(".spec.old", ".spec.odl")).unused
    assert ".spec.odl" in note
    assert outcome(tmp_path, to="1.2.0").unused == ()
    assert len(open_paths(outcome(tmp_path, to="1.2.0"))) == 3


@pytest.mark.parametrize("field", ["crd", "path", "rule", "from", "to", "owner", "reason", "expires"])
def test_a_waiver_without_a_field_is_refused_with_its_place(tmp_path: Path, field: str) -> None:
    text = "\n".join(line for line in GOOD.splitlines() if not line.lstrip("- ").startswith(f"{field}:"))
    text = text if field != "crd" else text.replace("    path", "  - path", 1)
    with pytest.raises(SpecError, match=rf"waivers\.yaml:2:5: waivers\[0\]\.{field}: is missing"):
        outcome(tmp_path, text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("property-removed", "property-removd", "did you mean property-removed"),
        ("property-removed", "property-added", "is safe and needs no waiver"),
        ("2027-03-31", "soon", "'soon' is no date"),
        ("2027-03-31", "2027-02-30", "is no date"),
        ("owner:", "onwer:", "did you mean owner"),
        ("platform team", '"  "', "is empty"),
        ("waivers:", "waiver:", "unknown field"),
        (GOOD, "[]", "expected a mapping"),
        (GOOD, "waivers: 3", "expected a list"),
    ],
)
def test_what_is_wrong_with_a_waiver_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        outcome(tmp_path, GOOD.replace(old, new))


def test_versions_that_the_add_on_does_not_have_are_problems(tmp_path: Path) -> None:
    path = tmp_path / "waivers.yaml"
    path.write_text(GOOD)
    assert read_waivers(path, versions=["1.0.0", "1.1.0"])
    with pytest.raises(SpecError, match=r"waivers\[0\]\.to: version 1\.1\.0 is not in the catalogue"):
        read_waivers(path, versions=["1.0.0"])
    with pytest.raises(NotFound):
        read_waivers(tmp_path / "absent.yaml")

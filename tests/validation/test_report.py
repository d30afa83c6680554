"""Reports say what was found, all of it, and nothing that a cluster's object names could smuggle in."""

from __future__ import annotations

import errno
import json
import os
import re
import xml.etree.ElementTree as ET
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

from base.errors import Unavailable
from tests.validation.synthetic import a_result, checked
from validation.harness.timeline import Seen
from validation.outcomes import Outcome
from validation.report import SCHEMA, data, html, junit, rerun, write
from validation.report.html import duration
from validation.run.results import AddonRow, CheckResult, summary, verdict

EVERY = tuple(checked(outcome, id=f"T{number:02d}") for number, outcome in enumerate(Outcome))
HOSTILE = "</script><script>alert('x')</script> \"quoted\" & <marquee>bold</marquee> \x00\x1b[31m \ud800"


class Page(HTMLParser):
    """Collects what a browser would see of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


# -- verdict ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "said"),
    [
        ([Outcome.PASSED], "passed"),
        ([Outcome.PASSED, Outcome.SKIPPED, Outcome.UNSUPPORTED], "passed"),
        ([Outcome.PASSED, Outcome.EXPECTED_FAIL], "passed"),
        ([Outcome.PASSED, Outcome.FAILED, Outcome.UNKNOWN], "failed"),
        ([Outcome.PASSED, Outcome.UNKNOWN], "incomplete"),
        ([Outcome.SKIPPED], "incomplete"),
        ([], "incomplete"),
    ],
)
def test_verdict(outcomes: list[Outcome], said: str) -> None:
    assert verdict([checked(outcome) for outcome in outcomes]) == said


def test_each_add_on_gets_the_checks_that_are_about_it() -> None:
    row = summary("kai-scheduler", "v0.17.0", "real", [*EVERY, checked(Outcome.FAILED, addon="slurm-operator")])
    assert row == AddonRow("kai-scheduler", "v0.17.0", "real", 1, 1, 2, 1, 2)
    assert row.passed + row.failed + row.skipped + row.undecided + row.known_faults == len(EVERY)


# -- HTML -------------------------------------------------------------------------------------------------------


def test_the_verdict_comes_first_and_every_check_says_why_and_how_to_run_it_again() -> None:
    result = a_result(*EVERY)
    page = Page(html.render(result))
    text = " ".join(page.text.split())
    assert text.index("Failed") < text.index("Add-ons") < text.index("T01")
    assert "1 of the 5 checks that could run here failed." in text
    for check in EVERY:
        assert check.title in text
        assert check.proves in text
        assert rerun(result, check) in text
        assert check.reason in text
    assert "pod a: bound to n0" in text


def test_what_needs_a_look_is_open_and_the_rest_is_folded() -> None:
    page = Page(html.render(a_result(*EVERY)))
    unfolded = {attrs["id"] for tag, attrs in page.tags if tag == "details" and "open" in attrs}
    assert unfolded == {check.name for check in EVERY if check.outcome in ("failed", "unknown", "unexpected-pass")}


def test_the_page_asks_nothing_of_any_network() -> None:
    text = html.render(a_result(*EVERY))
    page = Page(text)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "img", "link", "iframe", "object", "embed", "form", "a"}
    assert not [attrs for _, attrs in page.tags if {"src", "href", "srcset", "action", "background"} & set(attrs)]
    assert not re.search(r"url\(|@import|https?://", text)


def test_light_and_dark_have_the_same_colours_by_name() -> None:
    css = (Path(html.__file__).parent / "templates" / "report.css").read_text()
    light, dark = re.findall(r":root \{([^}]*)\}", css)
    named = [set(re.findall(r"(--[a-z-]+):", part)) for part in (light, dark)]
    assert named[0] == named[1]
    assert set(re.findall(r"var\((--[a-z-]+)\)", css)) <= named[0] | {"--tone"}


@pytest.mark.parametrize("field", ["title", "proves", "story", "reason", "where", "room", "addon"])
def test_hostile_text_stays_text(field: str) -> None:
    result = a_result(checked(Outcome.FAILED, **{field: HOSTILE}))
    page = Page(html.render(result))
    assert not [tag for tag, _ in page.tags if tag in {"script", "marquee"}]
    assert "alert('x')" in html.render(result).replace("&#39;", "'")


def test_hostile_timelines_and_facts_of_the_run_stay_text(tmp_path: Path) -> None:
    check = checked(Outcome.PASSED, seen=(Seen(0.0, HOSTILE),))
    row = AddonRow(HOSTILE, HOSTILE, "real", 1, 0, 0, 0, 0)
    result = a_result(check, cluster=HOSTILE, scheduler_reason=HOSTILE, notes=(HOSTILE,), spec=HOSTILE, addons=(row,))
    assert not [tag for tag, _ in Page(html.render(result)).tags if tag in {"script", "marquee"}]
    assert write(result, tmp_path).html.stat().st_size > 0, "what UTF-8 cannot hold does not stop the report"


def test_reference_and_simulated_are_said_aloud() -> None:
    row = AddonRow("cert-manager", "1.21.2", "simulated", 0, 0, 1, 0, 0)
    result = a_result(checked(Outcome.PASSED), scheduler="kai-reference", scheduler_state="reference", addons=(row,))
    text = " ".join(Page(html.render(result)).text.split())
    assert "Nothing in this report is evidence about KAI Scheduler." in text
    assert "Simulated: cert-manager." in text
    real = " ".join(Page(html.render(a_result(checked(Outcome.PASSED)))).text.split())
    assert "evidence about KAI" not in real
    assert "Simulated" not in real


def test_a_run_of_no_checks_is_not_shown_as_a_pass() -> None:
    text = " ".join(Page(html.render(a_result())).text.split())
    assert "Incomplete" in text
    assert "No check came to a pass." in text


@pytest.mark.parametrize(("seconds", "said"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 00 s"), (245.4, "4 min 05 s")])
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said


# -- JUnit ------------------------------------------------------------------------------------------------------


def test_junit_is_well_formed_and_its_sums_are_right() -> None:
    root = ET.fromstring(junit.render(a_result(*EVERY, checked(Outcome.PASSED, room="gangs"))))
    assert root.tag == "testsuites"
    for element in (root, *root.findall("testsuite")):
        cases = element.findall(".//testcase")
        assert int(element.attrib["tests"]) == len(cases)
        for word, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.attrib[word]) == len(element.findall(f".//{tag}"))
    outcomes = {case.attrib["name"]: case.find("properties/property[@name='outcome']") for case in root.iter("testcase")}
    assert all(found is not None for found in outcomes.values())
    assert [suite.attrib["name"] for suite in root.findall("testsuite")] == ["gangs", "queues"]


def test_junit_never_counts_an_open_verdict_as_a_pass() -> None:
    root = ET.fromstring(junit.render(a_result(checked(Outcome.UNKNOWN))))
    assert root.attrib["errors"] == "1"


def test_junit_holds_what_xml_cannot() -> None:
    root = ET.fromstring(junit.render(a_result(checked(Outcome.FAILED, reason=HOSTILE, seen=(Seen(0.0, HOSTILE),)))))
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text is not None
    assert "<marquee>bold</marquee>" in failure.text
    assert "\x1b" not in failure.text


# -- JSON -------------------------------------------------------------------------------------------------------

SHAPE = {
    "type": "object",
    "required": ["schema", "verdict", "counts", "checks", "addons", "scheduler", "scheduler_state", "started", "seconds"],
    "properties": {
        "schema": {"const": SCHEMA},
        "verdict": {"enum": ["passed", "failed", "incomplete"]},
        "counts": {"type": "object", "required": [str(outcome) for outcome in Outcome]},
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "name", "title", "outcome", "reason", "seconds", "seen", "rerun", "tier", "addon", "room"],
                "properties": {"outcome": {"enum": [str(outcome) for outcome in Outcome]}},
            },
        },
    },
}


def test_json_has_its_schema_and_everything_of_the_run() -> None:
    result = a_result(*EVERY)
    record = json.loads(json.dumps(data(result)))
    jsonschema.validate(record, SHAPE)
    assert len(record["checks"]) == len(EVERY)
    assert sum(record["counts"].values()) == len(EVERY)
    assert record["checks"][0]["seen"][1] == {"at": 0.4, "what": "pod a: bound to n0"}


def test_the_command_to_run_a_case_again_survives_the_shell() -> None:
    case = checked(Outcome.FAILED, id="I01", case="cert-manager")
    result = a_result(case, spec="my clusters/blue.yaml")
    assert rerun(result, case) == "chandlery validate run -c 'my clusters/blue.yaml' --only 'I01[cert-manager]'"


# -- files ------------------------------------------------------------------------------------------------------


def test_all_three_are_written(tmp_path: Path) -> None:
    reports = write(a_result(*EVERY), tmp_path / "report")
    assert json.loads(reports.json.read_text())["schema"] == SCHEMA
    assert ET.parse(reports.junit).getroot().tag == "testsuites"
    assert reports.html.read_text().startswith("<!doctype html>")
    assert sorted(path.name for path in (tmp_path / "report").iterdir()) == ["junit.xml", "report.html", "report.json"]


def test_on_a_full_disk_the_old_report_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "report"
    before = write(a_result(checked(Outcome.PASSED)), folder).html.read_text()

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="no space left"):
        write(a_result(checked(Outcome.FAILED)), folder)
    assert (folder / "report.html").read_text() == before
    assert sorted(path.name for path in folder.iterdir()) == ["junit.xml", "report.html", "report.json"]


def test_a_result_survives_its_way_from_the_child() -> None:
    for check in EVERY:
        assert CheckResult.from_json(json.loads(json.dumps(asdict(check)))) == check

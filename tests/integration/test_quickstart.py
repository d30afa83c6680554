"""The main path, walked as a user walks it: interrupted at every phase, finished, run again, taken down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from base.places import REPOSITORY

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1500)]

#: Named, so that no registry is asked whether KAI's chart can be had.
QUICKSTART = ("quickstart", "--scheduler", "kai-reference")


@dataclass(frozen=True)
class Place:
    """A state directory of the test's own, and a folder for reports."""

    state: Path
    report: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "cli", "--json", "--state", str(self.state), *arguments]
        return subprocess.Popen(
            command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def run(self, *arguments: str) -> tuple[int, Any, str]:
        """Exit code, parsed standard output, standard error."""
        with self.start(*arguments) as child:
            out, err = child.communicate(timeout=900)
        assert "Traceback" not in err, err[-4000:]
        return child.returncode, json.loads(out) if out.strip() else None, err

    def interrupt_at(self, message: str, *arguments: str, after: float = 0.0) -> tuple[int, str]:
        """Ctrl-C once the event with that message was seen; exit code and what was said."""
        with self.start(*arguments) as child:
            assert child.stderr is not None
            said = []
            for line in child.stderr:
                said.append(line)
                if message in line:
                    time.sleep(after)
                    child.send_signal(signal.SIGINT)
                    break
            said.append(child.stderr.read())
            assert child.stdout is not None
            child.stdout.read()
            code = child.wait(timeout=120)
        text = "".join(said)
        assert message in text, f"{arguments} never came to {message!r}: {text[-2000:]}"
        assert "Traceback" not in text, text[-4000:]
        return code, text

    def processes(self) -> list[str]:
        """Command lines of live processes that have to do with this place."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                if str(self.state) in command:
                    found.append(command)
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("quickstart")
    place = Place(folder / "state", folder / "report")
    try:
        yield place
    finally:
        place.run("target", "down", "--all")
        assert place.processes() == []


@pytest.mark.parametrize(
    ("phase", "after"),
    [
        ("target quickstart: prepare", 0.0),
        ("target quickstart: API server", 0.5),
        ("target quickstart: nodes", 0.2),
        ("render charts", 0.0),
        ("created ", 1.0),
    ],
)
def test_1_an_interrupt_in_any_phase_ends_with_130(place: Place, phase: str, after: float) -> None:
    code, _ = place.interrupt_at(phase, *QUICKSTART, "-o", str(place.report), after=after)
    assert code == 130


def test_2_the_next_run_goes_on_and_finishes(place: Place) -> None:
    code, result, err = place.run(*QUICKSTART, "-o", str(place.report))
    assert code == 0, f"{result}\n{err[-6000:]}"
    assert result["verdict"] == "passed"
    rows = {row["addon"]: row for row in result["addons"]}
    states = {name: row["state"] for name, row in rows.items()}
    assert states == {
        "cert-manager": "simulated",
        "kai-reference": "reference",
        "slurm-operator": "real",
        "slurm-operator-crds": "real",
    }
    assert rows["kai-reference"]["passed"] >= 12
    assert all(row["failed"] == row["undecided"] == 0 for row in rows.values())
    assert result["scheduler"]["state"] == "reference"


def test_3_the_report_says_the_same_in_three_forms(place: Place) -> None:
    record = json.loads((place.report / "report.json").read_text())
    suites = ET.parse(place.report / "junit.xml").getroot()
    page = (place.report / "report.html").read_text()
    assert record["verdict"] == "passed"
    assert len(list(suites.iter("testcase"))) == len(record["checks"]) >= 20
    for check in record["checks"]:
        assert check["name"] in page
    assert "reference" in page
    assert "simulated" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


def test_4_a_second_run_changes_nothing(place: Place) -> None:
    code, result, _ = place.run("quickstart", "-o", str(place.report), "--only", "install")
    assert code == 0
    assert result["changes"].startswith("nothing changed")
    assert result["scheduler"]["name"] == "kai-reference", "the choice is kept"


def test_5_plain_pulumi_sees_the_same_stack_and_nothing_to_do(place: Place) -> None:
    code, values, _ = place.run("env", "-c", "clusters/quickstart.yaml")
    assert code == 0
    settings = place.state / "project" / "Pulumi.quickstart.yaml"
    preview = subprocess.run(
        ["pulumi", "preview", "--stack", "quickstart", "--config-file", str(settings), "--expect-no-changes"],
        cwd=REPOSITORY,
        env={**os.environ, **values},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert preview.returncode == 0, preview.stdout + preview.stderr


def test_6_a_second_up_at_the_same_time_is_refused_and_told_by_whom(place: Place) -> None:
    with place.start("up", "-c", "clusters/quickstart.yaml") as first:
        assert first.stderr is not None
        for line in first.stderr:
            if '"step-started"' in line and "up of stack quickstart" in line:
                break
        code, _, err = place.run("up", "-c", "clusters/quickstart.yaml")
        assert code == 4, err
        assert f"process {first.pid}" in err
        first.communicate(timeout=300)
    assert first.returncode == 0


def test_7_an_interrupted_validation_ends_with_130_and_leaves_nothing_behind(place: Place) -> None:
    code, _ = place.interrupt_at("T10", "validate", "run", "-c", "clusters/quickstart.yaml", "--only", "T10", after=3.0)
    assert code == 130
    code, result, _ = place.run("validate", "run", "-c", "clusters/quickstart.yaml", "--only", "T07", "-o", str(place.report))
    assert code == 0
    assert result["verdict"] == "passed"


def test_8_no_secret_is_in_state_logs_or_reports(place: Place) -> None:
    key = next(place.state.glob("clusters/quickstart/pki/webhooks/*.key")).read_text()
    secrets = [key.splitlines()[1], (place.state / "passphrase").read_text().strip()]
    secrets += [file.read_text().strip() for file in place.state.glob("clusters/quickstart/pods/**/token") if file.is_file()]
    assert len(secrets) >= 3
    looked = 0
    for folder in (place.state / "pulumi", place.state / "project", place.state / "clusters/quickstart/logs", place.report):
        for file in folder.rglob("*"):
            if file.is_file():
                looked += 1
                text = file.read_text(errors="replace")
                assert not [secret for secret in secrets if secret in text], file
    assert looked > 10


def test_9_taking_it_down_leaves_no_process(place: Place) -> None:
    assert place.processes()
    code, _, _ = place.run("target", "down", "--all")
    assert code == 0
    assert place.processes() == []

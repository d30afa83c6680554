"""junit.xml, for continuous integration: one suite a room, outcomes that JUnit does not know told by type and property."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from validation.outcomes import Outcome
from validation.report.view import rerun
from validation.run.results import CheckResult, RunResult

__all__ = ["render"]

#: What XML 1.0 cannot hold, not even escaped.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

#: Known upstream faults are not red in CI; they are skipped there with their own type, and shown in the other reports.
_ELEMENT = {
    Outcome.FAILED: "failure",
    Outcome.UNKNOWN: "error",
    Outcome.SKIPPED: "skipped",
    Outcome.UNSUPPORTED: "skipped",
    Outcome.EXPECTED_FAIL: "skipped",
}


def render(result: RunResult) -> bytes:
    """UTF-8 XML with declaration."""
    root = ET.Element("testsuites", {"name": f"chandlery {_clean(result.cluster)}", **_numbers(result.checks)})
    for room in sorted({check.room for check in result.checks}):
        checks = [check for check in result.checks if check.room == room]
        suite = ET.SubElement(root, "testsuite", {"name": room, "timestamp": _clean(result.started), **_numbers(checks)})
        properties = ET.SubElement(suite, "properties")
        for name, value in (
            ("scheduler", f"{result.scheduler} {result.scheduler_version}"),
            ("scheduler-state", str(result.scheduler_state)),
            ("target", result.target),
            ("kubernetes", result.kubernetes),
        ):
            ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
        for check in checks:
            _case(suite, result, check)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _case(suite: ET.Element, result: RunResult, check: CheckResult) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        {"classname": f"chandlery.{check.room}", "name": _clean(f"{check.name} {check.title}"), "time": f"{check.seconds:.2f}"},
    )
    properties = ET.SubElement(case, "properties")
    for name, value in (("outcome", str(check.outcome)), ("tier", check.tier), ("addon", check.addon)):
        ET.SubElement(properties, "property", {"name": name, "value": _clean(value)})
    element = _ELEMENT.get(check.outcome)
    if element:
        first = check.reason.splitlines()[0] if check.reason else str(check.outcome)
        verdict = ET.SubElement(case, element, {"message": _clean(first), "type": str(check.outcome)})
        verdict.text = _clean(check.reason)
    lines = [f"{seen.at:8.2f} s  {seen.what}" for seen in check.seen]
    ET.SubElement(case, "system-out").text = _clean("\n".join([*lines, "", f"again: {rerun(result, check)}"]))


def _numbers(checks: tuple[CheckResult, ...] | list[CheckResult]) -> dict[str, str]:
    def of(element: str) -> str:
        return str(sum(_ELEMENT.get(check.outcome) == element for check in checks))

    return {
        "tests": str(len(checks)),
        "failures": of("failure"),
        "errors": of("error"),
        "skipped": of("skipped"),
        "time": f"{sum(check.seconds for check in checks):.2f}",
    }


def _clean(text: str) -> str:
    return _IMPOSSIBLE.sub("\ufffd", text)

"""Findings as text and as SARIF 2.1.0. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from catalog.lint.rules import RULES
from catalog.lint.world import Finding

__all__ = ["as_data", "as_sarif", "as_text", "counts"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def counts(findings: Sequence[Finding]) -> dict[str, int]:
    """How many of each severity, all three always there."""
    found = Counter(finding.rule.severity for finding in findings)
    return {severity: found[severity] for severity in ("error", "warning", "note")}


def as_text(findings: Sequence[Finding], *, notes: bool = True) -> str:
    """A line for each finding, as compilers write them, then why each rule is there, then the sum."""
    shown = [finding for finding in findings if notes or finding.rule.severity != "note"]
    lines = [f"{f.position}: {f.rule.severity} {f.rule.id} {f.message}" for f in shown]
    rules = sorted({finding.rule.id for finding in shown})
    if rules:
        lines += ["", *(f"  {rule} {RULES[rule].title}: {RULES[rule].why}" for rule in rules), ""]
    total = counts(findings)
    hidden = f" ({total['note']} not shown)" if total["note"] and not notes else ""
    return "\n".join([*lines, f"{total['error']} errors, {total['warning']} warnings, {total['note']} notes{hidden}"])


def as_data(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """For ``--json``."""
    return [
        {
            "rule": finding.rule.id,
            "severity": finding.rule.severity,
            "file": finding.position.file,
            "line": finding.position.line,
            "column": finding.position.column,
            "message": finding.message,
            "addon": finding.addon,
        }
        for finding in findings
    ]


def as_sarif(findings: Sequence[Finding], *, version: str) -> dict[str, Any]:
    """One run with every rule, found or not, so that a viewer can tell a rule that is clean from one that is unknown.

    Addresses are relative to the repository (``%SRCROOT%``, as code scanning services take it).
    """
    ids = list(RULES)
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "chandlery catalog lint",
                        "semanticVersion": version,
                        "rules": [_rule(rule) for rule in ids],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, ids.index(finding.rule.id)) for finding in findings],
            }
        ],
    }


def _rule(rule: str) -> Mapping[str, Any]:
    known = RULES[rule]
    return {
        "id": rule,
        "shortDescription": {"text": f"{known.title}."},
        "fullDescription": {"text": f"{known.title}: {known.why}."},
        "help": {"text": f"{known.why.capitalize()}. See {known.documented}."},
        "defaultConfiguration": {"level": known.severity},
    }


def _result(finding: Finding, index: int) -> Mapping[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": finding.position.file, "uriBaseId": "%SRCROOT%"}}
    if finding.position.line:
        place["region"] = {"startLine": finding.position.line, "startColumn": max(1, finding.position.column)}
    return {
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": finding.rule.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }

"""What became of a check, and the one table from what happened to an outcome. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import pytest

from base.errors import ChandleryError, CheckFailed, DeadlineExceeded, NotFound, Unavailable
from base.kube import Refusal

__all__ = ["CleanUpFailed", "Moved", "Outcome", "Phase", "Ruling", "Unknown", "classify", "combine", "expect"]


class Outcome(StrEnum):
    """Only ``passed`` is a pass. ``expected-fail`` is a known upstream fault seen again; an unexpected pass is shown too."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNKNOWN = "unknown"
    EXPECTED_FAIL = "expected-fail"
    UNEXPECTED_PASS = "unexpected-pass"
    UNSUPPORTED = "unsupported"


Phase = Literal["setup", "call", "teardown"]


class Unknown(ChandleryError):
    """The check could not tell, for example because the scheduler gave no sign of life in a quiet window."""


class Moved(CheckFailed):
    """Something that the check has no business with was moved, evicted or changed while it ran."""


class CleanUpFailed(CheckFailed):
    """A check left something behind."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """An outcome and why. A pass needs no reason."""

    outcome: Outcome
    reason: str = ""


def classify(phase: Phase, error: BaseException | None) -> Ruling:
    """The outcome of one phase of a check.

    In the call, what did not hold or did not happen in time is a failure. What kept the check from looking (no API
    server, a fault of the check's own code) is unknown. In the setup everything but a skip is unknown, because nothing
    was looked at. In the teardown everything is a failure: clean-up and an untouched neighbourhood are part of the verdict.
    """
    if error is None:
        return Ruling(Outcome.PASSED)
    text = _text(error)
    if isinstance(error, pytest.skip.Exception):
        return Ruling(Outcome.SKIPPED, error.msg or "no reason given")
    if isinstance(error, KeyboardInterrupt):
        return Ruling(Outcome.UNKNOWN, "interrupted")
    if phase == "teardown" and not isinstance(error, (Unknown, Unavailable)):
        return Ruling(Outcome.FAILED, text)
    if isinstance(error, (Unknown, Unavailable)):
        return Ruling(Outcome.UNKNOWN, text)
    if isinstance(error, Refusal) and (error.status >= 500 or error.status == 429):
        return Ruling(Outcome.UNKNOWN, f"the API server answered {error.status}: {text}")
    if phase == "setup":
        return Ruling(Outcome.UNKNOWN, f"the check could not be set up: {text}")
    if isinstance(error, (AssertionError, CheckFailed, DeadlineExceeded, Refusal, NotFound, pytest.fail.Exception)):
        return Ruling(Outcome.FAILED, text)
    return Ruling(Outcome.UNKNOWN, f"a fault of the check itself: {type(error).__name__}: {text}")


def combine(rulings: list[Ruling]) -> Ruling:
    """One verdict from the phases of one check: the worst wins and every reason is kept."""
    order = [Outcome.FAILED, Outcome.UNKNOWN, Outcome.SKIPPED, Outcome.PASSED]
    if not rulings:
        return Ruling(Outcome.UNKNOWN, "the check did not run")
    worst = min((ruling.outcome for ruling in rulings), key=order.index)
    reasons = list(dict.fromkeys(ruling.reason for ruling in rulings if ruling.reason))
    return Ruling(worst, "\n".join(reasons))


def expect(ruling: Ruling, issue: str) -> Ruling:
    """The verdict of a check that is known to fail on the installed version because of an upstream ``issue``."""
    if ruling.outcome is Outcome.FAILED:
        return Ruling(Outcome.EXPECTED_FAIL, f"known upstream: {issue}\n{ruling.reason}")
    if ruling.outcome is Outcome.PASSED:
        return Ruling(Outcome.UNEXPECTED_PASS, f"expected to fail because of {issue}, but passed")
    return ruling


def _text(error: BaseException) -> str:
    text = str(error).strip()
    if isinstance(error, AssertionError) and text:
        # pytest's rewriting adds the comparison below the message; the message alone is for people, both are kept
        return text
    return text or type(error).__name__

"""What happened decides the outcome, through one table."""

from __future__ import annotations

import pytest

from base.errors import CheckFailed, DeadlineExceeded, NotFound, Unavailable
from base.kube import Refusal
from validation.outcomes import CleanUpFailed, Moved, Outcome, Phase, Ruling, Unknown, classify, combine, expect


def skipped(reason: str) -> BaseException:
    try:
        pytest.skip(reason)
    except BaseException as error:  # pytest's skip is no Exception
        return error


def failed(reason: str) -> BaseException:
    try:
        pytest.fail(reason)
    except BaseException as error:
        return error


@pytest.mark.parametrize(
    ("phase", "error", "outcome"),
    [
        ("call", None, Outcome.PASSED),
        ("call", AssertionError("no"), Outcome.FAILED),
        ("call", failed("no"), Outcome.FAILED),
        ("call", CheckFailed("no"), Outcome.FAILED),
        ("call", DeadlineExceeded("too late"), Outcome.FAILED),
        ("call", NotFound("gone"), Outcome.FAILED),
        ("call", Refusal(422, "Invalid", "no"), Outcome.FAILED),
        ("call", Refusal(403, "Forbidden", "no"), Outcome.FAILED),
        ("call", skipped("no GPU"), Outcome.SKIPPED),
        ("call", Unknown("cannot tell"), Outcome.UNKNOWN),
        ("call", Unavailable("no API server"), Outcome.UNKNOWN),
        ("call", Refusal(500, "InternalError", "no"), Outcome.UNKNOWN),
        ("call", Refusal(429, "TooManyRequests", "no"), Outcome.UNKNOWN),
        ("call", KeyError("spec"), Outcome.UNKNOWN),
        ("call", KeyboardInterrupt(), Outcome.UNKNOWN),
        ("setup", AssertionError("no"), Outcome.UNKNOWN),
        ("setup", DeadlineExceeded("too late"), Outcome.UNKNOWN),
        ("setup", Refusal(403, "Forbidden", "no"), Outcome.UNKNOWN),
        ("setup", skipped("no GPU"), Outcome.SKIPPED),
        ("teardown", None, Outcome.PASSED),
        ("teardown", CleanUpFailed("left a node"), Outcome.FAILED),
        ("teardown", Moved("pod gone"), Outcome.FAILED),
        ("teardown", KeyError("spec"), Outcome.FAILED),
        ("teardown", Unavailable("no API server"), Outcome.UNKNOWN),
        ("teardown", Unknown("perhaps its owner"), Outcome.UNKNOWN),
    ],
)
def test_table(phase: Phase, error: BaseException | None, outcome: Outcome) -> None:
    ruling = classify(phase, error)
    assert ruling.outcome is outcome
    assert bool(ruling.reason) == (outcome is not Outcome.PASSED)


def test_nothing_but_a_clean_end_is_a_pass() -> None:
    assert classify("call", RuntimeError("odd")).outcome is not Outcome.PASSED
    assert combine([]).outcome is Outcome.UNKNOWN


def test_a_failed_clean_up_spoils_a_pass_and_keeps_its_reason() -> None:
    verdict = combine([Ruling(Outcome.PASSED), Ruling(Outcome.PASSED), Ruling(Outcome.FAILED, "left a node")])
    assert verdict == Ruling(Outcome.FAILED, "left a node")


def test_a_failed_clean_up_is_added_to_a_failure() -> None:
    verdict = combine([Ruling(Outcome.FAILED, "wrong queue"), Ruling(Outcome.FAILED, "left a node")])
    assert verdict.reason == "wrong queue\nleft a node"


def test_failure_outweighs_unknown_and_unknown_outweighs_a_skip() -> None:
    assert combine([Ruling(Outcome.UNKNOWN, "a"), Ruling(Outcome.FAILED, "b")]).outcome is Outcome.FAILED
    assert combine([Ruling(Outcome.SKIPPED, "a"), Ruling(Outcome.UNKNOWN, "b")]).outcome is Outcome.UNKNOWN


def test_a_known_upstream_fault_is_shown_either_way() -> None:
    assert expect(Ruling(Outcome.FAILED, "evicted"), "kai#1968").outcome is Outcome.EXPECTED_FAIL
    assert "kai#1968" in expect(Ruling(Outcome.FAILED, "evicted"), "kai#1968").reason
    assert expect(Ruling(Outcome.PASSED), "kai#1968").outcome is Outcome.UNEXPECTED_PASS
    assert expect(Ruling(Outcome.UNKNOWN, "?"), "kai#1968").outcome is Outcome.UNKNOWN

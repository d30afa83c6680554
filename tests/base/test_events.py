"""The same calls make lines for people and lines for programs."""

from __future__ import annotations

import io
import json

import pytest

from base.deadlines import Deadline, poll
from base.errors import DeadlineExceeded
from base.events import JsonReporter, TextReporter


def test_json_events_are_one_object_a_line_with_elapsed_time() -> None:
    stream = io.StringIO()
    reporter = JsonReporter(stream)
    with reporter.step("render") as step:
        step.note("3 charts")
    reporter.event("addon-ready", "cert-manager is ready", addon="cert-manager")
    started, done, event = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert (started["event"], started["message"]) == ("step-started", "render")
    assert done["event"] == "step-done"
    assert done["elapsed_s"] >= 0
    assert done["detail"] == "3 charts"
    assert event["addon"] == "cert-manager"


@pytest.mark.parametrize(("error", "mark"), [(ValueError("x"), "failed"), (KeyboardInterrupt(), "interrupted")])
def test_a_step_that_ends_badly_says_so_and_lets_the_error_through(error: BaseException, mark: str) -> None:
    stream = io.StringIO()
    with pytest.raises(type(error)), TextReporter(stream).step("apply"):
        raise error
    assert stream.getvalue().split()[:2] == [mark, "apply"]


def test_off_a_terminal_a_step_is_one_line() -> None:
    stream = io.StringIO()
    with TextReporter(stream).step("apply"):
        pass
    assert stream.getvalue().count("\n") == 1
    assert "\r" not in stream.getvalue()


def test_poll_gives_up_at_its_deadline_and_names_what_it_waited_for() -> None:
    with pytest.raises(DeadlineExceeded, match=r"port open did not happen within 0\.05 s"):
        poll(lambda: None, Deadline.after(0.05), "port open")
    assert poll(lambda: 7, Deadline.after(1), "number") == 7

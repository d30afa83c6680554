"""Who runs which check next, and what a book makes of what it hears."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

from base.events import QuietReporter, Step
from tests.validation.synthetic import checked
from validation.outcomes import Outcome
from validation.run.book import Book
from validation.run.crew import Worker
from validation.run.desk import Answer, Desk


class Silent:
    """Stands for a worker where only its marks matter."""

    number = 0
    ready = ended = False


def tell(book: Book, **message: Any) -> None:
    book.take(cast(Worker, Silent()), message, QuietReporter(), Step("validate"))


def test_checks_are_handed_out_in_order_and_each_once() -> None:
    desk = Desk(["a", "b", "c"], [])
    assert [desk.ask(0), desk.ask(1), desk.ask(2), desk.ask(0)] == ["a", "b", "c", Answer.STOP]


def test_what_must_be_alone_waits_for_all_others_and_for_each_other() -> None:
    desk = Desk(["a"], ["x", "y"])
    assert desk.ask(0) == "a"
    assert desk.ask(1) is Answer.WAIT
    desk.done(0)
    assert desk.ask(1) == "x"
    assert desk.ask(0) is Answer.WAIT
    desk.done(1)
    assert desk.ask(0) == "y"
    desk.done(0)
    assert desk.ask(0) is Answer.STOP


def test_a_closed_desk_hands_out_nothing() -> None:
    desk = Desk(["a"], ["x"])
    desk.close()
    assert desk.ask(0) is Answer.STOP


def test_what_was_planned_and_never_heard_of_is_unknown_and_says_why() -> None:
    book = Book()
    plan = [asdict(checked(Outcome.UNKNOWN, id=name)) for name in ("T02", "T01")]
    tell(book, type="plan", checks=plan, alone=[])
    tell(book, type="result", labs=["chandlery-check-t01-abcde"], **asdict(checked(Outcome.PASSED, id="T01")))
    results = book.results("the machine went down")
    assert [(item.name, item.outcome, item.reason) for item in results] == [
        ("T01", Outcome.PASSED, ""),
        ("T02", Outcome.UNKNOWN, "the machine went down"),
    ]


def test_a_namespace_that_stays_fails_the_check_that_made_it() -> None:
    book = Book()
    tell(book, type="plan", checks=[asdict(checked(Outcome.UNKNOWN, id=name)) for name in ("T01", "T02")], alone=["T02"])
    for name in ("T01", "T02"):
        tell(book, type="result", labs=[f"chandlery-check-{name.lower()}-abcde"], **asdict(checked(Outcome.PASSED, id=name)))
    book.blame("removal of namespaces did not happen within 90 s; still there: chandlery-check-t02-abcde", QuietReporter())
    assert {item.name: item.outcome for item in book.results("")} == {"T01": Outcome.PASSED, "T02": Outcome.FAILED}
    assert book.desk().alone == ["T02"]

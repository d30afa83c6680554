"""One exception tree, one table."""

from __future__ import annotations

import pytest

from base import errors
from base.errors import ChandleryError, Exit, Position, Problem, SpecError, exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CheckFailed("x"), 1),
        (errors.InvalidInput("x"), 2),
        (SpecError([]), 2),
        (errors.NotFound("x"), 3),
        (errors.Refused("x"), 4),
        (errors.DeadlineExceeded("x"), 5),
        (errors.Unavailable("x"), 6),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def test_a_fault_of_this_program_has_no_exit_code_of_its_own() -> None:
    assert exit_code(ZeroDivisionError()) is None


def test_every_error_class_is_in_the_one_tree_and_has_a_code() -> None:
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, ChandleryError)]
    assert len(classes) == 8
    for cls in classes:
        if cls is not ChandleryError:
            instance = cls([]) if cls is SpecError else cls("x")
            assert isinstance(exit_code(instance), Exit)


def test_an_error_says_what_where_and_what_to_do() -> None:
    assert str(errors.NotFound("no such queue", where="a.yaml:3", todo="write one")).splitlines() == [
        "no such queue",
        "  where: a.yaml:3",
        "  to do: write one",
    ]


def test_problems_of_a_file_are_told_together_in_file_order() -> None:
    late = Problem(Position("a.yaml", 9, 1), "x.y", "late", "mend it")
    early = Problem(Position("a.yaml", 2, 5), "", "early")
    lines = str(SpecError([late, early])).splitlines()
    assert lines == ["2 problems in the cluster spec:", "  a.yaml:2:5: early", "  a.yaml:9:1: x.y: late (mend it)"]

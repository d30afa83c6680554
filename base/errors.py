"""One exception tree and the one table from error to exit code.

Every error that a user may meet says three things: what went wrong, where, and what to do next. Code that
raises decides the class; only the command line turns it into an exit code, through :data:`EXIT_CODES`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

__all__ = [
    "ChandleryError",
    "CheckFailed",
    "DeadlineExceeded",
    "Exit",
    "InvalidInput",
    "NotFound",
    "Position",
    "Problem",
    "Refused",
    "SpecError",
    "Unavailable",
    "exit_code",
]


class Exit(IntEnum):
    """Exit codes of every verb. 130 and 141 are the shell's own for SIGINT and SIGPIPE."""

    OK = 0
    CHECK_FAILED = 1
    INVALID_INPUT = 2
    NOT_FOUND = 3
    REFUSED = 4
    TIMED_OUT = 5
    UNAVAILABLE = 6
    INTERRUPTED = 130
    READER_GONE = 141


class ChandleryError(Exception):
    """Base of all errors raised on purpose.

    ``message`` says what happened, ``where`` names the file, object or address, ``todo`` the next step.
    """

    def __init__(self, message: str, *, where: str = "", todo: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.todo = todo

    def __str__(self) -> str:
        lines = [self.message]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.todo:
            lines.append(f"  to do: {self.todo}")
        return "\n".join(lines)


class CheckFailed(ChandleryError):
    """A check of the validation suite, or a condition that must hold, did not (exit 1)."""


class InvalidInput(ChandleryError):
    """What the user wrote cannot be meant (exit 2)."""


class NotFound(ChandleryError):
    """A named thing does not exist (exit 3)."""


class Refused(ChandleryError):
    """A gate, a lock or a digest stands in the way; nothing was changed (exit 4)."""


class DeadlineExceeded(ChandleryError):
    """A wait reached its deadline (exit 5)."""


class Unavailable(ChandleryError):
    """A program, network address or machine resource that is needed cannot be had now (exit 6)."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text file; line and column count from 1."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in a file: where, which field (dotted path), what is wrong and what would be right."""

    position: Position
    field: str
    message: str
    todo: str = ""

    def __str__(self) -> str:
        field = f" {self.field}:" if self.field else ""
        todo = f" ({self.todo})" if self.todo else ""
        return f"{self.position}:{field} {self.message}{todo}"


class SpecError(InvalidInput):
    """All problems of one file at once, in file order, so that nobody fixes them one run at a time."""

    def __init__(self, problems: Iterable[Problem], *, what: str = "cluster spec") -> None:
        self.problems = tuple(sorted(problems, key=lambda p: (p.position.file, p.position.line, p.position.column)))
        count = len(self.problems)
        text = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{count} problem{'s' if count != 1 else ''} in the {what}:\n{text}")


#: Most specific class first is not needed: the first match along the class's own MRO wins.
EXIT_CODES: dict[type[BaseException], Exit] = {
    CheckFailed: Exit.CHECK_FAILED,
    InvalidInput: Exit.INVALID_INPUT,
    NotFound: Exit.NOT_FOUND,
    Refused: Exit.REFUSED,
    DeadlineExceeded: Exit.TIMED_OUT,
    Unavailable: Exit.UNAVAILABLE,
    KeyboardInterrupt: Exit.INTERRUPTED,
}


def exit_code(error: BaseException) -> Exit | None:
    """The exit code of an error, or None for one that nobody raised on purpose (a fault of this program)."""
    for cls in type(error).__mro__:
        if cls in EXIT_CODES:
            return EXIT_CODES[cls]
    return None

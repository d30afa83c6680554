"""``python -m toolchain [--all | --tests] [NAME...]``: have the named external programs at hand; default: for daily work."""

from __future__ import annotations

import sys

from base.errors import ChandleryError, Exit, exit_code
from base.events import TextReporter
from toolchain import obtain_all, pins


def main(arguments: list[str]) -> int:
    """Obtain programs; without names those for daily work, with ``--tests`` also those of the tests, with ``--all`` every one."""
    reporter = TextReporter()
    tools = pins.load().tools.values()
    names = [name for name in arguments if not name.startswith("--")]
    purposes = {"", "tests"} if "--tests" in arguments else {""}
    try:
        obtain_all(names or [tool.name for tool in tools if "--all" in arguments or tool.purpose in purposes], reporter)
    except ChandleryError as error:
        reporter.event("error", f"error: {error}")
        return exit_code(error) or Exit.UNAVAILABLE
    except KeyboardInterrupt:
        reporter.event("interrupted", "interrupted; run the same command again to go on")
        return Exit.INTERRUPTED
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``python -m cli``: the command with its errors in words and its exit codes from the one table."""

from __future__ import annotations

import os
import sys

import click

from base.errors import ChandleryError, Exit, exit_code
from cli.app import chandlery


def main(arguments: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    try:
        result = chandlery.main(arguments, prog_name="chandlery", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("\ninterrupted; run the same command again to go on", err=True)
        return Exit.INTERRUPTED
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return Exit.INVALID_INPUT
    except KeyboardInterrupt:
        click.echo("\ninterrupted; run the same command again to go on", err=True)
        return Exit.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # click ends with SystemExit(1) when whoever reads has gone; that is no failed check, and no success either.
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return Exit.READER_GONE
    except ChandleryError as error:
        click.echo(f"error: {error}", err=True)
        return exit_code(error) or Exit.CHECK_FAILED
    except OSError as error:
        click.echo(f"error: {error.strerror or error}\n  where: {error.filename or 'the operating system'}", err=True)
        return Exit.UNAVAILABLE
    return int(result) if isinstance(result, int) else Exit.OK


if __name__ == "__main__":
    sys.exit(main())

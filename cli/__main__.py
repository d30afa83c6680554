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
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.OK
    except ChandleryError as error:
        click.echo(f"error: {error}", err=True)
        return exit_code(error) or Exit.CHECK_FAILED
    return int(result) if isinstance(result, int) else Exit.OK


if __name__ == "__main__":
    sys.exit(main())

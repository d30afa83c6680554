"""Options that several verbs share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

spec = click.option(
    "-c",
    "--spec",
    "spec_file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The cluster spec, e.g. clusters/quickstart.yaml.",
)
_scheduler = click.option("--scheduler", help="Change which scheduler the cluster has (kai-scheduler, kai-reference).")
_kai_binaries = click.option(
    "--kai-binaries",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory with KAI's own programs (operator, admission, scheduler, binder ...) for the embedded target.",
)
_mirror = click.option(
    "--mirror",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory with packaged charts that comes before any registry.",
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says about a cluster beyond its spec."""

    scheduler: str | None = None
    kai_binaries: Path | None = None
    mirror: Path | None = None


#: The spec alone decides.
NO_WISHES = Wishes()


def wishes(command: Callable[..., int]) -> Callable[..., int]:
    """The three options of :class:`Wishes`, given to the command as ``wishes``."""

    @_scheduler
    @_kai_binaries
    @_mirror
    @functools.wraps(command)
    def given(*args: object, scheduler: str | None, kai_binaries: Path | None, mirror: Path | None, **more: object) -> int:
        return command(*args, wishes=Wishes(scheduler, kai_binaries, mirror), **more)

    return given


yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")

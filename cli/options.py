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
spec_if_any = click.option(
    "-c",
    "--spec",
    "spec_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The cluster spec whose values and cluster are meant [default: none, the package's own values].",
)
_scheduler = click.option("--scheduler", help="Change which scheduler the cluster has (kai-scheduler, kai-reference).")
_kai_binaries = click.option(
    "--kai-binaries",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory with KAI's own programs (operator, admission, scheduler, binder ...) for the embedded target.",
)
mirror = click.option(
    "--mirror",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory with packaged charts that comes before any registry.",
)
_from_bundle = click.option(
    "--from-bundle",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Take charts and programs from this bundle and this machine only; nothing else is asked. Kept with the cluster.",
)
_online = click.option("--online", is_flag=True, help="Forget a bundle that was given before.")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the command line says about a cluster beyond its spec."""

    scheduler: str | None = None
    kai_binaries: Path | None = None
    mirror: Path | None = None
    from_bundle: Path | None = None
    online: bool = False


#: The spec alone decides.
NO_WISHES = Wishes()


def wishes(command: Callable[..., int]) -> Callable[..., int]:
    """The options of :class:`Wishes`, given to the command as ``wishes``."""

    @_scheduler
    @_kai_binaries
    @mirror
    @_from_bundle
    @_online
    @functools.wraps(command)
    def given(
        *args: object,
        scheduler: str | None,
        kai_binaries: Path | None,
        mirror: Path | None,
        from_bundle: Path | None,
        online: bool,
        **more: object,
    ) -> int:
        return command(*args, wishes=Wishes(scheduler, kai_binaries, mirror, from_bundle, online), **more)

    return given


yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")

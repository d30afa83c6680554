"""Options that several verbs share."""

from __future__ import annotations

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
scheduler = click.option("--scheduler", help="Change which scheduler the cluster has (kai-scheduler, kai-reference).")
kai_binaries = click.option(
    "--kai-binaries",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory with KAI's own programs (operator, admission, scheduler, binder ...) for the embedded target.",
)
mirror = click.option(
    "--mirror",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A directory with packaged charts that comes before any registry.",
)
yes = click.option("-y", "--yes", is_flag=True, help="Do not ask.")

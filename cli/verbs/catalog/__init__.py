"""``chandlery catalog``: what can be installed, why or why not, and what it brings."""

from __future__ import annotations

import click

from cli.verbs.catalog import show


@click.group()
def catalog() -> None:
    """What can be installed: add-ons, versions, the objects that one becomes.

    \b
    Example:  chandlery catalog versions kai-scheduler
    """


for _command in (show.show, show.versions, show.render):
    catalog.add_command(_command)

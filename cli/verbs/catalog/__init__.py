"""``chandlery catalog``: what can be installed, why or why not, and what it brings."""

from __future__ import annotations

import click

from cli.verbs.catalog import bundle, crd_diff, diff, lint, pin, schema, show, supply, why


@click.group()
def catalog() -> None:
    """What can be installed: add-ons, versions, the objects that one becomes.

    \b
    Example:  chandlery catalog versions kai-scheduler
              chandlery catalog why-not kai-scheduler 0.18.6 -c clusters/quickstart.yaml
    """


for _command in (
    show.show,
    show.versions,
    show.render,
    why.why_not,
    schema.schema,
    lint.lint,
    crd_diff.crd_diff,
    diff.diff,
    supply.images,
    supply.sbom,
    supply.rbac,
    pin.pin,
    bundle.bundle,
    bundle.bundle_verify,
):
    catalog.add_command(_command)

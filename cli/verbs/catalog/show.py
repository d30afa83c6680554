"""``catalog show``, ``versions``, ``render``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from base.errors import Exit, NotFound
from base.names import did_you_mean
from cli import options
from cli.context import App, table


@click.command()
@click.pass_obj
def show(app: App) -> int:
    """Every add-on with its versions and the channels' choice."""
    from catalog.read.load import load

    catalogue = load()
    channels = sorted(catalogue.channels)
    rows = [
        (
            name,
            addon.role,
            ", ".join(v.version for v in catalogue.versions[name]),
            *(catalogue.channels[channel].versions.get(name, "-") for channel in channels),
            addon.title,
        )
        for name, addon in sorted(catalogue.addons.items())
    ]
    data = {name: [v.version for v in versions] for name, versions in catalogue.versions.items()}
    app.print(data, table(("add-on", "role", "versions", *channels, "title"), rows))
    return Exit.OK


@click.command()
@click.argument("addon")
@click.pass_obj
def versions(app: App, addon: str) -> int:
    """The versions of one add-on: pins, compatibility, known issues and what guards against them."""
    from catalog.read.load import load

    catalogue = load()
    if addon not in catalogue.addons:
        raise NotFound(f"unknown add-on {addon!r}", todo=did_you_mean(addon, catalogue.addons))
    lines = []
    for version in catalogue.versions[addon]:
        tested = ", ".join(f"{t.on} ({t.record})" for t in version.compatibility.tested) or "nothing yet"
        lines.append(
            f"{addon} {version.version} (released {version.released}): chart {version.chart_pin}, images {version.image_pin}"
        )
        lines.append(f"  Kubernetes: declared {version.compatibility.declared}, tested {tested}")
        for issue in version.issues:
            guard = f"guarded by {issue.guard} ({issue.cost})" if issue.guard else "not guarded"
            lines.append(f"  known issue {issue.id}: {issue.title}; {guard}")
    app.print([asdict(v) for v in catalogue.versions[addon]], "\n".join(lines))
    return Exit.OK


@click.command()
@options.spec
@click.argument("addon")
@click.pass_obj
def render(app: App, spec_file: Path, addon: str) -> int:
    """The objects that one add-on becomes on a cluster, as JSON."""
    import json

    from cli.session import open_session

    session = open_session(app, spec_file)
    try:
        item = session.plan.item(addon)
    except KeyError:
        known = [i.addon for i in session.plan.items]
        raise NotFound(f"{addon} is not in the plan of {session.spec.name}", todo=did_you_mean(addon, known)) from None
    rendered = session.packager().render(item)
    objects = [*rendered.crds, *rendered.objects]
    app.print(objects, json.dumps(objects, indent=2))
    return Exit.OK

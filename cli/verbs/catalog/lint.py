"""``catalog lint``: what is wrong with the catalogue, or worth knowing about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from base.errors import Exit, InvalidInput
from cli import options
from cli.context import App

if TYPE_CHECKING:
    from catalog.lint.world import Finding
    from catalog.model import Catalogue


@click.command()
@click.option("--addon", help="Only what is about this add-on.")
@click.option("--format", "form", type=click.Choice(["text", "sarif", "json"]), default="text", show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--render", is_flag=True, help="Also look at what charts render, as far as they can be had here.")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--notes/--no-notes", default=True, show_default=True, help="Show what is worth knowing and no fault.")
@click.option(
    "--catalogue",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The directory with addons/ and channels/ [default: this checkout's].",
)
@options.mirror
@click.pass_obj
def lint(
    app: App,
    addon: str | None,
    form: str,
    output: Path | None,
    render: bool,
    strict: bool,
    notes: bool,
    catalogue: Path | None,
    mirror: Path | None,
) -> int:
    """Judge the catalogue: pins, guards, configuration, compatibility, channels, edges, packages.

    Exit code 0 when it is clean (notes are no fault), 1 otherwise.

    \b
    Example:  chandlery catalog lint --addon kai-scheduler
              chandlery catalog lint --format sarif -o lint.sarif
    """
    from base.files import write_atomic
    from base.places import REPOSITORY
    from catalog.lint.output import as_data, as_sarif, as_text, counts
    from catalog.lint.run import lint_directory
    from catalog.read.load import ROOT
    from toolchain import pins

    root = catalogue.absolute() if catalogue else ROOT
    findings, loaded = lint_directory(root, docs=REPOSITORY / "docs", tools=pins.load().tools)
    if addon and loaded is not None:
        loaded.addon(addon)
    if render and loaded is None:
        raise InvalidInput("the catalogue cannot be read, so nothing of it can be rendered", todo="run it without --render first")
    if render and loaded is not None:
        findings = _with_rendered(app, root, loaded, findings, addon, mirror)
    if addon:
        findings = [finding for finding in findings if finding.addon in ("", addon)]
    total = counts(findings)
    text = as_text(findings, notes=notes)
    if form == "sarif":
        text = json.dumps(as_sarif(findings, version="0.1.0"), indent=2)
    elif form == "json":
        text = json.dumps(as_data(findings), indent=2)
    if output is not None:
        write_atomic(output, f"{text}\n")
        sums = ", ".join(f"{number} {severity}s" for severity, number in total.items())
        app.print({"file": str(output), **total}, f"{output}: {sums}")
    elif form == "text":
        app.print(as_data(findings), text)
    else:
        click.echo(text)
    return Exit.CHECK_FAILED if total["error"] or (strict and total["warning"]) else Exit.OK


def _with_rendered(
    app: App, root: Path, catalogue: Catalogue, findings: list[Finding], addon: str | None, mirror: Path | None
) -> list[Finding]:
    import datetime
    from dataclasses import replace

    from catalog.lint.places import Places
    from catalog.lint.rendered import lint_rendered
    from catalog.lint.run import ordered, placed
    from catalog.lint.world import World
    from cli.session import packager, renderer

    mine = replace(catalogue, addons={addon: catalogue.addons[addon]}) if addon else catalogue
    world = World(mine, datetime.date.today())
    with app.reporter.step("render charts") as step:
        found = list(placed(lint_rendered(world, packager(app, catalogue, mirror), renderer(app)), Places(root)))
        step.note(f"{len(found)} findings")
    return ordered([*findings, *found])

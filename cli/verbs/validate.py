"""``chandlery validate``: the suite."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from base.errors import Exit
from cli import options
from cli.context import App, table
from cli.summary import EXIT_OF, summary_data, summary_text


@click.group()
def validate() -> None:
    """The checks: list them, explain one, run them against a cluster.

    \b
    Example:  chandlery validate run -c clusters/quickstart.yaml --only T21
    """


@validate.command("list")
@click.pass_obj
def list_(app: App) -> int:
    """Every check with its id, tier and what it proves."""
    from validation.run import listing

    checks = listing()
    rows = [(c.id, c.room, c.tier, c.title) for c in checks]
    app.print([asdict(c) for c in checks], table(("id", "room", "tier", "title"), rows))
    return Exit.OK


@validate.command()
@click.argument("id")
@click.pass_obj
def explain(app: App, id: str) -> int:
    """What one check proves, how, and what it needs."""
    from validation.run import explain as find

    found = find(id)
    lines = [f"{found.id}  {found.title}", f"proves: {found.proves}", f"how: {found.story}"]
    lines += [f"tier: {found.tier}; room: {found.room}; subject: {found.subject}; deadline: {found.seconds:g} s", found.where]
    lines += [f"known fault: {fault.issue} ({fault.first} to {fault.last})" for fault in found.known_faults]
    app.print(asdict(found), "\n".join(lines))
    return Exit.OK


@validate.command()
@options.spec
@click.option("--only", multiple=True, metavar="WHAT", help="A check's id, a room or an add-on; may be repeated.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("report"),
    show_default=True,
)
@click.option("--within", default=3600.0, show_default=True, type=click.FloatRange(1), help="Seconds for the whole run.")
@click.pass_obj
def run(app: App, spec_file: Path, only: tuple[str, ...], output: Path, within: float) -> int:
    """Run the checks against a cluster and write report.html, junit.xml and report.json.

    Exit 0 when all that ran passed, 1 when one failed, 5 when something could not be told.
    """
    from cli.session import open_session
    from validation import report
    from validation.run import run as run_suite

    session = open_session(app, spec_file)
    result = run_suite(session.spec, session.facts, session.plan, app.reporter, select=only, within=within)
    written = report.write(result, output)
    app.print(summary_data(result, written), summary_text(result, written))
    return EXIT_OF[result.verdict]

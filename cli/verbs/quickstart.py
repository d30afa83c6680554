"""``chandlery quickstart``: the whole path on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from base.errors import Exit
from base.places import REPOSITORY
from cli import options
from cli.context import App
from cli.summary import EXIT_OF, summary_data, summary_text, tell_leftovers


@click.command()
@click.option(
    "-c",
    "--spec",
    "spec_file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=REPOSITORY / "clusters" / "quickstart.yaml",
    help="Another spec with an embedded target [default: clusters/quickstart.yaml].",
)
@options.wishes
@click.option("--only", multiple=True, metavar="WHAT", help="Run just these checks (id, room or add-on).")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), default=Path("report"), show_default=True)
@click.option("--open/--no-open", "show", default=None, help="Open the report in a browser [default: on a desktop's terminal].")
@click.pass_obj
def quickstart(
    app: App,
    spec_file: Path,
    wishes: options.Wishes,
    only: tuple[str, ...],
    output: Path,
    show: bool | None,
) -> int:
    """A local cluster, the example customer's add-ons, their checks and a report. May be run again at any time.

    \b
    Example:  chandlery quickstart
              chandlery quickstart -c clusters/kai.yaml --kai-binaries ~/kai/bin --mirror ~/kai/charts
    """
    import toolchain
    from cli.session import declaration, engine, leftover_queues, open_session, set_programs
    from validation import report
    from validation.run import run as run_suite

    # Had before the cluster is started, so that no build stops the run in its middle.
    toolchain.obtain_all(("pulumi", "pulumi-resource-kubernetes"), app.reporter, offline=wishes.from_bundle is not None)
    session = open_session(app, spec_file, wishes, create=True)
    app.reporter.event("scheduler", f"scheduler: {session.choice.scheduler}: {session.choice.reason}")
    set_programs(session)
    # The cluster is of our own making: one that was made anew leaves nothing behind of the old one's objects.
    applied = engine(session).up(declaration(session), replace_cluster=session.facts.target == "embedded")
    tell_leftovers(app, leftover_queues(session, applied.outputs.get("queues", ())))
    result = run_suite(session.spec, session.facts, session.plan, app.reporter, select=only)
    written = report.write(result, output)
    cluster = session.spec.name
    text = "\n".join(
        [
            "",
            summary_text(result, written),
            f"applied: {applied.changes} in {applied.seconds:.1f} s",
            f"go on: export KUBECONFIG=$(bin/chandlery target kubeconfig --name {cluster})",
            "       bin/chandlery validate list; bin/chandlery --help; README.md",
            "tear down: make clean-cluster",
        ]
    )
    app.print({**summary_data(result, written), "changes": str(applied.changes)}, text)
    if show or (show is None and _on_a_desktop()):
        click.launch(str(written.html.absolute()))
    return EXIT_OF[result.verdict] if result.checks else Exit.CHECK_FAILED


def _on_a_desktop() -> bool:
    return sys.stdout.isatty() and bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))

"""The root command. Verbs are imported when they are called, so that ``--help`` stays quick."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from cli.context import App

#: verb -> module of :mod:`cli.verbs` that holds a click command of that name, and its one-line help.
VERBS = {
    "quickstart": ("quickstart", "First run: a local cluster, its add-ons, their checks and a report."),
    "doctor": ("doctor", "What programs are there, from where, what is missing and what to do."),
    "plan": ("stack", "What would be installed and why, before anything is touched."),
    "preview": ("stack", "What an up would change on the cluster."),
    "up": ("stack", "Bring a cluster's add-ons and queues to what its spec says."),
    "refresh": ("stack", "Read the cluster's objects back into the stack's state."),
    "destroy": ("stack", "Take the add-ons off a cluster; CRDs and queues stay."),
    "env": ("stack", "Print the environment in which plain pulumi works on the same stacks."),
    "target": ("target", "Local clusters: up, down, status, kubeconfig."),
    "catalog": ("catalog", "What can be installed: show, versions, why-not, lint, diff ..."),
    "validate": ("validate", "The checks: list, explain, run."),
}


class Verbs(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"cli.verbs.{VERBS[cmd_name][0]}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--json", "as_json", is_flag=True, help="Results as JSON on standard output, events as JSON lines on the other.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where clusters and stacks are kept [default: $CHANDLERY_STATE, else .chandlery in the checkout].",
)
@click.version_option("0.1.0", prog_name="chandlery")
@click.pass_context
def chandlery(ctx: click.Context, as_json: bool, state: Path | None) -> None:
    """Fits GPU clusters out: a catalogue of schedulers, installed with Pulumi, proved by checks.

    \b
    Start here:  chandlery quickstart
    Exit codes:  0 ok, 1 a check failed, 2 invalid input, 3 not found, 4 refused by a gate or a lock,
                 5 timed out, 6 unavailable, 130 interrupted, 141 nobody reads the output
    """
    ctx.obj = App.make(as_json=as_json, state=state)

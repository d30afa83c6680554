"""``chandlery plan``, ``preview``, ``up``, ``refresh``, ``destroy``, ``env``: one cluster's stack."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path

import click

from base.errors import Exit, Refused
from base.places import DEFAULT_STATE
from cli import options
from cli.context import App, table
from cli.summary import tell_leftovers


@click.command()
@options.spec
@options.wishes
@click.pass_obj
def plan(app: App, spec_file: Path, wishes: options.Wishes) -> int:
    """What would be installed and why, before anything is touched.

    \b
    Example:  chandlery plan -c clusters/quickstart.yaml
    """
    from cli.session import open_session
    from schedulers.tenancy import queues

    session = open_session(app, spec_file, wishes, decide_only=True)
    made = session.plan
    rows = [(i.addon, i.version, i.state, i.chart_pin, i.image_pin, i.reason) for i in made.items]
    guards = [f"  {i.addon}: {guard}" for i in made.items for guard in i.guards]
    text = table(("add-on", "version", "state", "chart", "images", "why"), rows)
    text += f"\n\nscheduler: {made.scheduler}: {made.scheduler_reason}\nplan: {made.digest}"
    if guards:
        text += "\nguards that the packages hold:\n" + "\n".join(guards)
    notes = [f"  {i.addon} {i.version}: {note}" for i in made.items for note in i.notes]
    if notes:
        text += "\nneeds of these versions that were not checked, or do not apply here:\n" + "\n".join(notes)
    tenancy = queues(session.spec.tenancy, session.spec.node_pools)
    text += "\nqueues: " + (", ".join(queue["metadata"]["name"] for queue in tenancy) or "none")
    app.print({**asdict(made), "queues": list(tenancy)}, text)
    return Exit.OK


@click.command()
@options.spec
@options.wishes
@click.pass_obj
def preview(app: App, spec_file: Path, wishes: options.Wishes) -> int:
    """What an up would change on the cluster. Changes nothing.

    \b
    Example:  chandlery preview -c clusters/quickstart.yaml
    """
    from cli.session import declaration, engine, open_session

    session = open_session(app, spec_file, wishes)
    outcome = engine(session).preview(declaration(session))
    app.print(asdict(outcome), f"{session.spec.name}: {outcome.changes} if applied now ({outcome.seconds:.1f} s)")
    return Exit.OK


@click.command()
@options.spec
@options.wishes
@click.option("--replace-cluster", is_flag=True, help="The cluster was made anew: drop the old one's records (a copy is kept).")
@click.pass_obj
def up(app: App, spec_file: Path, wishes: options.Wishes, replace_cluster: bool) -> int:
    """Bring a cluster's add-ons and queues to what its spec says. An embedded cluster that is down is started.

    \b
    Example:  chandlery up -c clusters/quickstart.yaml
    """
    from cli.session import declaration, engine, leftover_queues, open_session, set_programs

    session = open_session(app, spec_file, wishes, create=True)
    set_programs(session)
    outcome = engine(session).up(declaration(session), replace_cluster=replace_cluster)
    tell_leftovers(app, leftover_queues(session, outcome.outputs.get("queues", ())))
    app.print(asdict(outcome), f"{session.spec.name}: {outcome.changes} in {outcome.seconds:.1f} s")
    return Exit.OK


@click.command()
@options.spec
@click.pass_obj
def refresh(app: App, spec_file: Path) -> int:
    """Read the cluster's objects back into the stack's state.

    \b
    Example:  chandlery refresh -c clusters/quickstart.yaml
    """
    from cli.session import engine, open_session

    session = open_session(app, spec_file)
    outcome = engine(session).refresh()
    app.print(asdict(outcome), f"{session.spec.name}: {outcome.changes} in {outcome.seconds:.1f} s")
    return Exit.OK


@click.command()
@options.spec
@options.yes
@click.pass_obj
def destroy(app: App, spec_file: Path, yes: bool) -> int:
    """Take the add-ons off a cluster. CRDs and queues stay, and with them what teams have set up.

    \b
    Example:  chandlery destroy -c clusters/quickstart.yaml --yes
    """
    from cli.session import engine, open_session

    session = open_session(app, spec_file)
    if not yes and not click.confirm(f"Take all add-ons off cluster {session.spec.name}?", err=True):
        raise Refused("nothing was taken off", todo="say yes, or pass --yes")
    outcome = engine(session).destroy()
    app.print(asdict(outcome), f"{session.spec.name}: {outcome.changes} in {outcome.seconds:.1f} s; CRDs and queues stay")
    return Exit.OK


@click.command()
@options.spec
@click.pass_obj
def env(app: App, spec_file: Path) -> int:
    """Print the environment in which plain pulumi works on the same stacks.

    \b
    Example:  eval "$(chandlery env -c clusters/quickstart.yaml)"
              pulumi preview --stack quickstart
    """
    from cli.session import engine, open_session

    values = engine(open_session(app, spec_file)).environment()
    values["CHANDLERY_STATE"] = str(app.state)
    lines = [f"export {name}={shlex.quote(value)}" for name, value in sorted(values.items())]
    if app.state != DEFAULT_STATE:
        lines.append(f"# with this state directory plain pulumi needs --config-file {app.state}/project/Pulumi.STACK.yaml")
    app.print(values, "\n".join(lines))
    return Exit.OK

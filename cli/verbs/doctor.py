"""``chandlery doctor``."""

from __future__ import annotations

from dataclasses import asdict

import click

from base.errors import Exit
from cli.context import App, table


@click.command()
@click.pass_obj
def doctor(app: App) -> int:
    """What programs are there, from where, what is missing and what to do. Changes nothing.

    \b
    Example:  chandlery doctor
              chandlery --json doctor
    """
    import toolchain

    tools = toolchain.status()
    rows = [(t.name, t.version, t.state, t.found or "-", t.path or "-") for t in tools]
    notes = [f"{t.name}: {t.todo}" for t in tools if t.todo]
    notes += [f"{t.name}: built from commit {t.commit}, which has no release tag" for t in tools if t.commit]
    notes += [f"{t.name}: on PATH and not used: {what}" for t in tools for what in t.rejected]
    notes.append("kind target and GPU checks: never run here")
    text = table(("program", "wanted", "from", "found", "path"), rows) + "\n\n" + "\n".join(notes)
    app.print([asdict(t) for t in tools], text)
    return Exit.OK if all(t.ok for t in tools) else Exit.UNAVAILABLE

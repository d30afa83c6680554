"""``catalog why-not``: whether a version may go onto a cluster, and if not, what would have to change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from base.errors import Exit
from cli import options
from cli.context import App

if TYPE_CHECKING:
    from catalog.resolve.findings import Finding
    from catalog.resolve.whynot import Answer


@click.command("why-not")
@options.spec_if_any
@click.argument("addon")
@click.argument("version")
@click.pass_obj
def why_not(app: App, spec_file: Path | None, addon: str, version: str) -> int:
    """Whether VERSION of ADDON may go onto a cluster: yes with what to know, or no with each reason.

    Without a spec: whether it may go anywhere, and what it needs where it goes. Nothing is changed. Exit code 0: it may,
    4: it may not, 3: there is no such version.

    \b
    Example:  chandlery catalog why-not kai-scheduler 0.20.1
              chandlery catalog why-not gpu-operator 26.7.1 -c clusters/quickstart.yaml
    """
    from catalog.read.load import load
    from catalog.resolve.whynot import as_data, why_not_anywhere
    from catalog.resolve.whynot import why_not as asked
    from cli.session import asked_about

    question = asked_about(app, spec_file) if spec_file else None
    answer = asked(question, addon, version) if question else why_not_anywhere(load(), addon, version)
    app.print(as_data(answer), _text(answer))
    return Exit.OK if answer.may else Exit.REFUSED


def _text(answer: Answer) -> str:
    subject = f"{answer.addon} {answer.version}"
    where = f"onto cluster {answer.cluster}" if answer.cluster else "onto a cluster that has what it needs"
    lines = [
        f"yes: {subject} may go {where}" if answer.may else f"no: {subject} may not go {where if answer.cluster else 'anywhere'}"
    ]
    lines += [f"  - {_about(one, answer)}" for one in answer.reasons]
    if answer.change:
        lines.append(f"what would have to change: {answer.change}")
    if answer.effects:
        lines += ["other add-ons:" if not any(e.addon == answer.addon for e in answer.effects) else "add-ons:"]
        lines += [f"  - {effect}" for effect in answer.effects]
    elif answer.cluster:
        lines.append("other add-ons: nothing changes for them")
    lines += _notes("to know:", answer.notes, answer)
    return "\n".join(lines)


def _notes(title: str, notes: Sequence[Finding], answer: Answer) -> list[str]:
    return [title, *(f"  - {_about(one, answer)}" for one in notes)] if notes else []


def _about(one: Finding, answer: Answer) -> str:
    """Half sentences about the version that was asked about need no subject; those between add-ons have their own."""
    if one.code in ("requires", "peer", "excludes", "scheduler") and answer.cluster:
        return one.sentence
    return one.sentence if one.addon == answer.addon else str(one)

"""Every verb explains itself, with an example."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from base.errors import Exit
from base.places import REPOSITORY
from cli.app import VERBS, chandlery
from cli.summary import EXIT_OF
from validation.run.results import Verdict


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_an_example(verb: str) -> None:
    context = click.Context(chandlery)
    command = chandlery.get_command(context, verb)
    assert command is not None
    assert "Example:" in (command.help or "")


def test_every_verdict_has_an_exit_code_and_only_a_pass_is_zero() -> None:
    assert set(EXIT_OF) == set(Verdict.__args__)  # type: ignore[attr-defined]
    assert [verdict for verdict, code in EXIT_OF.items() if code == 0] == ["passed"]


def test_a_reader_who_has_gone_is_neither_a_pass_nor_a_failed_check() -> None:
    command = [sys.executable, "-c", "import sys; from cli.__main__ import main; sys.exit(main(['catalog', 'show']))"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.wait(timeout=60) == Exit.READER_GONE

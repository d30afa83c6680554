"""The stand-in for ``pulumi-language-python``: where the official one is, or a program that does its work.

The Pulumi CLI runs a Python program through ``pulumi-language-python``, which every official installation has and no
Go module builds. Where it is absent, a two-line program of that name is put into the cache; it runs
:mod:`toolchain.python_host.server` with this interpreter.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from pathlib import Path

from base.events import Reporter
from base.files import write_atomic
from base.places import REPOSITORY, cache_dir
from toolchain import path_search

PROGRAM = "pulumi-language-python"


def official(pulumi: Path) -> Path | None:
    """The official language host that ``pulumi`` (path of the CLI) would use: beside it, or on PATH."""
    mine = cache_dir() / "language-host"
    for candidate in (pulumi.resolve().parent / PROGRAM, *path_search.candidates(PROGRAM)):
        if os.access(candidate, os.X_OK) and mine not in candidate.parents:
            return candidate
    return None


def location(interpreter: str = sys.executable) -> tuple[Path, str]:
    """Where the stand-in for ``interpreter`` belongs, and its text."""
    text = script(interpreter, REPOSITORY)
    return cache_dir() / "language-host" / hashlib.sha256(text.encode()).hexdigest()[:16] / PROGRAM, text


def stand_in(reporter: Reporter, interpreter: str = sys.executable) -> Path:
    """The stand-in program for ``interpreter``; written where it is not there yet."""
    program, text = location(interpreter)
    if not program.exists():
        write_atomic(program, text, mode=0o755)
        reporter.event("language-host", f"wrote a stand-in for {PROGRAM}", path=str(program))
    return program


def script(interpreter: str, repository: Path) -> str:
    """The program's text. A shell starts Python, because a ``#!`` line takes neither blanks nor long paths.

    ``-P`` keeps the customer's working directory out of the module search until the program itself runs.
    """
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from toolchain.python_host.server import main; main()"
    words = " ".join(shlex.quote(word) for word in (interpreter, "-P", "-c", code, str(repository)))
    return f'#!/bin/sh\nexec {words} "$@"\n'

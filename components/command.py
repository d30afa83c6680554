"""How the Pulumi CLI is run: apart from the terminal's signals, on files instead of pipes, with a record of its process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from pulumi.automation import CommandResult, OnOutput, PulumiCommand
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from base import processes
from base.errors import Unavailable
from base.files import room_errors, write_json
from components.layout import Tools

#: CLI commands that change a stack, and so hold Pulumi's lock on it.
_WRITERS = {"up", "destroy", "refresh"}


def end_leftovers(record: Path) -> bool:
    """Stop the plugins of a CLI that was killed: they do not notice it and would stay for good. Whether there were any.

    ``record`` is there only while a CLI works on the stack, or when it did not come to its end.
    """
    process = processes.load(record)
    if process is None or processes.alive(process):
        return False
    found = bool(processes.session(process))
    processes.stop(process)
    record.unlink(missing_ok=True)
    return found


class EngineCommand(PulumiCommand):
    """The Automation API's way to the CLI, with three differences.

    The CLI gets a session of its own and is interrupted once per interrupt of ours, so that it can finish what it
    has begun; a second interrupt makes it stop at once, as on a terminal. Its output goes to files: were it a pipe, the
    death of this process would kill the engine at its next line, half way through an operation. And its process is
    recorded, so that the next run can tell an engine that outlived us from somebody else's.
    """

    def __init__(self, tools: Tools, record: Path, log: Path, on_interrupt: Callable[[], None]) -> None:
        # The toolchain has checked the version; the base class would start the CLI to ask for it.
        self.command = str(tools.pulumi)
        self.version = VersionInfo.parse(tools.version.removeprefix("v"))
        self._record = record
        self._log = log
        self._on_interrupt = on_interrupt
        #: Whether every command that changes the stack has ended by itself so far, and so saved the stack's state.
        self.orderly = True

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnOutput | None = None,
        on_error: OnOutput | None = None,
    ) -> CommandResult:
        """Run the CLI to its end. CommandError where it fails, KeyboardInterrupt where it was interrupted."""
        del on_output, on_error
        ambient = {key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")}
        env = {**ambient, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        command = [self.command, "--non-interactive", *args]
        with room_errors(self._log.parent), tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                child = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd, env=env, start_new_session=True
                )
            except OSError as error:
                raise Unavailable(f"cannot start pulumi: {error.strerror}", where=self.command) from error
            writer = args[0] in _WRITERS
            if writer:
                self._remember(child, command)
            interrupted = self._wait(child)
            if writer:
                if child.returncode < 0:
                    end_leftovers(self._record)
                self._record.unlink(missing_ok=True)
                self.orderly = self.orderly and child.returncode >= 0
            result = CommandResult(stdout=_text(out), stderr=_text(err), code=child.returncode)
        self._write_log(args, result)
        if interrupted:
            raise KeyboardInterrupt
        if result.code != 0:
            raise create_command_error(result)
        return result

    def _remember(self, child: subprocess.Popen[bytes], command: list[str]) -> None:
        write_json(self._record, asdict(processes.describe("pulumi", child.pid, command)))

    def _wait(self, child: subprocess.Popen[bytes]) -> bool:
        """Whether we were interrupted while we waited."""
        interrupted = False
        while True:
            try:
                child.wait()
                return interrupted
            except KeyboardInterrupt:
                if not interrupted:
                    self._on_interrupt()
                interrupted = True
                with contextlib.suppress(ProcessLookupError):
                    child.send_signal(signal.SIGINT)
            except BaseException:
                child.send_signal(signal.SIGINT)
                raise

    def _write_log(self, args: list[str], result: CommandResult) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        shown = [arg for arg in args if not arg.startswith(("--client", "--event-log", "tcp://"))]
        with self._log.open("a") as log:
            log.write(f"$ pulumi {' '.join(shown)}\n")
            # Results of queries (outputs, history, exports) are not worth keeping, and may hold what is secret.
            log.write("".join(f"{part}\n" for part in (result.stdout if args[0] in _WRITERS else "", result.stderr) if part))
            log.write(f"= exit {result.code}\n")


def _text(file: IO[Any]) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace")).rstrip("\n")

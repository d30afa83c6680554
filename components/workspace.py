"""A stack of the Automation API on this project, with fewer calls of the CLI than the stock one makes (0.5 s each)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pulumi import automation as auto
from pulumi.automation._stack import StackInitMode

from components.command import EngineCommand
from components.layout import Layout, Tools
from components.stackfile import StackState, read_state


class Workspace(auto.LocalWorkspace):
    """Every operation names its stack, so nothing needs to be selected; outputs are read from the state that was just saved."""

    backend: Path

    def select_stack(self, stack_name: str) -> None:
        del stack_name

    def stack_outputs(self, stack_name: str) -> auto.OutputMap:
        outputs = read_state(self.backend, stack_name).outputs
        return {key: auto.OutputValue(value=value, secret=False) for key, value in outputs.items()}

    def call(self, *args: str) -> str:
        """Standard output of one CLI command."""
        env = {**self.env_vars, **({"PULUMI_HOME": self.pulumi_home} if self.pulumi_home else {})}
        return self.pulumi_command.run(list(args), self.work_dir, env).stdout


class Stack(auto.Stack):
    """A stack whose operations are not followed by a call for the history: their summary comes with the events."""

    def info(self, show_secrets: bool = False) -> auto.UpdateSummary:
        del show_secrets
        return auto.UpdateSummary(
            kind="update", start_time=datetime.now(UTC), message="", environment={}, config={}, result="succeeded"
        )


def open_stack(
    layout: Layout, tools: Tools, command: EngineCommand, recorded: StackState, config: dict[str, str]
) -> tuple[Stack, Workspace]:
    """The stack, made where it does not exist yet, with ``config`` (below ``chandlery:``) written to its settings."""
    workspace = Workspace(
        work_dir=str(layout.project),
        # See components.leftovers for what makes up for the state being saved at the end alone.
        env_vars={**layout.environment(tools), "TMPDIR": str(layout.scratch), "PULUMI_SKIP_CHECKPOINTS": "true"},
        pulumi_command=command,
    )
    workspace.backend = layout.backend
    if not recorded.exists:
        # Settings that outlived their state hold a salt that may be of another passphrase, and the CLI would refuse ours.
        layout.settings.unlink(missing_ok=True)
    stack = Stack(layout.stack, workspace, StackInitMode.SELECT if recorded.exists else StackInitMode.CREATE)
    _write_settings(workspace, layout.stack, recorded.salt, config)
    return stack, workspace


def rewrite(workspace: Workspace, stack: str, scratch: Path, *, keep_resources: bool) -> None:
    """Drop what an interrupted run left pending from the state and, unless they are kept, all resources.

    The export stays encrypted: it is taken without ``--show-secrets``.
    """
    file = scratch / "state.json"
    try:
        workspace.call("stack", "export", "--file", str(file), "--stack", stack)
        state: dict[str, Any] = json.loads(file.read_text())
        state["deployment"].pop("pending_operations", None)
        if not keep_resources:
            state["deployment"].pop("resources", None)
        file.write_text(json.dumps(state))
        workspace.call("stack", "import", "--file", str(file), "--stack", stack)
    finally:
        file.unlink(missing_ok=True)


def _write_settings(workspace: Workspace, stack: str, salt: str, config: dict[str, str]) -> None:
    try:
        settings = workspace.stack_settings(stack)
    except FileNotFoundError:
        settings = auto.StackSettings()
    wanted: dict[str, Any] = {**(settings.config or {}), **{f"chandlery:{key}": value for key, value in config.items()}}
    # Settings that were lost come back from the state: without the salt the CLI would make another one and then not
    # be able to read the secrets.
    wanted_salt = settings.encryption_salt or salt or None
    if settings.config != wanted or settings.encryption_salt != wanted_salt:
        settings.config, settings.encryption_salt = wanted, wanted_salt
        workspace.save_stack_settings(stack, settings)

"""Programs that the machine has already: on PATH, or a provider plugin in the Pulumi home."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from toolchain.pins import Tool, VersionCheck
from toolchain.versions import accepts


def find(tool: Tool) -> tuple[Path, str] | None:
    """The first acceptable program and its version; None when there is none.

    Every candidate on PATH is asked, so that an old one early on PATH does not hide a good one behind it.
    """
    if tool.check:
        for candidate in candidates(tool.name):
            found = version_of(candidate, tool.check)
            if found and accepts(found, tool.check.since or tool.version, tool.check.accept):
                return candidate, found
    if tool.plugin:
        home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
        plugin = home / "plugins" / tool.plugin / tool.name
        if os.access(plugin, os.X_OK):
            return plugin, tool.version
    return None


def candidates(name: str) -> list[Path]:
    """All executable files of that name on PATH, in its order, each once."""
    paths = [Path(directory) / name for directory in os.get_exec_path() if directory]
    return list(dict.fromkeys(path for path in paths if path.is_file() and os.access(path, os.X_OK)))


def version_of(program: Path, check: VersionCheck) -> str:
    """What ``program`` says its version is, or an empty string when it does not say one."""
    stat = program.stat()
    return _ask(str(program), stat.st_mtime_ns, check.command, check.pattern.pattern, check)


@functools.lru_cache(maxsize=64)
def _ask(program: str, _changed: int, command: tuple[str, ...], _pattern: str, check: VersionCheck) -> str:
    try:
        answer = subprocess.run(
            [program, *command],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            stdin=subprocess.DEVNULL,
            check=False,
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = check.pattern.search(answer.stdout + answer.stderr)
    return found[1] if found else ""

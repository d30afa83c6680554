"""How the Pulumi CLI is called: which program, with which language host, and where it finds the Kubernetes provider.

The CLI looks for a language host on PATH and beside itself, and warns when it uses one from PATH that is not beside
it; it looks for a provider on PATH (with a warning) and in the ``plugins`` directory of its home. So the stand-in
language host is put into a directory together with the CLI, and the provider into the home.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from base.events import Reporter
from base.files import room_errors, write_atomic
from base.places import cache_dir
from toolchain import pins
from toolchain import python_host as host
from toolchain.sources import obtain, obtain_all

PROVIDER = "pulumi-resource-kubernetes"


def language_host(reporter: Reporter, *, offline: bool = False) -> Path | None:
    """The directory to put first on PATH so that ``pulumi`` finds a Python language host beside itself.

    It holds the CLI and the stand-in. None when the official one is there: then the CLI finds it by itself.
    """
    pulumi = obtain("pulumi", reporter, offline=offline)
    if host.official(pulumi):
        return None
    program = host.stand_in(reporter)
    stat = pulumi.stat()
    name = hashlib.sha256(f"{pulumi} {stat.st_size} {stat.st_mtime_ns} {program}".encode()).hexdigest()[:16]
    directory = cache_dir() / "pulumi" / name
    if not (directory / host.PROGRAM).exists():
        place(pulumi, directory / "pulumi")
        write_atomic(directory / host.PROGRAM, program.read_text(), mode=0o755)
    return directory


def pulumi_environment(reporter: Reporter, *, home: Path | None = None, offline: bool = False) -> dict[str, str]:
    """Environment variables to set for ``pulumi`` (and for the Automation API): PATH, PULUMI_HOME and no downloads.

    ``home`` is the Pulumi home in which the provider is put as an ordinary plugin; default is ``pulumi`` in the cache.
    Credentials and the selected stack of the user's own home are neither read nor changed.
    ``offline``: as :func:`obtain` takes it.
    """
    found = obtain_all(["pulumi", PROVIDER], reporter, offline=offline)
    first = language_host(reporter, offline=offline) or found["pulumi"].parent
    home = home or cache_dir() / "pulumi" / "home"
    plugin = home / "plugins" / pins.load().tool(PROVIDER).plugin / PROVIDER
    if not plugin.exists() or plugin.stat().st_size != found[PROVIDER].stat().st_size:
        place(found[PROVIDER], plugin)
    return {
        "PATH": os.pathsep.join(dict.fromkeys([str(first), *os.get_exec_path()])),
        "PULUMI_HOME": str(home),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }


def place(program: Path, target: Path) -> None:
    """Make ``target`` the same program: a hard link where the file system allows it, else a copy. Atomic."""
    with room_errors(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".placing-", dir=target.parent) as scratch:
            made = Path(scratch) / target.name
            try:
                os.link(program.resolve(), made)
            except OSError:
                shutil.copyfile(program, made)
                made.chmod(0o755)
            os.replace(made, target)

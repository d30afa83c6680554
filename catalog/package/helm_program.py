"""The other renderer: the helm program. For who does not want the library, and to hold the two against each other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path

import yaml

from base.errors import InvalidInput, Refused, Unavailable
from catalog.obtain.archive import unpack
from catalog.package.render import KUBERNETES, Object, Release, Templates, documents

__all__ = ["HelmProgram"]

_SOURCE = re.compile(r"(?m)^# Source: [^/\n]+/(?:charts/[^/\n]+/)*(\S+)$")
#: Seconds that a rendering may take.
_TIMEOUT = 120.0
#: What helm says of bytes that are no chart, rather than of values.
_NO_CHART = (
    "Chart.yaml file is missing",
    "gzip",
    "invalid chart",
    "validation: chart",
    "chart.metadata",
    "not a valid chart",
    "EOF",
)


class HelmProgram:
    """``helm template`` with nothing of the user's own: no plugins, no repositories, no cluster."""

    def __init__(self, program: Path) -> None:
        self._program = program

    @cached_property
    def identity(self) -> str:
        with tempfile.TemporaryDirectory() as scratch:
            return f"helm program {self._run(['version', '--short'], Path(scratch)).strip()}"

    def render(self, archive: bytes, release: Release) -> Templates:
        with tempfile.TemporaryDirectory() as scratch:
            directory = Path(scratch)
            self._unpack(archive, directory / "chart", release.name)
            (directory / "values.json").write_text(json.dumps(release.values))
            text = self._run(
                [
                    *("template", release.name, "chart", "--namespace", release.namespace, "--values", "values.json"),
                    *("--include-crds", "--kube-version", KUBERNETES),
                ],
                directory,
                release.name,
            )
        objects: list[Object] = []
        crds: list[Object] = []
        for part in re.split(r"(?m)^---[ \t]*$", text):
            source = _SOURCE.search(part)
            own = crds if source and source[1].startswith("crds/") else objects
            own.extend(documents(part, release.name))
        return Templates(tuple(objects), tuple(crds))

    def _unpack(self, archive: bytes, directory: Path, release: str) -> None:
        """The chart without the dependencies that it names and does not have, as the library takes it.

        Charts out of a source tree name charts beside them, which are add-ons of their own here.
        """
        files = unpack(archive, release)
        for name, data in files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(data)
        try:
            about = yaml.safe_load(files.get("Chart.yaml", b""))
        except yaml.YAMLError as error:
            raise Refused(f"the chart of {release} is not usable: {error}") from error
        if isinstance(about, dict) and about.get("dependencies"):
            there = {name.split("/")[1].removesuffix(".tgz") for name in files if name.startswith("charts/")}
            about["dependencies"] = [one for one in about["dependencies"] if one.get("name") in there]
            (directory / "Chart.yaml").write_text(yaml.safe_dump(about))
            (directory / "Chart.lock").unlink(missing_ok=True)

    def _run(self, arguments: list[str], directory: Path, release: str = "") -> str:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        homes = {f"HELM_{name}_HOME": str(directory / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        try:
            done = subprocess.run(
                [self._program, *arguments],
                cwd=directory,
                env={**kept, **homes, "HOME": str(directory)},
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"helm did not answer within {_TIMEOUT:.0f} s", where=str(self._program)) from None
        except OSError as error:
            raise Unavailable(f"helm cannot be run: {error.strerror}", where=str(self._program)) from error
        if done.returncode == 0:
            return done.stdout
        reason = done.stderr.strip().removeprefix("Error: ")[-2000:]
        if any(word in reason for word in _NO_CHART):
            raise Refused(f"the chart of {release} is not usable: {reason}")
        raise InvalidInput(
            f"the chart of {release} cannot be rendered with these values: {reason}", where=f"addons.{release}.values"
        )

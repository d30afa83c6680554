"""Go modules as verified sources of other things, e.g. a chart that an upstream project keeps in its source tree."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from base.errors import NotFound, Refused
from base.events import Reporter
from toolchain import golang

#: What Go says where a proxy (or a directory that serves as one) does not have the version.
_ABSENT = re.compile(r"unknown revision|invalid version|404 Not Found|410 Gone|\.info: no such file")


def module_zip(module: str, version: str, sum_h1: str, reporter: Reporter, *, sum_database: bool = True) -> Path:
    """The directory of ``module`` at ``version`` (e.g. ``v1.0.0``) in Go's module cache, read-only.

    Go downloads the module's zip and checks it against the public checksum database; what lies on the disk is then
    checked, at every call, against ``sum_h1`` (``h1:...``, Go's own directory hash), so a changed file is refused.
    With ``sum_database=False`` the database is left out for this one module, which some modules are missing from;
    the pinned sum still holds. A directory that is there and matches is used without Go and without a network.

    Raises Refused where the bytes do not match, NotFound where there is no such version, Unavailable without a network.
    """
    directory = _guess(module, version)
    if not (directory and directory.is_dir()):
        directory = _download(module, version, reporter, sum_database)
    actual = directory_hash(directory, f"{module}@{version}")
    if actual != sum_h1:
        raise Refused(
            f"the Go module {module} {version} does not match its pinned sum: {actual} instead of {sum_h1}",
            where=str(directory),
            todo="if that directory was changed by hand, remove it (`go clean -modcache` removes all) and try again",
        )
    return directory


def directory_hash(directory: Path, prefix: str) -> str:
    """Go's ``h1:`` hash of a module's files (golang.org/x/mod/sumdb/dirhash, Hash1), named ``prefix/relative/path``."""
    files = sorted(f"{path.relative_to(directory).as_posix()}" for path in directory.rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for name in sorted(f"{prefix}/{file}" for file in files):
        with (directory / name.removeprefix(f"{prefix}/")).open("rb") as stream:
            digest.update(f"{hashlib.file_digest(stream, 'sha256').hexdigest()}  {name}\n".encode())
    return f"h1:{base64.b64encode(digest.digest()).decode()}"


def escaped(path: str) -> str:
    """A module path or version as Go's cache spells it: each capital letter as ``!`` and the small one."""
    return "".join(f"!{c.lower()}" if c.isupper() else c for c in path)


def _guess(module: str, version: str) -> Path | None:
    cache = os.environ.get("GOMODCACHE")
    if not cache:
        gopath = os.environ.get("GOPATH", "").split(os.pathsep)[0]
        cache = str((Path(gopath) if gopath else Path.home() / "go") / "pkg" / "mod")
    return Path(cache) / f"{escaped(module)}@{escaped(version)}"


def _download(module: str, version: str, reporter: Reporter, sum_database: bool) -> Path:
    go = golang.go_command(reporter)
    env = golang.environment()
    if not sum_database:
        env["GONOSUMDB"] = ",".join(filter(None, (env.get("GONOSUMDB"), module)))
    name = f"Go module {module} {version}"
    with reporter.step(name), tempfile.TemporaryDirectory(prefix="chandlery-go-") as empty:
        command = [str(go), "mod", "download", "-json", f"{module}@{version}"]
        answer = subprocess.run(command, cwd=empty, env=env, capture_output=True, text=True, check=False)
        try:
            found = json.loads(answer.stdout)
        except ValueError:
            raise golang.failure(answer.stderr, where=name, what="the download") from None
        if found.get("Error"):
            if _ABSENT.search(found["Error"]):
                raise NotFound(f"there is no Go module {module} at {version}:\n{found['Error']}", where=name)
            raise golang.failure(found["Error"], where=name, what="the download")
        return Path(found["Dir"])

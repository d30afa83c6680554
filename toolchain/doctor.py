"""What is there of the external programs, from where, and what to do about the rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from toolchain import cache, golang, path_search, pins
from toolchain import python_host as host
from toolchain.pins import Tool
from toolchain.sources import present

State = Literal["path", "release", "build", "stand-in", "damaged", "missing", "not needed"]


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """One program. ``state`` says where it comes from; ``version`` is the pinned one, ``found`` the one that is there.

    ``origin`` is the URL or Go package that a cached program was made from, ``commit`` the commit of an untagged
    source that was built, ``rejected`` what lay on PATH and was of no use, ``todo`` what to do (empty when all is well).
    """

    name: str
    version: str
    state: State
    path: Path | None = None
    found: str = ""
    origin: str = ""
    commit: str = ""
    rejected: tuple[str, ...] = ()
    todo: str = ""
    purpose: str = ""

    @property
    def ok(self) -> bool:
        return self.state not in {"damaged", "missing"}


def status(*, verify: bool = True) -> tuple[ToolStatus, ...]:
    """The state of every program of ``tools.yaml``, of the language host and of Go, without changing anything.

    ``verify`` hashes cached programs (about half a second for all) and reports changed ones as damaged.
    """
    tools = pins.load().tools.values()
    rows = [_tool(tool, verify) for tool in tools]
    return (*rows, _language_host(), _go(needed=any(not row.ok for row in rows)))


def _tool(tool: Tool, verify: bool) -> ToolStatus:
    row = ToolStatus(tool.name, tool.version, "missing", rejected=_rejected(tool), purpose=tool.purpose)
    found = path_search.find(tool)
    if found:
        return replace(row, state="path", path=found[0], found=found[1])
    cached = cache.lookup(tool)
    if cached is None and tool.purpose:
        made_by = "make bench" if tool.purpose == "benchmarks" else "make test"
        return replace(row, state="not needed", todo=f"is for {tool.purpose}: fetched or built by `{made_by}`")
    if cached is None:
        todo = f"fetched or built when first needed (about {tool.build.minutes:g} min on 2 cores); `make quickstart` does it"
        return replace(row, todo=todo)
    path, entry = cached
    row = replace(row, path=path, found=entry.version, origin=entry.origin)
    if verify and cache.sha256(path) != entry.sha256:
        return replace(row, state="damaged", todo=f"its bytes were changed after it was made: remove {path.parent} and run again")
    if entry.source == "release":
        return replace(row, state="release")
    return replace(row, state="build", commit=pins.commit_of(pins.module_version(tool.build)))


def _rejected(tool: Tool) -> tuple[str, ...]:
    if tool.check is None:
        return ()
    found = path_search.find(tool)
    accepted = found[0] if found else None
    wanted = {
        "exact": tool.version,
        "minor": ".".join(tool.version.split(".")[:2]),
        "newer": f"{tool.version} or newer",
        "since": f"{tool.check.since} or newer",
    }
    return tuple(
        f"{path} is {path_search.version_of(path, tool.check) or 'of unknown version'}, wanted is {wanted[tool.check.accept]}"
        for path in path_search.candidates(tool.name)
        if path != accepted
    )


def _language_host() -> ToolStatus:
    pulumi = present(pins.load().tool("pulumi"))
    official = host.official(pulumi) if pulumi else None
    if official:
        return ToolStatus(host.PROGRAM, "", "path", official)
    return ToolStatus(host.PROGRAM, "", "stand-in", host.location()[0], origin="toolchain/python_host")


def _go(*, needed: bool) -> ToolStatus:
    minimum = pins.load().go_minimum
    go = golang.find()
    if go:
        state: State = "release" if cache.tools_dir() in go.parents else "path"
        return ToolStatus("go", minimum, state, go, golang.version_of(go), purpose="builds what is missing")
    if not needed:
        return ToolStatus("go", minimum, "not needed", purpose="builds what is missing")
    todo = f"is fetched as a wheel (75 MB) when something has to be built; or install Go {minimum} or newer"
    return ToolStatus("go", minimum, "missing", todo=todo, purpose="builds what is missing")

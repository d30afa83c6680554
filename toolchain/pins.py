"""What ``tools.yaml`` pins, as frozen values. Pure: reads text, returns values."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

from base.errors import InvalidInput, NotFound
from base.places import REPOSITORY

ROOM = Path(__file__).resolve().parent
MODULES = ROOM / "modules"

Accept = Literal["exact", "minor", "newer", "since"]


@dataclass(frozen=True, slots=True)
class Platform:
    """Operating system and processor in Go's words, e.g. ``linux`` and ``amd64``."""

    os: str
    arch: str

    def __str__(self) -> str:
        return f"{self.os}-{self.arch}"

    @classmethod
    def here(cls) -> Platform:
        machine = platform.machine().lower()
        return cls(platform.system().lower(), {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine))


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """How a program is asked for its version, and which answers will do. ``since`` is the oldest, where that is the rule."""

    command: tuple[str, ...]
    pattern: re.Pattern[str]
    accept: Accept
    since: str = ""


@dataclass(frozen=True, slots=True)
class Embed:
    """A JSON file that is generated from another one before a build; ``fields`` are set in it."""

    source: str
    target: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Build:
    """A build from a Go module. ``minutes`` is what it takes cold on two cores."""

    family: str
    module: str
    package: str
    ldflags: str
    embed: tuple[Embed, ...]
    minutes: float

    @property
    def directory(self) -> Path:
        """The directory with the family's go.mod and go.sum."""
        return MODULES / self.family


@dataclass(frozen=True, slots=True)
class Release:
    """A publisher's download: the file, where its checksum stands, and the members kept of an archive."""

    url: str
    checksums: str
    member: str
    beside: tuple[str, ...]

    @property
    def filename(self) -> str:
        return self.url.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Tool:
    """One external program at one version, for one platform."""

    name: str
    version: str
    platform: Platform
    check: VersionCheck | None
    plugin: str
    build: Build
    release: Release | None
    purpose: str


@dataclass(frozen=True, slots=True)
class Pins:
    """All tools by name, the oldest Go that builds them, and the requirement file of the Go wheel."""

    tools: Mapping[str, Tool]
    go_minimum: str
    go_requirement: Path

    def tool(self, name: str) -> Tool:
        try:
            return self.tools[name]
        except KeyError:
            raise NotFound(
                f"no external program is called {name!r}", where="toolchain/tools.yaml", todo=f"one of: {', '.join(self.tools)}"
            ) from None


def parse(text: str, here: Platform) -> Pins:
    """Read the text of ``tools.yaml`` for one platform; InvalidInput when a field is missing."""
    raw = YAML(typ="safe", pure=True).load(text)
    try:
        tools = {name: _tool(name, entry, here) for name, entry in raw["tools"].items()}
        return Pins(tools, str(raw["go"]["minimum"]), REPOSITORY / raw["go"]["requirement"])
    except KeyError as error:
        raise InvalidInput(f"field {error} is missing", where="toolchain/tools.yaml") from error


@functools.cache
def load() -> Pins:
    """The pins of this checkout for this machine."""
    return parse((ROOM / "tools.yaml").read_text(), Platform.here())


def module_version(build: Build) -> str:
    """The version of the built module as the family's go.mod pins it, e.g. ``v1.36.3``."""
    pattern = re.compile(rf"^\s*(?:require\s+)?{re.escape(build.module)}\s+(v\S+)", re.MULTILINE)
    found = pattern.search((build.directory / "go.mod").read_text())
    if not found:
        raise InvalidInput(f"{build.module} is not required", where=str(build.directory / "go.mod"))
    return found[1]


def commit_of(version: str) -> str:
    """The commit (12 hex digits) in a Go pseudo-version, or an empty string for a tagged one."""
    found = re.search(r"[-.]\d{14}-([0-9a-f]{12})$", version)
    return found[1] if found else ""


def _tool(name: str, raw: Mapping[str, Any], here: Platform) -> Tool:
    version = str(raw["version"])
    major, minor = version.split(".")[:2]
    words = {"version": version, "major": major, "minor": minor, "os": here.os, "arch": here.arch}
    check, build, release = raw.get("version_check"), raw["build"], raw.get("release")
    return Tool(
        name=name,
        version=version,
        platform=here,
        check=_check(check) if check else None,
        plugin=raw.get("plugin", "").format(**words),
        build=_build(build, words),
        release=_release(release, words) if release else None,
        purpose=raw.get("purpose", ""),
    )


def _check(raw: Mapping[str, Any]) -> VersionCheck:
    return VersionCheck(tuple(raw["command"]), re.compile(raw["pattern"]), raw["accept"], str(raw.get("since", "")))


def _build(raw: Mapping[str, Any], words: Mapping[str, str]) -> Build:
    stamps = [f"-X {stamp.format(**words)}" for stamp in raw.get("stamp", [])]
    embed = tuple(
        Embed(e["source"], e["target"], tuple((k, v.format(**words)) for k, v in e.get("set", {}).items()))
        for e in raw.get("embed", [])
    )
    return Build(raw["family"], raw["module"], raw["package"], " ".join(["-s -w", *stamps]), embed, float(raw["minutes"]))


def _release(raw: Mapping[str, Any], words: Mapping[str, str]) -> Release:
    words = {**words, "arch": raw.get("arch", {}).get(words["arch"], words["arch"])}
    return Release(
        url=raw["url"].format(**words),
        checksums=raw["checksums"].format(**words),
        member=raw.get("member", "").format(**words),
        beside=tuple(member.format(**words) for member in raw.get("beside", [])),
    )

"""Hands out external programs: from PATH, the cache, an official release, or a build of the pinned Go module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from base.errors import Unavailable
from base.events import Reporter
from toolchain import build, cache, path_search, pins
from toolchain.pins import Tool


def obtain(name: str, reporter: Reporter, *, offline: bool = False) -> Path:
    """Path of the program ``name``.

    Raises NotFound for a name that ``tools.yaml`` does not have, Refused where bytes do not match their checksum,
    Unavailable where it can neither be found nor fetched nor built (with ``offline``, only found).
    """
    return obtain_all([name], reporter, offline=offline)[name]


def obtain_all(names: Iterable[str], reporter: Reporter, *, offline: bool = False) -> dict[str, Path]:
    """Paths of several programs, by name. What has to be built is announced first, with the time that it takes."""
    return obtain_tools([pins.load().tool(name) for name in dict.fromkeys(names)], reporter, offline=offline)


def obtain_tools(tools: Sequence[Tool], reporter: Reporter, *, offline: bool = False) -> dict[str, Path]:
    """As :func:`obtain_all`, for pins that the caller has in hand."""
    found = {tool.name: path for tool in tools if (path := present(tool))}
    missing = [tool for tool in tools if tool.name not in found]
    if missing and offline:
        raise Unavailable(
            f"not on PATH and not in the cache: {', '.join(tool.name for tool in missing)}",
            where=str(cache.tools_dir()),
            todo="run `make quickstart` once with a network, or put them on PATH",
        )
    remaining = _from_releases(missing, reporter, found)
    build.announce(remaining, reporter)
    for tool in remaining:
        with cache.making(f"build of {tool.name}", reporter):
            # Whoever held the lock may have built it meanwhile.
            found[tool.name] = present(tool) or build.build(tool, reporter)
    return {tool.name: found[tool.name] for tool in tools}


def present(tool: Tool) -> Path | None:
    """The program where it is there already (PATH first, then the cache), else None."""
    on_path = path_search.find(tool)
    if on_path:
        return on_path[0]
    cached = cache.lookup(tool)
    return cached[0] if cached else None


def _from_releases(tools: list[Tool], reporter: Reporter, found: dict[str, Path]) -> list[Tool]:
    """Fetch what official releases give, add it to ``found``, and return the tools that they do not give."""
    if not tools:
        return []
    from toolchain import download  # here, because its HTTP client takes long to import and is hardly ever needed

    refusals: dict[str, list[str]] = {}
    remaining = []
    for tool in tools:
        if tool.release:
            with cache.making(f"download of {tool.name}", reporter):
                try:
                    found[tool.name] = present(tool) or download.release(tool, tool.release, reporter)
                    continue
                except download.NotServed as refusal:
                    refusals.setdefault(str(refusal), []).append(tool.name)
        remaining.append(tool)
    for reason, names in refusals.items():
        message = f"no release download of {', '.join(names)}: {reason}"
        reporter.event("tool-release-unavailable", message, tools=names)
    return remaining

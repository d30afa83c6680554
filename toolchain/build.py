"""Programs built from their pinned Go modules, one at a time, checked against the public checksum database by Go."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from base.events import Reporter
from base.files import room_errors
from toolchain import cache, golang
from toolchain.pins import Build, Tool, module_version

#: The flags are the same for every build, so that families share Go's own build cache.
FLAGS = ("-mod=readonly", "-buildvcs=false", "-trimpath")


def announce(tools: Sequence[Tool], reporter: Reporter) -> None:
    """Say before a row of builds begins which ones and how long they take on a machine that never built them."""
    if not tools:
        return
    minutes = sum(tool.build.minutes for tool in tools)
    names = ", ".join(tool.name for tool in tools)
    reporter.event(
        "tools-to-build",
        f"building from source, once, one after another: {names} (about {max(1, round(minutes))} min on 2 cores, less "
        "where Go's build cache is warm; an interrupted build goes on where it was)",
        tools=[tool.name for tool in tools],
        minutes=round(minutes, 1),
    )


def build(tool: Tool, reporter: Reporter) -> Path:
    """Build one program into the cache and return its path. The caller holds the lock (:func:`cache.making`)."""
    go = golang.go_command(reporter)
    compiler = golang.version_of(go)
    plan = tool.build
    name = f"{tool.name} {tool.version} from source"
    with reporter.step(name) as step, golang.Heartbeat(reporter, name) as heart, cache.scratch() as scratch:
        compiled = 0

        def on_line(line: str) -> None:
            nonlocal compiled
            if line.startswith("go: downloading"):
                heart.detail = f"downloading {line.split()[2]}"
            elif " " not in line:
                compiled += 1
                heart.detail = f"{compiled} packages compiled"
            step.note(heart.detail)

        directory = _workspace(plan, go, scratch) if plan.embed else plan.directory
        output = scratch / tool.name
        command: list[str | Path] = [go, "build", "-v", *FLAGS, "-ldflags", plan.ldflags, "-o", output, plan.package]
        golang.run(command, cwd=directory, log=cache.tools_dir() / "logs" / f"{tool.name}.log", on_line=on_line)
        step.note(f"with Go {compiler}")
        entry = cache.Entry(
            name=tool.name,
            version=tool.version,
            source="build",
            origin=f"{plan.package}@{module_version(plan)}",
            sha256=cache.sha256(output),
            size=output.stat().st_size,
            seconds=round(step.elapsed, 1),
            made_with=f"go{compiler}",
        )
        return cache.publish(tool, cache.build_key(plan, tool.platform), output, entry)


def _workspace(plan: Build, go: Path, scratch: Path) -> Path:
    """A copy of the family's go.mod in which the module is replaced by a copy of it with its generated files.

    Go verifies the module when it downloads it; the copy is made from that, because its own directory is read-only and
    Go refuses overlays inside it.
    """
    space = scratch / "workspace"
    space.mkdir()
    for file in ("go.mod", "go.sum"):
        shutil.copyfile(plan.directory / file, space / file)
    version = module_version(plan)
    answer = subprocess.run(
        [go, "mod", "download", "-json", plan.module],
        cwd=space,
        env=golang.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise golang.failure(answer.stderr + answer.stdout, where=f"{plan.module}@{version}")
    copy = space / "module"
    with room_errors(space):
        shutil.copytree(json.loads(answer.stdout)["Dir"], copy, copy_function=shutil.copyfile)
        for path in (copy, *(p for p in copy.rglob("*") if p.is_dir())):
            path.chmod(0o755)
        for embed in plan.embed:
            value = json.loads((copy / embed.source).read_text())
            value.update(embed.fields)
            target = (copy / embed.source).parent / embed.target
            target.write_text(json.dumps(value, separators=(",", ":")))
        with (space / "go.mod").open("a") as modfile:
            modfile.write(f"\nreplace {plan.module} => ./module\n")
    return space

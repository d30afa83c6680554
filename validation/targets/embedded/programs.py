"""``programs.json``: which program stands behind which workload on the node ``host``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from base.errors import InvalidInput
from base.files import write_json
from validation.targets.embedded.layout import Layout


@dataclass(frozen=True, slots=True)
class RealProgram:
    """``workload`` is ``namespace/name`` of a Deployment, StatefulSet, DaemonSet, Job or bare pod.

    ``command`` is absolute and takes the place of the container's command. ``args`` take the place of its arguments
    where there are any; an element that is exactly ``{args}`` stands for all of the container's own. Placeholders in args and
    env: ``{pod_ip}``, ``{namespace}``, ``{pod}``, ``{port}`` (a free port), ``{root}``, ``{volume:NAME}``.
    ``container`` names the container, empty for the pod's first.
    """

    workload: str
    command: tuple[str, ...]
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    container: str = ""


@dataclass(frozen=True, slots=True)
class Programs:
    """``simulated`` are patterns of workloads (``namespace/name``, ``namespace/*``) without program that are shown as running."""

    programs: tuple[RealProgram, ...] = ()
    simulated: tuple[str, ...] = ()

    def behind(self, workloads: Iterable[str]) -> tuple[RealProgram, ...]:
        """The programs of a pod that counts as any of ``workloads``."""
        names = set(workloads)
        return tuple(program for program in self.programs if program.workload in names)

    def simulates(self, workloads: Iterable[str]) -> bool:
        return any(fnmatchcase(name, pattern) for name in workloads for pattern in self.simulated)


def set_programs(layout: Layout, programs: Sequence[RealProgram], simulated: Sequence[str] = ()) -> None:
    """Write the whole table at once; the host agent takes it up within a second. The same content is not written again."""
    for program in programs:
        if program.workload.count("/") != 1 or not program.command or not program.command[0].startswith("/"):
            raise InvalidInput(
                f"program of {program.workload!r}: needs namespace/name and an absolute command", where=str(layout.programs)
            )
    wanted = Programs(
        tuple(sorted(programs, key=lambda p: (p.workload, p.container))),
        tuple(sorted(set(simulated))),
    )
    if not layout.programs.exists() or load_programs(layout) != wanted:
        write_json(layout.programs, asdict(wanted), mode=0o600)


def load_programs(layout: Layout) -> Programs:
    """The table as written; empty where there is none yet. InvalidInput where it cannot be read."""
    try:
        raw: dict[str, Any] = json.loads(layout.programs.read_text())
        entries = tuple(
            RealProgram(
                entry["workload"],
                tuple(entry["command"]),
                tuple(entry.get("args") or ()),
                dict(entry.get("env") or {}),
                str(entry.get("container") or ""),
            )
            for entry in raw.get("programs", ())
        )
        return Programs(entries, tuple(raw.get("simulated", ())))
    except FileNotFoundError:
        return Programs()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"the table of programs cannot be read ({error})", where=str(layout.programs)) from error

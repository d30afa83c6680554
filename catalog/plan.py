"""The resolved plan: what goes onto one cluster, in order, and why. Frozen; made by :mod:`catalog.resolve`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

#: real: its programs run. simulated: only its objects exist and its pods are shown as running (embedded target).
#: reference: Chandlery's own engine stands in for KAI; results are never evidence about KAI.
State = Literal["real", "simulated", "reference"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about the place that a plan is for. Written by whoever made or looked at the cluster, never guessed."""

    target: Literal["embedded", "kind", "cluster"]
    kubernetes: str
    kubeconfig: Path
    cluster_uid: str
    state_dir: Path
    kai_binaries: Path | None = None
    mirror: Path | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """The program that stands behind one workload of an add-on on the embedded target.

    ``workload`` is ``namespace/deployment-name``. ``tool`` is a name of the toolchain, ``kai:NAME`` for a program out of
    ``--kai-binaries``, or ``python:MODULE`` for a module of ours. ``args`` replace the container's arguments
    and may use ``{pod_ip}``, ``{namespace}``, ``{port}`` (a free port) and ``{volume:NAME}`` (the directory of a mounted
    Secret or ConfigMap).
    """

    workload: str
    tool: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One add-on in the plan. ``values`` are the chart's values after the package's guards; ``reason`` says why this version."""

    addon: str
    version: str
    namespace: str
    state: State
    values: Mapping[str, Any]
    reason: str
    programs: tuple[Program, ...] = ()
    guards: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """``items`` in the order of installation; ``scheduler`` names the item that schedules GPU work, and why that one."""

    cluster: str
    items: tuple[PlanItem, ...]
    scheduler: str
    scheduler_reason: str
    digest: str

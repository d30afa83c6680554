"""The resolved plan: what goes onto one cluster, in order, and why. Frozen; made by :mod:`catalog.resolve.resolver`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from spec.model import Placement

#: real: its programs run. simulated: only its objects exist and its pods are shown as running (embedded target).
#: reference: Chandlery's own engine stands in for KAI; results are never evidence about KAI.
State = Literal["real", "simulated", "reference"]

#: pinned: known by digest before it is fetched. unpinned: nobody could read the digest yet, and every output says so.
Pin = Literal["pinned", "unpinned"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known about the place that a plan is for. Written by whoever made or looked at the cluster, never guessed.

    ``context`` is the kubeconfig's context to use; empty means its current one. ``nodes`` is what its nodes show of the facts
    that constraints are about, each with every value that there is (:func:`catalog.resolve.fingerprint.seen_on`). ``bundle`` is
    the only place that charts and images come from, where there is one.
    """

    target: Literal["embedded", "kind", "cluster"]
    kubernetes: str
    kubeconfig: Path
    cluster_uid: str
    state_dir: Path
    kai_binaries: Path | None = None
    mirror: Path | None = None
    context: str = ""
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bundle: Path | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """The program that stands behind one workload of an add-on on the embedded target.

    ``workload`` is ``namespace/deployment-name``. ``tool`` is a name of the toolchain, ``kai:NAME`` for a program out of
    ``--kai-binaries``, or ``python:MODULE`` for a module of ours. ``args``, where there are any, replace the container's
    arguments and may use ``{pod_ip}``, ``{namespace}``, ``{port}`` (a free port) and ``{volume:NAME}`` (the directory of a
    mounted Secret or ConfigMap). An element that is exactly ``{args}`` stands for all of the container's own arguments, so that
    what an operator put there (a shard's flags, say) is kept and the flags after it win, as the last of a repeated flag does.
    ``{root}`` is a directory that shows the container's mounts at their mount paths, for programs that look for a
    file at a fixed path below ``$TMPDIR``. ``env`` takes the same placeholders and is added to the container's own.
    """

    workload: str
    tool: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook configuration of an add-on on the embedded target.

    ``configuration`` is ``Kind/name``. ``workload`` names the program that serves it; empty means that nothing serves it
    there: it is withheld and reported as not exercised, with ``reason``. ``made_by`` is ``chart`` for one that is rendered,
    or the workload that makes it at run time.
    """

    configuration: str
    workload: str = ""
    made_by: str = "chart"
    reason: str = ""

    @property
    def exercised(self) -> bool:
        return bool(self.workload)


@dataclass(frozen=True, slots=True)
class PlanItem:
    """One add-on in the plan. ``values`` are the chart's values after the package's guards; ``reason`` says why this version.

    ``simulated`` holds ``namespace/deployment`` patterns whose pods are shown as running without a program.
    ``given`` is what the spec itself says of ``values``, to be held against what the chart knows, ``placement`` what the
    cluster asks of all pods. ``chart`` says where the chart comes from, with every pin. ``chart_pin`` and ``image_pin`` say
    whether bytes and images are known by digest. ``role`` and ``crds`` (full names) are the catalogue's word. ``notes`` say
    what this version needs that was not checked, or that does not apply here, and why.
    """

    addon: str
    version: str
    namespace: str
    state: State
    values: Mapping[str, Any]
    reason: str
    programs: tuple[Program, ...] = ()
    guards: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    title: str = ""
    simulated: tuple[str, ...] = ()
    webhooks: tuple[Webhook, ...] = ()
    chart: str = ""
    chart_pin: Pin = "pinned"
    image_pin: Pin = "pinned"
    checks: tuple[str, ...] = ()
    role: str = ""
    crds: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    placement: Placement = field(default_factory=Placement)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """``items`` in the order of installation; ``scheduler`` names the item that schedules GPU work, and why that one.

    ``digest`` is SHA-256 over everything that decides what reaches the cluster (not over reasons).
    """

    cluster: str
    items: tuple[PlanItem, ...]
    scheduler: str
    scheduler_reason: str
    digest: str

    def item(self, addon: str) -> PlanItem:
        """The item of one add-on; KeyError when it is not in the plan."""
        for item in self.items:
            if item.addon == addon:
                return item
        raise KeyError(addon)

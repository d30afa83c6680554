"""What the policy decides on: frozen values of nodes, queues, pod groups and pods at one moment, in one node pool.

A snapshot holds no clock and no cluster. Whoever makes it (the live engine, a test, a saved file) decides what a pod's
state is; see :class:`schedulers.policy.workload.PodState`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schedulers.policy.fit import Taint
from schedulers.policy.resources import ZERO, Amounts
from schedulers.policy.settings import DEFAULTS, Settings
from schedulers.policy.workload import Pod, PodGroup


@dataclass(frozen=True, slots=True)
class Node:
    """``allocatable`` and ``pods`` as in its status; ``problems`` are conditions that keep pods away ("NotReady" ...).

    ``claimable`` says that its GPUs are given out through resource claims only.
    """

    name: str
    allocatable: Amounts
    pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    problems: tuple[str, ...] = ()
    extra: Mapping[str, float] = field(default_factory=dict)
    claimable: bool = False

    @property
    def ready(self) -> bool:
        """Counts into what queues divide, and takes pods (scheduler_util.ValidateIsNodeReady)."""
        return not (self.unschedulable or self.problems)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. Missing values are zero: no quota, no weight, and a limit of nothing (reference of queues, "limit").

    ``created`` is in seconds since the epoch and breaks ties. ``usage`` is normalised past use, for time-based shares.
    The minimal run times of its workloads are in seconds; None leaves them to the queues above.
    """

    name: str
    parent: str = ""
    priority: int = 100
    deserved: Amounts = ZERO
    limit: Amounts = ZERO
    weight: Amounts = ZERO
    created: float = 0.0
    usage: Amounts = ZERO
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None


@dataclass(frozen=True, slots=True)
class Topology:
    """Levels are node labels, outermost first. ``aliases`` are other names of levels. Nodes without one of the labels stand
    outside of it.
    """

    name: str
    levels: tuple[str, ...]
    aliases: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One node pool at one moment, ``now`` in seconds since the epoch. Pods that ended are left out."""

    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    groups: tuple[PodGroup, ...] = ()
    pods: tuple[Pod, ...] = ()
    topologies: tuple[Topology, ...] = ()
    settings: Settings = DEFAULTS
    node_pool: str = "default"
    now: float = 0.0

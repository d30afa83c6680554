"""What the policy decides on: frozen values of nodes, queues, pod groups and pods at one moment, in one node pool.

A snapshot holds no clock and no cluster. Whoever makes it (the live engine, a test, a saved file) decides what a pod's
state is; see :class:`PodState`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from schedulers.policy.resources import ZERO, Amounts

Strategy = Literal["binpack", "spread"]


class PodState(Enum):
    """Where a pod is in its life (KAI: pkg/scheduler/api/pod_status)."""

    PENDING = "Pending"
    GATED = "Gated"  # has scheduling gates: alive, not schedulable
    BINDING = "Binding"  # a node was chosen and is being bound
    BOUND = "Bound"
    RUNNING = "Running"
    RELEASING = "Releasing"  # being deleted: its resources are soon free, not yet
    STUCK = "StuckInReleasing"  # being deleted for so long that nobody counts on it

    @property
    def allocated(self) -> bool:
        """Counts as allocated in its queue."""
        return self in _ALLOCATED


_ALLOCATED = frozenset({PodState.BINDING, PodState.BOUND, PodState.RUNNING})


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Toleration:
    """``operator`` is Equal or Exists; an empty key with Exists tolerates every taint, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A node selector requirement: In, NotIn, Exists, DoesNotExist, Gt or Lt on a label (or on ``metadata.name``)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """All requirements must hold. A term without any matches nothing, as in Kubernetes."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which nodes a pod may run on. Equal constraints share all their fit results (a scheduling signature).

    ``affinity`` is required node affinity: one of its terms must match; None is no affinity.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """``allocatable`` and ``pods`` as in its status; ``problems`` are conditions that keep pods away ("NotReady" ...)."""

    name: str
    allocatable: Amounts
    pods: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    problems: tuple[str, ...] = ()
    extra: Mapping[str, float] = field(default_factory=dict)

    @property
    def ready(self) -> bool:
        """Counts into what queues divide, and takes pods (scheduler_util.ValidateIsNodeReady)."""
        return not (self.unschedulable or self.problems)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. Missing values are zero: no quota, no weight, and a limit of nothing (reference of queues, "limit").

    ``created`` is in seconds since the epoch and breaks ties. ``usage`` is normalised past use, for time-based shares.
    """

    name: str
    parent: str = ""
    priority: int = 100
    deserved: Amounts = ZERO
    limit: Amounts = ZERO
    weight: Amounts = ZERO
    created: float = 0.0
    usage: Amounts = ZERO


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A workload. ``unsupported`` says why the model cannot place it, and keeps it waiting with that reason."""

    namespace: str
    name: str
    queue: str
    min_member: int = 1
    priority: int = 50
    preemptible: bool = True
    created: float = 0.0
    unsupported: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. ``group`` is the key of its PodGroup; empty for a pod of another scheduler, which only takes room.

    ``order`` is the label ``kai.scheduler/task-priority`` where set: higher goes first inside its group.
    ``unsupported`` as in :class:`PodGroup`.
    """

    uid: str
    namespace: str
    name: str
    group: str = ""
    state: PodState = PodState.PENDING
    node: str = ""
    request: Amounts = ZERO
    extra: tuple[tuple[str, float], ...] = ()
    constraints: Constraints = Constraints()
    created: float = 0.0
    order: int | None = None
    unsupported: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One node pool at one moment. Pods that ended are left out."""

    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] = ()
    groups: tuple[PodGroup, ...] = ()
    pods: tuple[Pod, ...] = ()
    node_pool: str = "default"
    gpu_strategy: Strategy = "binpack"
    cpu_strategy: Strategy = "binpack"
    k_value: float = 1.0

"""What a user submits, as the policy sees it: groups of pods, their subgroups, pods and their shares of GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from schedulers.policy.fit import ANYWHERE, Constraints
from schedulers.policy.resources import ZERO, Amounts


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
class TopologyConstraint:
    """Where pods must be together, and where they had better be. Levels are node labels or aliases of the topology."""

    topology: str
    required: str = ""
    preferred: str = ""


@dataclass(frozen=True, slots=True)
class SubGroup:
    """A part of a group. A leaf has a ``min_member``; an inner one says of how many children it needs the minimum.

    ``min_subgroup`` None means all of them (subgroup_info.SubGroupSet.GetMinMembersToSatisfy).
    """

    name: str
    parent: str = ""
    min_member: int = 0
    min_subgroup: int | None = None
    topology: TopologyConstraint | None = None


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A workload. ``unsupported`` says why the model cannot place it, and keeps it waiting with that reason.

    Times are in seconds since the epoch, durations in seconds. ``started`` is when it last got to its minimum, ``evicted`` when
    it last lost pods, ``stale_since`` since when it lacks pods that it needs. ``staleness_grace`` None follows the shard.
    ``succeeded`` is how many of its pods ended well; such a group is finishing and not stale.
    """

    namespace: str
    name: str
    queue: str
    min_member: int = 1
    priority: int = 50
    preemptible: bool = True
    created: float = 0.0
    unsupported: str = ""
    subgroups: tuple[SubGroup, ...] = ()
    min_subgroup: int | None = None
    topology: TopologyConstraint | None = None
    started: float | None = None
    evicted: float | None = None
    preemption_delay: float = 0.0
    staleness_grace: float | None = None
    stale_since: float | None = None
    succeeded: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class GpuShare:
    """A part of each of ``devices`` GPUs: either ``portion`` (0 to 1) or ``memory`` in MiB (reference 2.6)."""

    devices: int = 1
    portion: float = 0.0
    memory: float = 0.0


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. ``group`` is the key of its PodGroup; empty for a pod of another scheduler, which only takes room.

    ``request`` is in whole GPUs, of which ``claimed`` through resource claims; ``share`` comes on top of it. ``gpu_groups`` are
    the shared GPUs that a pod with a share holds. ``order`` is the label ``kai.scheduler/task-priority`` where set: higher goes
    first inside its group. ``unsupported`` as in :class:`PodGroup`.
    """

    uid: str
    namespace: str
    name: str
    group: str = ""
    state: PodState = PodState.PENDING
    node: str = ""
    request: Amounts = ZERO
    extra: tuple[tuple[str, float], ...] = ()
    constraints: Constraints = ANYWHERE
    created: float = 0.0
    order: int | None = None
    unsupported: str = ""
    subgroup: str = ""
    share: GpuShare | None = None
    gpu_groups: tuple[str, ...] = ()
    claimed: float = 0.0

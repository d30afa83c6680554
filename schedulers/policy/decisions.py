"""What one cycle decides. Frozen, in a stable order: the same snapshot gives the same decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from schedulers.policy.queues import Share
from schedulers.policy.resources import Amounts
from schedulers.policy.settings import Action


@dataclass(frozen=True, slots=True)
class Bind:
    """Bind this pod to this node now. Pods of one gang stand together.

    ``gpu_groups`` are the shared GPUs of a pod with a share; an unknown name stands for a GPU that is not shared yet.
    """

    pod: str
    node: str
    group: str
    gpu_groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipelined:
    """The pod is meant for this node once what is being released there is gone. Nothing to do yet."""

    pod: str
    node: str
    group: str
    action: Action


@dataclass(frozen=True, slots=True)
class Eviction:
    """Delete this pod. ``size`` is how many pods are evicted together for ``preemptor`` (a group's key; empty for a
    stale gang). ``moves_to`` is the node where consolidation has room for the pod when it is made again.
    """

    pod: str
    group: str
    action: Action
    preemptor: str
    size: int
    message: str
    moves_to: str = ""


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The queue that stood in the way, as it was then (PodGroup reason details)."""

    name: str
    requested: Amounts
    deserved: Amounts
    allocated: Amounts
    allocated_non_preemptible: Amounts
    limit: Amounts
    group_requested: Amounts
    group_requested_non_preemptible: Amounts


@dataclass(frozen=True, slots=True)
class Reason:
    """A word for programs and a sentence for people."""

    reason: str
    message: str
    queue: QueueFigures | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A group with pods that no action found a place for. ``running`` is True when some of its pods do run."""

    group: str
    message: str
    reasons: tuple[Reason, ...]
    running: bool


@dataclass(frozen=True, slots=True)
class Decisions:
    """The outcome of one cycle.

    ``pods`` says of each waiting pod (by uid) why it waits. ``not_ready`` are groups with fewer pods than they need, by key.
    ``settled`` are groups without a pending pod, whose condition is to be cleared. ``shares`` are the figures decided on.
    ``stale`` says of groups that lack pods since when (seconds since the epoch), by key.
    """

    binds: tuple[Bind, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    pipelined: tuple[Pipelined, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    pods: Mapping[str, str] = field(default_factory=dict)
    not_ready: Mapping[str, str] = field(default_factory=dict)
    settled: tuple[str, ...] = ()
    shares: Mapping[str, Share] = field(default_factory=dict)
    stale: Mapping[str, float] = field(default_factory=dict)

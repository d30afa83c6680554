"""Queue (``scheduling.run.ai/v2``)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from base.kube.kinds import QUEUE, Kind
from schedulers.kai.model import Duration, Model, Resource, ResourceList, Time
from schedulers.kai.names import DEFAULT_QUEUE_PRIORITY


class QueueResource(Model):
    """One resource of one queue. -1 is unlimited; an absent value is zero, which for ``limit`` means nothing at all."""

    quota: float | None = None
    limit: float | None = None
    over_quota_weight: float | None = None


class QueueResources(Model):
    """Units: CPU in millicores, GPU in GPUs (fractions allowed), memory in megabytes of 10^6 bytes."""

    cpu: QueueResource | None = Field(default=None, description="CPU in millicores: 1000 is one core.")
    gpu: QueueResource | None = Field(default=None, description="GPUs, fractions allowed.")
    memory: QueueResource | None = Field(default=None, description="Memory in megabytes of 10^6 bytes.")


class QueueSpec(Model):
    """What a queue may have. A queue without ``parentQueue`` stands at the top; only leaf queues run pods."""

    display_name: str | None = None
    parent_queue: str | None = None
    priority: int | None = Field(
        default=None, description=f"Surplus goes to queues of higher priority first. {DEFAULT_QUEUE_PRIORITY} when absent."
    )
    preempt_min_runtime: Duration | None = None
    reclaim_min_runtime: Duration | None = None
    resources: QueueResources | None = None


class QueueCondition(Model):
    """A condition of a queue."""

    type: str
    status: str
    last_probe_time: Time | None = None
    last_transition_time: Time | None = None
    message: str | None = None
    reason: str | None = None


class QueueStatus(Model):
    """What a queue has and asks for, its own workloads and those of all queues below it."""

    allocated: ResourceList | None = None
    allocated_non_preemptible: ResourceList | None = None
    requested: ResourceList | None = None
    child_queues: list[str] | None = None
    conditions: list[QueueCondition] | None = None


class Queue(Resource):
    """A queue: a department, a project or a level between them, in one node pool."""

    kind_info: ClassVar[Kind] = QUEUE
    columns: ClassVar[tuple[tuple[str, str], ...]] = (
        ("Priority", ".spec.priority"),
        ("Parent", ".spec.parentQueue"),
        ("Children", ".status.childQueues"),
        ("DisplayName", ".spec.displayName"),
    )
    spec: QueueSpec | None = None
    status: QueueStatus | None = None

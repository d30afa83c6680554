"""PodGroup (``scheduling.run.ai/v2alpha2``)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from base.kube.kinds import POD_GROUP, Kind
from schedulers.kai.model import DNS_LABEL_PATTERN, Duration, Int32, Model, Resource, ResourceList, Time


class TopologyConstraint(Model):
    """Where the pods of a group must, or should, stay together."""

    topology: str | None = None
    required_topology_level: str | None = None
    preferred_topology_level: str | None = None


class SubGroup(Model):
    """A part of a gang with a minimum of its own."""

    name: Annotated[str, Field(min_length=1, pattern=DNS_LABEL_PATTERN)]
    parent: Annotated[str, Field(pattern=DNS_LABEL_PATTERN)] | None = None
    min_member: Annotated[Int32, Field(ge=0)] | None = None
    min_sub_group: Annotated[Int32, Field(ge=0)] | None = None
    topology_constraint: TopologyConstraint | None = None


class PodGroupSpec(Model):
    """A workload: pods that are scheduled together once ``minMember`` of them fit."""

    min_member: Annotated[Int32, Field(ge=1)] | None = None
    min_sub_group: Annotated[Int32, Field(ge=1)] | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    preemptibility: Literal["preemptible", "non-preemptible"] | None = None
    preemption_delay: Duration | None = None
    staleness_grace_period: Duration | None = None
    mark_unschedulable: bool | None = None
    scheduling_backoff: Int32 | None = None
    sub_groups: list[SubGroup] | None = None
    topology_constraint: TopologyConstraint | None = None


class PodGroupCondition(Model):
    """A condition of the group as a whole."""

    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: Time | None = None
    transition_id: str | None = None


class QueueDetails(Model):
    """The figures of the queue that stood in the way, as they were then."""

    name: str | None = None
    queue_requested_resources: ResourceList | None = None
    queue_deserved_resources: ResourceList | None = None
    queue_allocated_resources: ResourceList | None = None
    queue_allocated_non_preemptible_resources: ResourceList | None = None
    queue_resource_limits: ResourceList | None = None
    pod_group_requested_resources: ResourceList | None = None
    pod_group_requested_non_preemptible_resources: ResourceList | None = None


class UnschedulableDetails(Model):
    """Details by kind of reason."""

    queue_details: QueueDetails | None = None


class UnschedulableReason(Model):
    """One reason why a group waits, a word for programs and a sentence for people."""

    reason: str | None = None
    message: str | None = None
    details: UnschedulableDetails | None = None


class SchedulingCondition(Model):
    """Why a group could not be scheduled on one node pool."""

    type: str | None = None
    node_pool: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: Time | None = None
    transition_id: str | None = None
    reasons: list[UnschedulableReason] | None = None


class ResourcesStatus(Model):
    """What the group's pods have and ask for."""

    allocated: ResourceList | None = None
    allocated_non_preemptible: ResourceList | None = None
    requested: ResourceList | None = None


class PodGroupStatus(Model):
    """What the scheduler says about the group."""

    conditions: list[PodGroupCondition] | None = None
    resources_status: ResourcesStatus | None = None
    scheduling_conditions: list[SchedulingCondition] | None = None


class PodGroup(Resource):
    """A workload as the scheduler sees it."""

    kind_info: ClassVar[Kind] = POD_GROUP
    short_names: ClassVar[tuple[str, ...]] = ("pg",)
    spec: PodGroupSpec | None = None
    status: PodGroupStatus | None = None

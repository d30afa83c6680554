"""Typed models of the custom resources of KAI v0.17.0 that queues, gangs and binding need, in one place."""

from __future__ import annotations

from schedulers.kai.bindrequest import (
    BindRequest,
    BindRequestSpec,
    BindRequestStatus,
    ClaimAllocation,
    ContainerMapping,
    ExtendedClaimAllocation,
    NumaZone,
    ReceivedGpu,
)
from schedulers.kai.model import Model, Resource
from schedulers.kai.podgroup import (
    PodGroup,
    PodGroupCondition,
    PodGroupSpec,
    PodGroupStatus,
    QueueDetails,
    ResourcesStatus,
    SchedulingCondition,
    SubGroup,
    TopologyConstraint,
    UnschedulableDetails,
    UnschedulableReason,
)
from schedulers.kai.queue import Queue, QueueCondition, QueueResource, QueueResources, QueueSpec, QueueStatus
from schedulers.kai.shard import (
    ActionConfig,
    Condition,
    MinRuntime,
    PlacementStrategy,
    PluginConfig,
    SchedulingShard,
    SchedulingShardSpec,
    SchedulingShardStatus,
    SearchBudgets,
    UsageDb,
    UsageParams,
)
from schedulers.kai.topology import Topology, TopologyLevel, TopologySpec

__all__ = [
    "RESOURCES",
    "ActionConfig",
    "BindRequest",
    "BindRequestSpec",
    "BindRequestStatus",
    "ClaimAllocation",
    "Condition",
    "ContainerMapping",
    "ExtendedClaimAllocation",
    "MinRuntime",
    "Model",
    "NumaZone",
    "PlacementStrategy",
    "PluginConfig",
    "PodGroup",
    "PodGroupCondition",
    "PodGroupSpec",
    "PodGroupStatus",
    "Queue",
    "QueueCondition",
    "QueueDetails",
    "QueueResource",
    "QueueResources",
    "QueueSpec",
    "QueueStatus",
    "ReceivedGpu",
    "Resource",
    "ResourcesStatus",
    "SchedulingCondition",
    "SchedulingShard",
    "SchedulingShardSpec",
    "SchedulingShardStatus",
    "SearchBudgets",
    "SubGroup",
    "Topology",
    "TopologyConstraint",
    "TopologyLevel",
    "TopologySpec",
    "UnschedulableDetails",
    "UnschedulableReason",
    "UsageDb",
    "UsageParams",
]

#: Every resource that a CRD is generated for.
RESOURCES: tuple[type[Resource], ...] = (Queue, PodGroup, BindRequest, SchedulingShard, Topology)

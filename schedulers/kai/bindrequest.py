"""BindRequest (``scheduling.run.ai/v1alpha2``)."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from base.kube.kinds import BIND_REQUEST, Kind
from schedulers.kai.model import Int32, Model, Opaque, Resource, ResourceList


class ReceivedGpu(Model):
    """GPUs that a pod gets: ``count`` devices, ``portion`` of each."""

    count: int | None = None
    portion: str | None = None


class ClaimAllocation(Model):
    """The devices of one ResourceClaim; ``allocation`` is resource.k8s.io's AllocationResult."""

    name: str | None = None
    allocation: Opaque | None = None


class ContainerMapping(Model):
    """Which container's extended resource a device request stands for."""

    container_name: str
    request_name: str
    resource_name: str


class ExtendedClaimAllocation(Model):
    """A claim made up for an extended resource that a device class backs; requests are resource.k8s.io's DeviceRequest."""

    allocation: Opaque | None = None
    container_mappings: list[ContainerMapping] | None = None
    device_requests: list[Opaque] | None = None


class NumaZone(Model):
    """What a pod is expected to take of one NUMA zone."""

    zone: str
    amount: ResourceList


class BindRequestSpec(Model):
    """The scheduler's order to the binder: this pod onto this node."""

    pod_name: str | None = None
    selected_node: str | None = None
    received_resource_type: str | None = Field(default=None, description="Regular or Fraction.")
    received_gpu: ReceivedGpu | None = None
    selected_gpu_groups: list[str] | None = None
    resource_claim_allocations: list[ClaimAllocation] | None = None
    extended_resource_claim_allocation: ExtendedClaimAllocation | None = None
    predicted_numa_zones: list[NumaZone] | None = None
    backoff_limit: Int32 | None = None


class BindRequestStatus(Model):
    """How far the binder got."""

    phase: str | None = Field(default=None, description="Pending, Succeeded or Failed.")
    reason: str | None = None
    failed_attempts: Int32 | None = None


class BindRequest(Resource):
    """A binding that was decided and is being carried out."""

    kind_info: ClassVar[Kind] = BIND_REQUEST
    spec: BindRequestSpec | None = None
    status: BindRequestStatus | None = None

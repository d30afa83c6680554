"""What kind of GPU a pod asks for, how much of a queue that costs, and which nodes have it.

Sources: KAI api/node_info (getNodeGpuMemory, PredicateByNodeResourcesType), api/resource_info (GetGpusQuota);
reference 2.6 to 2.8.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from functools import lru_cache

from schedulers.policy.resources import Amounts
from schedulers.policy.snapshot import Node
from schedulers.policy.workload import GpuShare, Pod

MEMORY_LABEL = "nvidia.com/gpu.memory"
MIG_STRATEGY_LABEL = "nvidia.com/mig.strategy"
MIG_ENABLED_LABEL = "node-role.kubernetes.io/mig-enabled"
GPU_WORKER_LABEL = "node-role.kubernetes.io/gpu-worker"
CPU_WORKER_LABEL = "node-role.kubernetes.io/cpu-worker"
MIG_PREFIX = "nvidia.com/mig-"

#: Memory of a GPU where the node does not say it: a share is then counted in hundredths (DefaultGpuMemory).
UNKNOWN_MEMORY = 100.0
_MIB_PER_TIB = 1024 * 1024
_BYTES_PER_MIB = 1024 * 1024
_PROFILE = re.compile(r"nvidia\.com/mig-(\d+)g\.(\d+)gb")


class Kind(Enum):
    """How a pod asks for GPUs."""

    NONE = "none"
    WHOLE = "whole"
    PORTION = "portion"
    MEMORY = "memory"
    MIG = "mig"
    CLAIM = "claim"

    @property
    def shared(self) -> bool:
        return self in (Kind.PORTION, Kind.MEMORY)


def kind(pod: Pod) -> Kind:
    """The one way in which the pod asks for GPUs; a share goes before MIG devices before whole GPUs."""
    if pod.share is not None:
        return Kind.MEMORY if pod.share.memory else Kind.PORTION
    if any(name.startswith(MIG_PREFIX) for name, _ in pod.extra):
        return Kind.MIG
    if pod.claimed:
        return Kind.CLAIM
    return Kind.WHOLE if pod.request.gpu else Kind.NONE


def memory(node: Node) -> float | None:
    """MiB of each GPU of the node, rounded down to hundreds; None where no label says it. Very large values are bytes."""
    try:
        value = int(node.labels.get(MEMORY_LABEL, ""))
    except ValueError:
        return None
    if value >= _MIB_PER_TIB:
        value //= _BYTES_PER_MIB
    return float(value - value % 100)


def taken(share: GpuShare, whole: float) -> float:
    """MiB of each device that a share takes on a node whose GPUs have ``whole`` MiB (GetResourceGpuMemory)."""
    return share.memory or float(int(share.portion * whole))


def portion(share: GpuShare, whole: float) -> float:
    """The share as a part of a GPU of ``whole`` MiB, memory rounded up to hundredths (getGpuMemoryFractionalOnNode)."""
    return math.ceil(round(share.memory / whole * 100, 6)) / 100 if share.memory else share.portion


@lru_cache(maxsize=65536)
def slices(extra: tuple[tuple[str, float], ...]) -> float:
    """GPUs that MIG devices count as in queues: the compute slices of their profiles, 1 for ``mig-1g.5gb`` (GetGpusQuota)."""
    found = ((_PROFILE.fullmatch(name), amount) for name, amount in extra)
    return sum(int(match.group(1)) * amount for match, amount in found if match)


def cost(pod: Pod, whole: float | None) -> Amounts:
    """What the pod costs its queue on a node whose GPUs have ``whole`` MiB, portions in hundredths of a GPU."""
    if pod.share is None:
        more = slices(pod.extra) if pod.extra else 0.0
        return pod.request if not more else pod.request._replace(gpu=pod.request.gpu + more)
    part = portion(pod.share, whole or UNKNOWN_MEMORY)
    return pod.request._replace(gpu=pod.request.gpu + pod.share.devices * round(part * 100) / 100)


def estimate(pod: Pod, whole: float | None) -> Amounts:
    """What a pod without a node counts as: a request for memory is compared with GPUs of ``whole`` MiB and not rounded
    (GpuMemoryAsGpuFraction); without such a node it counts as nothing.
    """
    if pod.share is None or not pod.share.memory:
        return cost(pod, whole)
    part = pod.share.memory / whole if whole else 0.0
    return pod.request._replace(gpu=pod.request.gpu + pod.share.devices * part)


def capacity_of(node: Node, restricted: bool) -> Amounts:
    """What a node adds to the amounts that queues divide. MIG devices count as their slices; where nodes are restricted,
    GPUs only count on nodes labelled for them (getNodeResources).
    """
    gpu = node.allocatable.gpu + slices(tuple(node.extra.items()))
    return node.allocatable._replace(gpu=0.0 if restricted and GPU_WORKER_LABEL not in node.labels else gpu)


def mig_enabled(node: Node) -> bool:
    """By label where there is one, else because it offers MIG devices (IsMIGEnabled)."""
    said = node.labels.get(MIG_ENABLED_LABEL)
    if said is not None:
        return said.lower() in ("1", "t", "true")
    return any(name.startswith(MIG_PREFIX) and amount > 0 for name, amount in node.extra.items())


def cpu_only(node: Node) -> bool:
    """No GPUs of any kind (IsCPUOnlyNode)."""
    return not mig_enabled(node) and node.allocatable.gpu <= 0 and not node.claimable


def refusal(node: Node, what: Kind, restricted: bool) -> str:
    """Why the node takes no pod that asks for GPUs in this way; empty when it may (T62, T86 to T88, T92).

    MIG devices and shares of GPUs never meet on a node whose GPUs are partitioned.
    """
    return _unlike(node, what) or (_unlabelled(node, what) if restricted else "")


def _unlike(node: Node, what: Kind) -> str:
    if what is Kind.NONE:
        return ""
    if node.claimable and what.shared:
        return "fractional/shared GPU pods are not yet supported on DRA-only nodes"
    if node.claimable and what is Kind.WHOLE:
        return "device-plugin GPU pods cannot be scheduled on DRA-only nodes"
    if what is Kind.CLAIM and not node.claimable:
        return "node(s) didn't have the claimed devices"
    enabled = mig_enabled(node)
    if what is Kind.MIG and not enabled:
        return "MIG job cannot be scheduled on non-MIG node"
    strategy = node.labels.get(MIG_STRATEGY_LABEL, "") if enabled else ""
    if strategy == "single" and what is not Kind.WHOLE:
        return "only whole gpu jobs can run on a node with MigStrategy='single'"
    if strategy == "mixed" and what is not Kind.MIG:
        return "non MIG jobs cant run on a node with MigStrategy='mixed'"
    if enabled and what.shared:
        return "fractional/shared GPU pods cannot be scheduled on MIG nodes"
    if what is Kind.MEMORY and memory(node) is None:
        return "node is not a gpu node or the gpu memory count on the node was not synced yet"
    return ""


def _unlabelled(node: Node, what: Kind) -> str:
    if what is not Kind.NONE and GPU_WORKER_LABEL not in node.labels:
        return "gpu task can't run on non gpu nodes"
    if what is Kind.NONE and CPU_WORKER_LABEL not in node.labels:
        return "cpu task can't run on non cpu nodes"
    return ""

"""The typed cluster spec. Frozen values with units in their names; made only by :mod:`spec.load`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from base.yamltree import Table

TargetKind = Literal["embedded", "kind", "cluster"]

#: Limit or quota without bound, as KAI writes it (``scheduling.run.ai/v2`` QueueResource).
UNLIMITED = -1.0


@dataclass(frozen=True, slots=True)
class NodePool:
    """Nodes of one shape. ``count`` and ``profile`` make nodes on the embedded target and are ignored elsewhere.

    ``name`` is the value of the node label ``kai.scheduler/node-pool``; ``default`` means nodes without the label.
    """

    name: str
    count: int = 0
    gpus_per_node: int = 8
    gpu_product: str = "NVIDIA-H100-80GB-HBM3"


@dataclass(frozen=True, slots=True)
class Target:
    """Where the cluster is. ``kubeconfig`` and ``context`` are for ``cluster``; ``kubernetes`` is a minor such as 1.36."""

    kind: TargetKind
    kubernetes: str = ""
    kubeconfig: Path | None = None
    context: str = ""


@dataclass(frozen=True, slots=True)
class AddonRequest:
    """One wanted add-on. An empty version means the channel's. ``line`` is the place in the spec file, for messages.

    ``config`` is the typed configuration as far as it is given, ``values`` are raw values of the chart. ``body`` is where all of
    it stands in the file, so that a problem in either can be told with its line.
    """

    name: str
    version: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    line: int = 0
    config: Mapping[str, Any] = field(default_factory=dict)
    body: Table | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Placement:
    """What a cluster asks of the pods of all add-ons, so that its nodes take them and can pull their images.

    ``tolerations`` are as in a pod. ``registry`` is host and path of a mirror that has every image under its own name without
    its registry: ``quay.io/a/b:1`` is ``REGISTRY/a/b:1`` there. What is empty changes nothing.
    """

    tolerations: tuple[Mapping[str, Any], ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    priority_class: str = ""
    pull_secrets: tuple[str, ...] = ()
    registry: str = ""

    def __bool__(self) -> bool:
        return bool(self.tolerations or self.node_selector or self.priority_class or self.pull_secrets or self.registry)


@dataclass(frozen=True, slots=True)
class Share:
    """One resource of one queue. ``deserved`` and ``limit`` in the resource's unit, -1 = unlimited; weight of surplus >= 0."""

    deserved: float
    limit: float
    over_quota_weight: float


@dataclass(frozen=True, slots=True)
class Quota:
    """All three resources, always written out. GPUs in GPUs (fractions allowed), CPU in cores, memory in MB (10^6 bytes)."""

    gpu: Share
    cpu_cores: Share
    memory_mb: Share


@dataclass(frozen=True, slots=True)
class Project:
    """A team's project: a leaf queue in each node pool that ``quotas`` names. ``priority`` as in the KAI Queue (default 100)."""

    name: str
    quotas: Mapping[str, Quota]
    priority: int = 100


@dataclass(frozen=True, slots=True)
class Department:
    """A department: a parent queue in each node pool that ``quotas`` names."""

    name: str
    quotas: Mapping[str, Quota]
    projects: tuple[Project, ...]
    priority: int = 100


@dataclass(frozen=True, slots=True)
class Tenancy:
    departments: tuple[Department, ...] = ()


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact of the cluster that the spec states by hand (names: :data:`spec.facts.FACTS`), and its line there."""

    name: str
    values: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class ClusterSpec:
    """One customer cluster. ``scheduler`` is an add-on name or ``auto`` (chosen once, then kept with the stack)."""

    name: str
    target: Target
    channel: str
    scheduler: str
    addons: tuple[AddonRequest, ...]
    node_pools: tuple[NodePool, ...]
    tenancy: Tenancy
    source: Path
    facts: tuple[StatedFact, ...] = ()
    placement: Placement = Placement()

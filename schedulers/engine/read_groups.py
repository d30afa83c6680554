"""Queues, PodGroups, priority classes, topologies and shards as the values that the policy decides on. Pure.

Sources: KAI pkg/scheduler/cache/cluster_info, pkg/common/podgroup, pkg/apis/kai/v1/schedulingshard_types.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from base.errors import InvalidInput
from base.kube import Object
from schedulers.engine import quantity
from schedulers.kai import names
from schedulers.policy import ACTIONS, Amounts, PodGroup, Queue, Settings, Strategy, SubGroup, Topology, TopologyConstraint

_BYTES_PER_MB = 1_000_000.0


def read_queue(obj: Object) -> Queue:
    """A queue. What it does not say is zero."""
    spec = obj.get("spec") or {}
    resources = spec.get("resources") or {}

    def figures(field: str) -> Amounts:
        gpu, cpu, memory = (float((resources.get(r) or {}).get(field) or 0) for r in ("gpu", "cpu", "memory"))
        return Amounts(gpu, cpu, memory if memory == -1 or field == "overQuotaWeight" else max(-1.0, memory * _BYTES_PER_MB))

    priority = spec.get("priority")
    return Queue(
        name=obj["metadata"]["name"],
        parent=spec.get("parentQueue") or "",
        priority=names.DEFAULT_QUEUE_PRIORITY if priority is None else int(priority),
        deserved=figures("quota"),
        limit=figures("limit"),
        weight=figures("overQuotaWeight"),
        created=seconds(obj["metadata"].get("creationTimestamp")),
        preempt_min_runtime=_duration(spec.get("preemptMinRuntime")),
        reclaim_min_runtime=_duration(spec.get("reclaimMinRuntime")),
    )


def read_group(obj: Object, classes: Mapping[str, int], *, topologies: bool = False) -> PodGroup:
    """A PodGroup. ``classes`` are PriorityClass values by name, the global default under the empty name.

    Without ``topologies`` a required level is beyond what is known, and a preferred one is passed over.
    """
    spec, annotations = obj.get("spec") or {}, obj["metadata"].get("annotations") or {}
    name = spec.get("priorityClassName") or ""
    priority = classes.get(name, classes.get("", names.DEFAULT_POD_GROUP_PRIORITY))
    said = spec.get("preemptibility")
    return PodGroup(
        namespace=obj["metadata"]["namespace"],
        name=obj["metadata"]["name"],
        queue=spec.get("queue") or "",
        min_member=int(spec.get("minMember") or 1),
        priority=priority,
        preemptible=said == "preemptible" if said else priority < names.NON_PREEMPTIBLE_FROM,
        created=seconds(obj["metadata"].get("creationTimestamp")),
        unsupported="" if topologies else _unsupported(spec),
        subgroups=tuple(_subgroup(part, topologies) for part in spec.get("subGroups") or ()),
        min_subgroup=spec.get("minSubGroup"),
        topology=_constraint(spec.get("topologyConstraint")) if topologies else None,
        started=seconds(annotations.get(names.LAST_START_ANNOTATION)) or None,
        evicted=seconds(annotations.get(names.LAST_EVICTION_ANNOTATION)) or None,
        preemption_delay=max(0.0, _duration(spec.get("preemptionDelay")) or 0.0),
        staleness_grace=_duration(spec.get("stalenessGracePeriod")),
        stale_since=seconds(annotations.get(names.STALE_ANNOTATION)) or None,
    )


def _subgroup(part: Mapping[str, Any], topologies: bool) -> SubGroup:
    """Names of subgroups are compared in lower case (subgroup_info.FromPodGroup)."""
    return SubGroup(
        name=part["name"],
        parent=str(part.get("parent") or "").lower(),
        min_member=int(part.get("minMember") or 0),
        min_subgroup=part.get("minSubGroup"),
        topology=_constraint(part.get("topologyConstraint")) if topologies else None,
    )


def _unsupported(spec: Mapping[str, Any]) -> str:
    constraints = [spec.get("topologyConstraint"), *(part.get("topologyConstraint") for part in spec.get("subGroups") or ())]
    return "required topology levels" if any((c or {}).get("requiredTopologyLevel") for c in constraints) else ""


def priorities(classes: Iterable[Object]) -> dict[str, int]:
    """PriorityClass values by name; the global default also under the empty name."""
    result = {}
    for obj in classes:
        result[obj["metadata"]["name"]] = int(obj.get("value", 0))
        if obj.get("globalDefault"):
            result[""] = int(obj.get("value", 0))
    return result


def seconds(timestamp: str | None) -> float:
    """RFC 3339 as seconds since the epoch, 0 for none."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else 0.0


def read_topology(obj: Object) -> Topology:
    """A Topology: labels of its levels, outermost first, and their aliases."""
    levels = (obj.get("spec") or {}).get("levels") or ()
    aliases = {level["alias"]: level["nodeLabel"] for level in levels if level.get("alias")}
    return Topology(obj["metadata"]["name"], tuple(level["nodeLabel"] for level in levels), aliases)


def read_settings(shard: Object) -> Settings:
    """What a SchedulingShard says, KAI's defaults for the rest. Its ``args`` are flags of the scheduler."""
    spec = shard.get("spec") or {}
    strategy, args = spec.get("placementStrategy") or {}, spec.get("args") or {}
    runtimes, switches = spec.get("minRuntime") or {}, spec.get("actions") or {}
    rules = (((spec.get("plugins") or {}).get("minruntime")) or {}).get("arguments") or {}
    default = Settings()
    return Settings(
        gpu_strategy=_strategy(strategy.get("gpu")),
        cpu_strategy=_strategy(strategy.get("cpu")),
        k_value=float(spec.get("kValue", 1.0)),
        preempt_min_runtime=max(0.0, _duration(runtimes.get("preemptMinRuntime")) or 0.0),
        reclaim_min_runtime=max(0.0, _duration(runtimes.get("reclaimMinRuntime")) or 0.0),
        reclaim_resolve="queue" if rules.get("reclaimResolveMethod") == "queue" else "lca",
        staleness_grace=_or(_duration(args.get("default-staleness-grace-period")), default.staleness_grace),
        max_consolidated=int(args.get("max-consolidation-preemptees", default.max_consolidated)),
        restrict_nodes=str(args.get("restrict-node-scheduling", "")).lower() == "true",
        actions=tuple(action for action in ACTIONS if (switches.get(action) or {}).get("enabled") is not False),
    )


def _duration(text: Any) -> float | None:
    """Seconds; what is no duration counts as not said, because a scheduler may not stop for one object."""
    try:
        return quantity.duration(text)
    except InvalidInput:
        return None


def _strategy(value: Any) -> Strategy:
    return "spread" if value == "spread" else "binpack"


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _constraint(value: Any) -> TopologyConstraint | None:
    if not value or not value.get("topology"):
        return None
    return TopologyConstraint(
        value["topology"], value.get("requiredTopologyLevel") or "", value.get("preferredTopologyLevel") or ""
    )

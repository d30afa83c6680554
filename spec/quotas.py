"""Quotas of one queue in one node pool: reading them, and the mistakes that can be seen in them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spec.model import UNLIMITED, NodePool, Quota, Share
from spec.reader import Section

RESOURCES = ("gpu", "cpuCores", "memoryMB")
UNITS = {"gpu": "GPUs", "cpuCores": "cores", "memoryMB": "MB"}
_SHARE_FIELDS = ("deserved", "limit", "overQuotaWeight")

#: What CPU and memory get where a spec leaves them out: no bound, and an equal weight in sharing what is left over.
UNBOUNDED = Share(UNLIMITED, UNLIMITED, 1.0)

#: More than any node has, so that a larger figure is in another unit: cores of a node, and MB of memory of a node (16 TB).
_CORES_PER_NODE = 1024
_MB_PER_NODE = 16_000_000
#: Without a node count: more cores, and more MB (10 PB), than any cluster has.
_CORES_AT_ALL = 2_000_000
_MB_AT_ALL = 10_000_000_000


@dataclass(frozen=True, slots=True)
class PoolQuota:
    """A queue's quota in one node pool with the place of each resource, for checks across queues. None: had a problem."""

    section: Section
    shares: Mapping[str, Share | None]

    def complete(self) -> Quota | None:
        gpu, cpu, memory = (self.shares[resource] for resource in RESOURCES)
        return Quota(gpu, cpu, memory) if gpu and cpu and memory else None


def read_quotas(owner: Section, pools: Mapping[str, NodePool], *, embedded: bool) -> dict[str, PoolQuota]:
    """The ``quotas`` of a department or project by node pool. Unknown pools and unreadable figures are noted."""
    table = owner.mapping("quotas", required=True, shape="node pools, each with its quotas")
    if table is None:
        return {}
    by_pool = Section(table, owner.at("quotas"), tuple(table.entries), owner.problems)
    if not table.entries:
        owner.bad("quotas", "names no node pool", "a queue exists only in the node pools named here")
    quotas = {}
    for name in table.entries:
        if name not in pools:
            known = ", ".join(pools) or "none"
            by_pool.bad(name, f"unknown node pool {name!r}", f"node pools of this spec: {known}")
        resources = by_pool.mapping(name, shape="quotas of gpu, cpuCores and memoryMB")
        if resources is not None:
            section = Section(resources, by_pool.at(name), RESOURCES, owner.problems)
            quotas[name] = PoolQuota(section, {r: _read_share(section, r, pools.get(name), embedded) for r in RESOURCES})
    return quotas


def _read_share(section: Section, resource: str, pool: NodePool | None, embedded: bool) -> Share | None:
    if not section.has(resource):
        if resource == "gpu":
            section.bad(
                "gpu", "is missing", "write deserved, limit and overQuotaWeight: unset is not a choice, KAI reads it as 0"
            )
            return None
        return UNBOUNDED
    table = section.mapping(resource, shape="deserved, limit and overQuotaWeight")
    if table is None:
        return None
    share = Section(table, section.at(resource), _SHARE_FIELDS, section.problems)
    return _checked(share, resource, pool, embedded) if _has_all(share) else None


def _has_all(share: Section) -> bool:
    """All three figures written; each missing one is a problem of its own."""
    missing = [name for name in _SHARE_FIELDS if not share.has(name)]
    notes = {
        "deserved": "KAI reads a missing quota as 0",
        "limit": "KAI reads a missing limit as 0, and nothing may run; -1 is unlimited",
        "overQuotaWeight": "0 means no share of what others leave unused",
    }
    for name in missing:
        share.bad(name, "is missing", notes[name])
    return not missing


def _checked(share: Section, resource: str, pool: NodePool | None, embedded: bool) -> Share | None:
    """The three figures where all are right; every one that is not is a problem of its own."""
    unit = UNITS[resource]
    deserved = _amount(share, "deserved", resource, pool)
    limit = _amount(share, "limit", resource, pool)
    weight = share.number("overQuotaWeight", unit="weight")
    if weight is not None and weight < 0:
        share.bad("overQuotaWeight", f"{weight:g} is negative", "0 means no share of what others leave unused")
        weight = None
    if deserved is None or limit is None or weight is None:
        return None
    if limit != UNLIMITED and (deserved == UNLIMITED or limit < deserved):
        what = "unlimited" if deserved == UNLIMITED else f"{deserved:g}"
        share.bad("limit", f"limit {limit:g} is below deserved {what}", "a queue can never use what its limit forbids")
        return None
    if embedded and resource == "gpu" and pool is not None and pool.count and deserved > pool.count * pool.gpus_per_node:
        message = f"{deserved:g} {unit}, but node pool {pool.name!r} has {pool.count * pool.gpus_per_node}"
        share.bad("deserved", message, "the figure counts whole GPUs, not percent or MiB")
        return None
    return Share(deserved, limit, weight)


def _amount(share: Section, name: str, resource: str, pool: NodePool | None) -> float | None:
    figure = share.number(name, unit=UNITS[resource])
    if figure is None:
        return None
    if figure < 0 and figure != UNLIMITED:
        share.bad(name, f"{figure:g} is negative", "-1 is unlimited, 0 is none")
        return None
    if mistake := _unit_mistake(figure, resource, pool):
        share.bad(name, *mistake)
        return None
    return figure


def _unit_mistake(figure: float, resource: str, pool: NodePool | None) -> tuple[str, str] | None:
    """A figure that makes sense only in another unit, and what it would be in the right one."""
    nodes = pool.count if pool else 0
    if resource == "memoryMB":
        # Between the two bounds a figure that is a whole number of MiB but no round number of MB was counted in bytes.
        looks_binary = figure >= 1e9 and figure % 2**20 == 0 and figure % 1_000_000 != 0
        if figure > (nodes * _MB_PER_NODE if nodes else _MB_AT_ALL) or (not nodes and looks_binary):
            return f"{figure:.0f} MB can only be bytes", f"in MB (10^6 bytes) that is {figure / 1e6:g}"
    if resource == "cpuCores" and figure > (nodes * _CORES_PER_NODE if nodes else _CORES_AT_ALL):
        return f"{figure:g} cores can only be millicores", f"in cores that is {figure / 1000:g}"
    return None

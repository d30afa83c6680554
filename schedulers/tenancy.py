"""Departments, projects and node pools as KAI objects. Pure: a spec goes in, manifests come out in order of application.

One queue per department and node pool, one per project and node pool. In the default pool a queue has the name of its
department or project, in any other pool ``<name>-<pool>`` and the node-pool label, on parents too: KAI's scheduler of
a pool sees labelled queues only, and a child whose parent it cannot see is an orphan (KAI issues 1112 and 1045).
Quota, limit and weight of all three resources are always written: to KAI an absent limit means "nothing".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from base.errors import InvalidInput
from base.kube import Object
from schedulers.kai.models import (
    Queue,
    QueueResource,
    QueueResources,
    QueueSpec,
    SchedulingShard,
    SchedulingShardSpec,
)
from schedulers.kai.names import NODE_POOL_LABEL
from spec.model import UNLIMITED, Department, NodePool, Quota, Share, Tenancy
from spec.tenancy import DEFAULT_POOL, queue_name

#: A queue's name becomes the value of the label ``kai.scheduler/queue`` on pods, hence the length.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MILLICORES_PER_CORE = 1000.0


def queues(tenancy: Tenancy, node_pools: Sequence[NodePool]) -> tuple[Object, ...]:
    """Queue manifests (``scheduling.run.ai/v2``), every parent before its children.

    InvalidInput where a quota names an unknown pool, a project has a pool that its department lacks, or two
    queues would have the same name.
    """
    pools = {pool.name for pool in node_pools} | {DEFAULT_POOL}
    made: dict[str, Object] = {}
    for department in tenancy.departments:
        for owner, pool, manifest in _department(department, pools):
            name = manifest["metadata"]["name"]
            if not _NAME.fullmatch(name):
                raise InvalidInput(
                    f"{owner} in node pool {pool} would have the queue name {name!r}, which is no DNS label",
                    todo="choose a name of lower-case letters, digits and dashes, 63 characters at most with the pool's",
                )
            if name in made:
                raise InvalidInput(
                    f"{owner} in node pool {pool} would have the queue name {name!r}, which is already taken",
                    todo="queues share one name space with all departments, projects and NAME-POOL combinations; rename one",
                )
            made[name] = manifest
    return tuple(made.values())


def shards(node_pools: Sequence[NodePool], *, args: Mapping[str, str] | None = None) -> tuple[Object, ...]:
    """SchedulingShard manifests, one for each node pool but the default one, which KAI's chart makes itself.

    ``args`` are scheduler flags that every shard gets, such as the guards of the installed version.
    """
    return tuple(
        SchedulingShard.manifest(
            pool.name, SchedulingShardSpec(partition_label_value=pool.name, args=dict(args) if args else None)
        )
        for pool in node_pools
        if pool.name != DEFAULT_POOL
    )


def _department(department: Department, pools: set[str]) -> Iterable[tuple[str, str, Object]]:
    owner = f"department {department.name}"
    for pool, quota in _known(owner, department.quotas, pools):
        yield owner, pool, _queue(department.name, pool, quota, department.priority, parent=None)
    for project in department.projects:
        owner = f"project {project.name}"
        for pool, quota in _known(owner, project.quotas, pools):
            if pool not in department.quotas:
                raise InvalidInput(
                    f"{owner} has a quota in node pool {pool} but its department {department.name} has none",
                    todo=f"give department {department.name} a quota in node pool {pool}",
                )
            yield owner, pool, _queue(project.name, pool, quota, project.priority, parent=department.name)


def _known(owner: str, quotas: Mapping[str, Quota], pools: set[str]) -> Iterable[tuple[str, Quota]]:
    for pool, quota in quotas.items():
        if pool not in pools:
            raise InvalidInput(f"{owner} has a quota in node pool {pool}, which does not exist", todo="name it in nodePools")
        yield pool, quota


def _queue(name: str, pool: str, quota: Quota, priority: int, *, parent: str | None) -> Object:
    spec = QueueSpec(
        parent_queue=queue_name(parent, pool) if parent else None,
        priority=priority,
        resources=QueueResources(
            gpu=_resource(quota.gpu),
            cpu=_resource(quota.cpu_cores, per_unit=_MILLICORES_PER_CORE),
            memory=_resource(quota.memory_mb),
        ),
    )
    labels = {} if pool == DEFAULT_POOL else {NODE_POOL_LABEL: pool}
    return Queue.manifest(queue_name(name, pool), spec, labels=labels)


def _resource(share: Share, *, per_unit: float = 1.0) -> QueueResource:
    def scaled(amount: float) -> float:
        return amount if amount == UNLIMITED else amount * per_unit

    return QueueResource(quota=scaled(share.deserved), limit=scaled(share.limit), over_quota_weight=share.over_quota_weight)

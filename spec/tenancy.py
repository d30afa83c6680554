"""Departments, projects and their quotas: reading them, and the rules between queues.

The rules, and where they come from (KAI v0.17.0, documentation of queues and the queue webhook's quota validation):

* Projects of a department may together deserve at most what the department deserves, per node pool and resource. KAI only warns
  when asked to; here it is an error, because a guarantee that cannot be kept is found out by the team it was given to.
* A project's *limit* may exceed its department's: KAI enforces every ancestor's limit, so the department's counts.
* A project has a quota only in node pools where its department has one: KAI treats a queue whose parent does not exist as absent.
* Queue names are cluster-wide, so departments and projects share one name space, over all departments and node pools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from base.errors import Position
from spec.model import UNLIMITED, Department, NodePool, Project, Quota, Tenancy
from spec.quotas import RESOURCES, UNITS, PoolQuota, read_quotas
from spec.reader import Section

#: The node pool of nodes without a pool label.
DEFAULT_POOL = "default"
_TOLERANCE = 1e-9


def queue_name(owner: str, pool: str) -> str:
    """The Queue of a department or project in a node pool: its own name in ``default``, else ``name-pool`` as KAI derives it."""
    return owner if pool == DEFAULT_POOL else f"{owner}-{pool}"


@dataclass(frozen=True, slots=True)
class _Queue:
    name: str
    section: Section
    priority: int
    quotas: Mapping[str, PoolQuota]


def read_tenancy(root: Section, pools: Mapping[str, NodePool], *, embedded: bool) -> Tenancy:
    """The ``tenancy`` of a spec; what could not be read is left out, and noted."""
    table = root.mapping("tenancy")
    if table is None:
        return Tenancy()
    tenancy = Section(table, root.at("tenancy"), ("departments",), root.problems)
    read: list[tuple[_Queue, list[_Queue]]] = []
    for section in tenancy.sections("departments", ("name", "priority", "quotas", "projects")):
        department = _read_queue(section, pools, embedded)
        projects = [_read_queue(child, pools, embedded) for child in section.sections("projects", ("name", "priority", "quotas"))]
        _check_children(department, projects)
        read.append((department, projects))
    _check_names([queue for department, projects in read for queue in (department, *projects)])
    return Tenancy(tuple(_frozen(department, projects) for department, projects in read))


def _read_queue(section: Section, pools: Mapping[str, NodePool], embedded: bool) -> _Queue:
    name = section.label("name", required=True)
    priority = section.whole("priority", default=100, minimum=-(2**31), maximum=2**31 - 1)
    return _Queue(name, section, priority, read_quotas(section, pools, embedded=embedded))


def _check_children(department: _Queue, projects: Sequence[_Queue]) -> None:
    for project in projects:
        for pool, quota in project.quotas.items():
            if pool not in department.quotas:
                message = f"department {department.name!r} has no quota in node pool {pool!r}"
                quota.section.problems.add(
                    quota.section.table.position, quota.section.path, message, "a queue without its parent does not exist for KAI"
                )
    for pool, parent in department.quotas.items():
        for resource in RESOURCES:
            _check_resource(department, parent, [p for p in projects if pool in p.quotas], pool, resource)


def _check_resource(department: _Queue, parent: PoolQuota, projects: Sequence[_Queue], pool: str, resource: str) -> None:
    """Projects' deserved amounts against the department's, which is the whole that they are parts of."""
    whole = parent.shares[resource]
    if whole is None or whole.deserved == UNLIMITED:
        return
    total, above = 0.0, False
    for project in projects:
        quota = project.quotas[pool]
        share = quota.shares[resource]
        if share is None or not (quota.section.has(resource) or resource == "gpu"):
            continue  # unread, or left out: left out means "no bound of its own", and the department's still counts
        if share.deserved == UNLIMITED or share.deserved > whole.deserved + _TOLERANCE:
            amount = "unlimited" if share.deserved == UNLIMITED else f"{share.deserved:g}"
            message = f"deserved {amount} is above the {whole.deserved:g} {UNITS[resource]} of department {department.name!r}"
            place, field = _place(quota, resource)
            quota.section.problems.add(place, field, message, "raise the department's or lower this one")
            above = True
        total += max(share.deserved, 0.0)
    if not above and total > whole.deserved + _TOLERANCE:
        names = ", ".join(project.name for project in projects)
        message = f"its projects ({names}) together deserve {total:g} {UNITS[resource]}, more than {whole.deserved:g}"
        place, field = _place(parent, resource)
        parent.section.problems.add(place, field, message, "raise it or lower theirs")


def _place(quota: PoolQuota, resource: str) -> tuple[Position, str]:
    """Where a resource's ``deserved`` is written."""
    table = quota.section.mapping(resource)
    share = Section(table, quota.section.at(resource), tuple(table.entries), quota.section.problems) if table else quota.section
    return share.position("deserved"), share.at("deserved")


def _check_names(queues: Sequence[_Queue]) -> None:
    owners: dict[str, _Queue] = {}
    for queue in queues:
        if not queue.name:
            continue
        first = owners.setdefault(queue.name, queue)
        if first is not queue:
            line = first.section.position("name").line
            queue.section.bad("name", f"{queue.name!r} is already used in line {line}", "queue names are cluster-wide")
    made: dict[str, tuple[str, str]] = {}
    for queue in owners.values():
        for pool, quota in queue.quotas.items():
            name = queue_name(queue.name, pool)
            other = made.setdefault(name, (queue.name, pool))
            if other != (queue.name, pool):
                message = f"makes queue {name!r}, which {other[0]!r} makes in node pool {other[1]!r}"
                quota.section.problems.add(quota.section.table.position, quota.section.path, message, "rename one of them")
            elif len(name) > 63:
                message = f"makes queue {name!r}, which has more than 63 characters"
                quota.section.problems.add(quota.section.table.position, quota.section.path, message, "use a shorter name")


def _frozen(department: _Queue, projects: Sequence[_Queue]) -> Department:
    children = tuple(Project(p.name, _quotas(p), p.priority) for p in projects)
    return Department(department.name, _quotas(department), children, department.priority)


def _quotas(queue: _Queue) -> dict[str, Quota]:
    return {pool: full for pool, quota in queue.quotas.items() if (full := quota.complete())}

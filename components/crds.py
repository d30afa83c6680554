"""CRDs that a cluster does not have yet, made together before the engine begins.

Each CRD that the provider (v4.25) makes has it fetch the API server's OpenAPI document anew before its next operation, and has
the API server put that document together anew: with the quickstart's CRDs half of the time of an ``up``. Made in one go the
document changes once. The engine then finds them there and takes them over, like any leftover: same body, same field
manager. CRDs that exist already are left to it alone, so that a preview shows every change of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from base.deadlines import Deadline
from base.kube import Cluster, Object, wait_for
from base.kube.kinds import CRD
from components.objects import FIELD_MANAGER, Resource

_TOGETHER = 8
_PATIENCE = 60.0


def make_missing(cluster: Cluster, wanted: Sequence[Resource], recorded: frozenset[str]) -> int:
    """Make those of ``wanted`` that are neither ``recorded`` (by name, in the stack's state) nor on the cluster; how many.

    Returns once all of them are served. DeadlineExceeded when that takes over a minute, Refusal for a CRD that the API
    server does not take.
    """
    unknown = [resource for resource in wanted if _name(resource) not in recorded]
    if not unknown:
        return 0
    with ThreadPoolExecutor(_TOGETHER) as pool:
        there = pool.map(lambda resource: cluster.find(CRD, _name(resource)) is not None, unknown)
        missing = [resource for resource, found in zip(unknown, there, strict=True) if not found]
        made = pool.map(lambda resource: cluster.apply(CRD, resource.body, manager=FIELD_MANAGER), missing)
        names = {str(crd["metadata"]["name"]) for crd in made}
    if names:
        wait_for(
            cluster,
            CRD,
            lambda live: all(name in live and _established(live[name]) for name in names),
            Deadline.after(_PATIENCE),
            f"{len(names)} CRDs established",
        )
    return len(names)


def _name(resource: Resource) -> str:
    return str(resource.body["metadata"]["name"])


def _established(crd: Object) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)

"""The one place of this room that asks a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from base.errors import NotFound, Unavailable
from base.kube import Cluster
from base.kube.kinds import CRD, Kind
from catalog.crds.live import LiveCrd

__all__ = ["read_live"]


def read_live(cluster: Cluster, names: Iterable[str]) -> tuple[LiveCrd, ...]:
    """The CRDs of those names that the cluster has, each with all its objects (read page by page).

    Objects are read through the version that is stored, or where that one is not served through any that is. A CRD that
    serves none has no objects that anybody can read. Unavailable for a CRD that is there and does not answer; otherwise Refusal
    and Unavailable as :class:`~base.kube.Cluster` raises them.
    """
    found = []
    for name in sorted(set(names)):
        crd = cluster.find(CRD, name)
        if crd is None:
            continue
        spec = crd["spec"]
        served = sorted((v for v in spec["versions"] if v.get("served")), key=lambda v: not v.get("storage"))
        if not served:
            found.append(LiveCrd(crd, "", ()))
            continue
        version = str(served[0]["name"])
        kind = Kind(f"{spec['group']}/{version}", spec["names"]["kind"], spec["names"]["plural"], spec["scope"] == "Namespaced")
        try:
            objects, _ = cluster.list(kind)
        except NotFound as error:
            # Made a moment ago, or its names are taken by another: no answer is not the same as no objects.
            raise Unavailable(
                f"{name} is there and not served", where=cluster.server, todo="run the same command again"
            ) from error
        found.append(LiveCrd(crd, version, tuple(objects)))
    return tuple(found)

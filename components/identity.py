"""Whether a stack's state and a cluster belong together. Pure."""

from __future__ import annotations

from base.errors import Refused
from components.stackfile import StackState


def same_cluster(stack: str, recorded: StackState, expected_uid: str, live_uid: str) -> None:
    """Raise Refused where the cluster is not the one that was looked at, or not the one that the stack was applied to.

    Were this left to the engine it would plan to replace every object: make it on the new cluster and then delete "the old
    one" by name, through the same kubeconfig, from that same new cluster.
    """
    if live_uid != expected_uid:
        raise Refused(
            f"the cluster behind the kubeconfig of {stack} is not the one that was looked at",
            where=f"kube-system has UID {live_uid}, expected {expected_uid}",
            todo="run `chandlery up` (or `chandlery target up`), which looks at the cluster anew",
        )
    if recorded.resources and recorded.cluster_uid and recorded.cluster_uid != live_uid:
        raise Refused(
            f"the cluster of stack {stack} was made anew: its {recorded.resources} recorded objects are on one that is gone",
            where=f"kube-system has UID {live_uid}, the stack was applied to {recorded.cluster_uid}",
            todo="`chandlery up -c SPEC --replace-cluster` drops those records (a copy is kept) and installs on this cluster",
        )

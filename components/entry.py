"""The Pulumi program as plain ``pulumi`` runs it: the same checks before, the same declaration, errors in three lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pulumi

from base.errors import ChandleryError, Refused
from base.kube import Cluster
from components.identity import same_cluster
from components.program import Declaration, declare
from components.stackfile import StackState


def run(build: Callable[[Path], Declaration]) -> None:
    """Declare the stack that Pulumi is running now.

    Settings of the stack: ``chandlery:spec``, the path of the cluster spec, and ``chandlery:clusterUid``, the identity of the
    cluster that ``chandlery up`` last applied it to (optional). ``build`` makes the declaration from the spec. Errors of ours
    end the program as Pulumi's RunError, whose text is shown without a traceback.
    """
    try:
        config = pulumi.Config("chandlery")
        declaration = build(Path(config.require("spec")))
        _check(declaration, config.get("clusterUid") or "")
        declare(declaration)
    except (ChandleryError, pulumi.ConfigMissingError) as error:
        raise pulumi.RunError(str(error)) from None


def _check(declaration: Declaration, applied_to: str) -> None:
    facts, stack = declaration.facts, pulumi.get_stack()
    if declaration.plan.cluster != stack:
        raise Refused(
            f"stack {stack} is given the spec of cluster {declaration.plan.cluster}",
            todo="one stack is one cluster: select the stack of that name, or set chandlery:spec to this cluster's spec",
        )
    with Cluster(facts.kubeconfig, context=facts.context or None) as cluster:
        live = cluster.uid()
    # Here the state itself is out of reach; the settings say which cluster it is about.
    recorded = StackState(exists=True, cluster_uid=applied_to, resources=1 if applied_to else 0)
    same_cluster(stack, recorded, facts.cluster_uid, live)

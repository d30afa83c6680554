"""What a cluster's stack declares. Called from an inline program (``chandlery up``) and from ``__main__.py`` (plain pulumi)
alike, with equal arguments, so that neither sees a difference after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from base.errors import InvalidInput
from catalog.plan import Facts, Plan
from components.admission import Admitted, Issue, certify, withhold
from components.cert_manager import CertManager
from components.managed_addon import AddonArgs, Barrier, ManagedAddon
from components.objects import Object, Rendered, Resource, label_of, resources
from components.provider import ClusterProvider
from components.scheduler_core import SchedulerCore, allowed
from components.slurm_operator import SlurmOperator, SlurmOperatorCrds

COMPONENTS: Mapping[str, type[ManagedAddon]] = {
    "cert-manager": CertManager,
    "slurm-operator-crds": SlurmOperatorCrds,
    "slurm-operator": SlurmOperator,
    "kai-scheduler": SchedulerCore,
    "kai-reference": SchedulerCore,
}


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything that decides what is applied. ``rendered`` and ``admitted`` by add-on; ``tenancy`` are queues and shards."""

    plan: Plan
    facts: Facts
    crds: Mapping[str, Sequence[Mapping[str, Any]]]
    admitted: Mapping[str, Admitted]
    tenancy: tuple[Object, ...]


def prepare(plan: Plan, rendered: Mapping[str, Rendered], tenancy: Iterable[Object], facts: Facts, issue: Issue) -> Declaration:
    """Make the declaration. ``issue`` gives the serving certificates of webhooks, asked on the embedded target alone.

    Raises Refused for kai-reference anywhere but on the embedded target, InvalidInput where an add-on of the plan is not
    rendered, two add-ons hold one object, or there are queues and no scheduler to use them.
    """
    for item in plan.items:
        allowed(item.addon, facts.target)
    missing = [item.addon for item in plan.items if item.addon not in rendered]
    if missing:
        raise InvalidInput(f"not rendered: {', '.join(missing)}", where=f"plan of {plan.cluster}")
    queues = tuple(dict(obj) for obj in tenancy)
    if queues and plan.scheduler not in {item.addon for item in plan.items}:
        raise InvalidInput(
            f"the tenancy of {plan.cluster} has queues, and its plan no scheduler", todo="name a scheduler in the cluster spec"
        )
    admitted = {}
    for item in plan.items:
        taken = withhold(item, rendered[item.addon].objects, facts.target)
        if facts.target == "embedded":
            taken = certify(taken, issue)
        admitted[item.addon] = taken
    _disjoint(plan, rendered, admitted, queues)
    return Declaration(plan, facts, {item.addon: rendered[item.addon].crds for item in plan.items}, admitted, queues)


def planned(declaration: Declaration) -> tuple[Resource, ...]:
    """Every object that the declaration stands for, as it will be registered."""
    made: list[Resource] = []
    for item in declaration.plan.items:
        taken = declaration.admitted[item.addon]
        queues = declaration.tenancy if item.addon == declaration.plan.scheduler else ()
        made += resources(item.addon, declaration.crds[item.addon], (*taken.objects, *taken.secrets, *queues))
    return tuple(made)


def declare(declaration: Declaration, gate: Awaitable[None] | None = None) -> dict[str, ManagedAddon]:
    """Register everything and export the stack's outputs. Returns the components by add-on, in order of installation.

    CRDs, and what comes after them, wait for ``gate``.

    Outputs: ``addons`` {name: {version, state, namespace, digest}}, ``scheduler``, ``schedulerReason``, ``queues``,
    ``clusterUid``, ``planDigest``, ``notExercised`` {add-on: [Kind/name]}.
    """
    plan, facts = declaration.plan, declaration.facts
    provider = ClusterProvider(facts)
    components: dict[str, ManagedAddon] = {}
    for item in plan.items:
        args = AddonArgs(
            item=item,
            target=facts.target,
            crds=declaration.crds[item.addon],
            admitted=declaration.admitted[item.addon],
            queues=declaration.tenancy if item.addon == plan.scheduler else (),
            requires=[components[name] for name in item.requires if name in components],
        )
        components[item.addon] = COMPONENTS.get(item.addon, ManagedAddon)(args, provider)
    _install(list(components.values()), provider, gate)
    scheduler = components.get(plan.scheduler)
    addons = {
        item.addon: {
            "version": item.version,
            "state": item.state,
            "namespace": item.namespace,
            "digest": components[item.addon].digest,
        }
        for item in plan.items
    }
    pulumi.export("addons", addons)
    pulumi.export("scheduler", plan.scheduler)
    pulumi.export("schedulerReason", plan.scheduler_reason)
    pulumi.export("queues", scheduler.queues if isinstance(scheduler, SchedulerCore) else [])
    pulumi.export("clusterUid", facts.cluster_uid)
    pulumi.export("planDigest", plan.digest)
    pulumi.export("notExercised", {name: list(taken.withheld) for name, taken in declaration.admitted.items() if taken.withheld})
    return components


def _install(addons: Sequence[ManagedAddon], provider: ClusterProvider, gate: Awaitable[None] | None) -> None:
    """Register the add-ons' resources: what needs nobody, then all CRDs in one go, then the rest.

    Each CRD has the provider (v4.25) fetch the API server's OpenAPI document anew, one waiting operation after the other
    (``getResources`` takes its lock once per caller). With all CRDs side by side and nothing else under way that is
    a few times; one by one among other objects it is most of the time of an ``up``.
    """
    prepared = [resource for addon in addons for resource in addon.prepare()]
    ready = _barrier(provider, prepared, gate)
    defined = [resource for addon in addons for resource in addon.define(ready)]
    served = _barrier(provider, defined, None)
    for addon in addons:
        addon.complete(served)


def _barrier(provider: ClusterProvider, resources: Sequence[pulumi.Resource], gate: Awaitable[None] | None) -> Barrier:
    async def passed() -> pulumi.Resource:
        # Not Output.all, whose result would carry all of these into the dependencies that the state records.
        await asyncio.gather(*(resource.urn.future() for resource in resources))
        if gate is not None:
            await gate
        return provider

    return pulumi.Output.from_input(passed())


def _disjoint(
    plan: Plan, rendered: Mapping[str, Rendered], admitted: Mapping[str, Admitted], tenancy: Sequence[Mapping[str, Any]]
) -> None:
    """Two resources for one object would overwrite each other at every run, and the removal of one deletes both."""
    owner: dict[tuple[str, str], str] = {}
    for item in plan.items:
        queues = tenancy if item.addon == plan.scheduler else ()
        taken = admitted[item.addon]
        for obj in (*rendered[item.addon].crds, *taken.objects, *taken.secrets, *queues):
            key = str(obj["apiVersion"]), label_of(obj)
            if key in owner:
                raise InvalidInput(f"{owner[key]} and {item.addon} both hold {key[1]}", todo="leave it to one of them")
            owner[key] = item.addon

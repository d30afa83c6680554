"""The base of all add-on components: every rendered object is a resource of its own, in stages, on one explicit provider."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, ClassVar

import pulumi

from catalog.plan import PlanItem
from components.admission import Admitted
from components.objects import CRD, Object, Resource, Stage, digest_of, kind_of, resources

#: How long one object may take to become ready (the provider's own default is 10 minutes).
_PATIENCE = pulumi.CustomTimeouts(create="5m", update="5m", delete="5m")


#: Resolves to some resource that is there already, once everything that it stands for is done. A barrier holds registrations back
#: without becoming a dependency that the state records and a destroy goes by.
Barrier = pulumi.Output[pulumi.Resource]


@dataclass(frozen=True, slots=True)
class AddonArgs:
    """What a component is given.

    ``objects`` are the rendered ones after :mod:`components.admission`; ``queues`` the tenancy's, for the scheduler's
    component; ``digest`` is that of everything the add-on applies except private keys.
    """

    item: PlanItem
    target: str
    crds: Sequence[Mapping[str, Any]]
    admitted: Admitted
    queues: Sequence[Mapping[str, Any]] = ()
    requires: Sequence[ManagedAddon] = field(default_factory=tuple)


class ManagedAddon(pulumi.ComponentResource):
    """One add-on on one cluster.

    Outputs: ``addon``, ``version``, ``state`` (real, simulated, reference), ``digest`` of the applied objects and
    ``not_exercised``, the webhook configurations that this target cannot serve.
    """

    addon: pulumi.Output[str]
    version: pulumi.Output[str]
    state: pulumi.Output[str]
    digest: pulumi.Output[str]
    not_exercised: pulumi.Output[list[str]]

    #: Type in URNs. A component that changes it renames every resource below it.
    TOKEN: ClassVar[str] = "chandlery:addons:ManagedAddon"
    #: (group, kind) -> what a custom resource must reach before the next stage begins.
    WAITS: ClassVar[Mapping[tuple[str, str], str]] = {}

    def __init__(self, args: AddonArgs, provider: pulumi.ProviderResource, opts: pulumi.ResourceOptions | None = None) -> None:
        item = args.item
        self.planned = self.plan(args)
        digest = digest_of([[r.token, r.name, r.digest] for r in self.planned if not _private(r.body)])
        facts = {
            "addon": item.addon,
            "version": item.version,
            "state": item.state,
            "digest": digest,
            "notExercised": list(args.admitted.withheld),
        }
        super().__init__(self.TOKEN, item.addon, facts, opts)
        self._provider = provider
        self._requires = tuple(args.requires)
        self._facts = facts
        #: The resources of the last stage: what waits for these waits for the whole add-on.
        self.last: list[pulumi.Resource] = []
        self.addon = pulumi.Output.from_input(item.addon)
        self.version = pulumi.Output.from_input(item.version)
        self.state = pulumi.Output.from_input(str(item.state))
        self.digest = pulumi.Output.from_input(digest)
        self.not_exercised = pulumi.Output.from_input(list(args.admitted.withheld))

    def prepare(self) -> list[pulumi.Resource]:
        """Register what every API server knows, which waits for nobody."""
        return self._stages(Stage.FOUNDATION, Stage.BUILT_IN)

    def define(self, barrier: Barrier) -> list[pulumi.Resource]:
        """Register the CRDs behind ``barrier``."""
        return self._stages(Stage.CRDS, Stage.CRDS, barrier)

    def complete(self, barrier: Barrier) -> None:
        """Register the rest behind ``barrier``, and when the add-ons that this one requires are ready."""
        required = [resource for addon in self._requires for resource in addon.last]
        self.last = [*self.last, *required]
        self._stages(Stage.CONFIGURATION, Stage.TENANCY, barrier)
        self.register_outputs(self._facts)

    def _stages(self, first: Stage, last: Stage, *barrier: Barrier) -> list[pulumi.Resource]:
        """Register the resources of these stages, each stage after the one before it."""
        made: list[pulumi.Resource] = []
        planned = (resource for resource in self.planned if first <= resource.stage <= last)
        for _, group in groupby(planned, key=lambda r: (r.stage, r.level)):
            self.last = [self._register(resource, [*self.last, *barrier]) for resource in group]
            made += self.last
        return made

    def plan(self, args: AddonArgs) -> tuple[Resource, ...]:
        """The resources in order of registration; a component that adds objects of its own does it here."""
        objects = (*args.admitted.objects, *args.admitted.secrets, *args.queues)
        return resources(args.item.addon, args.crds, objects, waits=self.WAITS)

    def _register(self, resource: Resource, waits_for: Sequence[pulumi.Input[pulumi.Resource]]) -> pulumi.CustomResource:
        properties: dict[str, Any] = dict(resource.body)
        for private in ("data", "stringData") if _private(resource.body) else ():
            if private in properties:
                properties[private] = pulumi.Output.secret(properties[private])
        opts = pulumi.ResourceOptions(
            parent=self,
            provider=self._provider,
            depends_on=list(waits_for),
            retain_on_delete=resource.retain,
            custom_timeouts=_PATIENCE,
            # A CRD runs to a megabyte; its digest stands among the component's inputs, and that is what one can read.
            hide_diffs=["spec"] if kind_of(resource.body) == CRD else None,
        )
        return pulumi.CustomResource(resource.token, resource.name, properties, opts)


def _private(body: Object) -> bool:
    return kind_of(body) == ("", "Secret")

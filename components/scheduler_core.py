"""The scheduler of GPU work, and the queues of the cluster's tenancy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import pulumi

from base.errors import Refused
from components.managed_addon import AddonArgs, ManagedAddon
from components.objects import QUEUE, Resource, Stage

REFERENCE = "kai-reference"

#: KAI's Config and SchedulingShard carry a Ready condition since 0.13. The operator registers the Queue webhook
#: (failurePolicy Fail) while it works on the Config, so a queue that comes earlier is refused.
_KAI_WAITS = {
    ("kai.scheduler", "Config"): "condition=Ready",
    ("kai.scheduler", "SchedulingShard"): "condition=Ready",
}


class SchedulerCore(ManagedAddon):
    """kai-scheduler (operator, Config, shards) or kai-reference (our own engine), then the tenancy's queues.

    Output ``queues``: the names of the queues, parents first. Raises Refused for kai-reference anywhere but on the
    embedded target.
    """

    queues: pulumi.Output[list[str]]

    TOKEN: ClassVar[str] = "chandlery:addons:SchedulerCore"

    def __init__(self, args: AddonArgs, provider: pulumi.ProviderResource, opts: pulumi.ResourceOptions | None = None) -> None:
        allowed(args.item.addon, args.target)
        super().__init__(args, provider, opts)
        self.queues = pulumi.Output.from_input(queue_names(self.planned))

    def plan(self, args: AddonArgs) -> tuple[Resource, ...]:
        self.WAITS: Mapping[tuple[str, str], str] = {} if args.item.addon == REFERENCE else _KAI_WAITS  # type: ignore[misc]
        return super().plan(args)


def allowed(addon: str, target: str) -> None:
    """Raise Refused where kai-reference would be installed anywhere but on the embedded target."""
    if addon == REFERENCE and target != "embedded":
        raise Refused(
            f"{REFERENCE} stands in for KAI on the embedded target only",
            where=f"target {target}",
            todo="set `scheduler: kai-scheduler` in the cluster spec",
        )


def queue_names(planned: tuple[Resource, ...]) -> list[str]:
    """Names of the queues among these resources, parents before children."""
    return [str(r.body["metadata"]["name"]) for r in planned if r.stage is Stage.TENANCY and r.token.endswith(f":{QUEUE[1]}")]

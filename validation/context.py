"""What a run of the suite knows about the cluster it looks at. Frozen, and a JSON file on its way to the child process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from catalog.plan import Facts, Plan, PlanItem, State, Webhook
from spec.model import ClusterSpec, TargetKind

__all__ = ["Context", "Installed"]


@dataclass(frozen=True, slots=True)
class Installed:
    """One add-on of the plan.

    ``role`` and ``crds`` (full names) are the catalogue's word; an add-on of role ``crds`` brings nothing that runs.
    ``workloads`` are the ``namespace/deployment`` names whose programs really run (embedded target). ``webhooks`` are
    configurations (``Kind/name``) that are served here, ``unserved`` those that are not, each with the reason.
    """

    addon: str
    version: str
    namespace: str
    state: State
    role: str = ""
    workloads: tuple[str, ...] = ()
    crds: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    unserved: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, item: PlanItem, target: TargetKind) -> Installed:
        def served(hook: Webhook) -> bool:
            # what stands behind a webhook is a matter of the embedded target; elsewhere every pod of an add-on is real
            return target != "embedded" or (hook.exercised and item.state != "simulated")

        return cls(
            addon=item.addon,
            version=item.version,
            namespace=item.namespace,
            state=item.state,
            role=item.role,
            workloads=tuple(program.workload for program in item.programs),
            crds=item.crds,
            webhooks=tuple(hook.configuration for hook in item.webhooks if served(hook)),
            unserved=tuple((hook.configuration, hook.reason) for hook in item.webhooks if not served(hook)),
        )

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Installed:
        lists = {name: tuple(raw[name]) for name in ("workloads", "crds", "webhooks")}
        return cls(**{**raw, **lists, "unserved": tuple((name, reason) for name, reason in raw["unserved"])})


@dataclass(frozen=True, slots=True)
class Context:
    """``run`` is the label value that every object made by this run carries. ``scheduler`` names one of ``installed``."""

    run: str
    cluster: str
    cluster_uid: str
    target: TargetKind
    kubernetes: str
    kubeconfig: str
    scheduler: str
    scheduler_reason: str
    installed: tuple[Installed, ...]
    context: str = ""

    @classmethod
    def of(cls, run: str, spec: ClusterSpec, facts: Facts, plan: Plan) -> Context:
        installed = tuple(Installed.of(item, facts.target) for item in plan.items)
        return cls(
            run=run,
            cluster=spec.name,
            cluster_uid=facts.cluster_uid,
            target=facts.target,
            kubernetes=facts.kubernetes,
            kubeconfig=str(facts.kubeconfig),
            scheduler=plan.scheduler,
            scheduler_reason=plan.scheduler_reason,
            installed=installed,
            context=spec.target.context,
        )

    def addon(self, name: str) -> Installed | None:
        """The installed add-on of that name, or None."""
        return next((item for item in self.installed if item.addon == name), None)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Context:
        raw: Mapping[str, Any] = json.loads(text)
        installed = tuple(Installed.from_json(item) for item in raw["installed"])
        return cls(**{**raw, "installed": installed})

    @classmethod
    def read(cls, path: Path) -> Context:
        return cls.from_json(path.read_text())

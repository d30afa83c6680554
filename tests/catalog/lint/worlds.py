"""A small catalogue that no rule has anything against, and ways to change one thing in it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from catalog.lint.places import Places
from catalog.lint.run import lint
from catalog.lint.world import Finding, World
from catalog.model import (
    Addon,
    AddonVersion,
    Catalogue,
    Channel,
    Compatibility,
    DroppedHook,
    Edge,
    Embedded,
    Guard,
    Image,
    KnownIssue,
    KubernetesRange,
    OciSource,
    Requirement,
    Tested,
    VersionRange,
)
from catalog.plan import Program, Webhook

TODAY = datetime.date(2026, 12, 1)
PIN = "sha256:" + "a" * 64
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {"replicas": {"description": "Pods.", "type": "integer", "minimum": 1, "default": 1}},
}
TEMPLATE = "defaults: {replicas: {{ config.replicas | tojson }}}\nguards: {crds: {enabled: false}}\n"

DEMO = Addon(
    name="demo",
    title="Demo",
    role="scheduler",
    namespace="demo",
    targets=("embedded", "cluster"),
    upstream="https://github.invalid/demo",
    strays={"9.9.9": "never released"},
)
OTHER = replace(DEMO, name="other", title="Other", role="certificates", namespace="other", targets=("cluster",), strays={})


def demo(number: str = "1.0.0", **fields: Any) -> AddonVersion:
    """A version that says everything that is asked for."""
    made = AddonVersion(
        addon="demo",
        version=number,
        released="2026-05-01",
        source=OciSource("r.invalid/charts/demo", f"v{number}", PIN, PIN),
        chart_version=f"v{number}",
        app_version=f"v{number}",
        images=(Image(f"r.invalid/team/demo:v{number}", PIN), Image("r.invalid/team/driver:580-ubuntu24.04", PIN, operand=True)),
        compatibility=Compatibility(
            KubernetesRange("1.33", "1.36", "its CI"), tested=(Tested({"kubernetes": "1.36"}, "2026-06-01", "record.md"),)
        ),
        crds=("things.demo.invalid",),
        paths={"tolerations": ("tolerations",)},
        hooks=(
            DroppedHook("Job", "upgrade", "CRDs are applied", "crds"),
            DroppedHook("ServiceAccount", "upgrade", "its identity"),
        ),
        requires=(Requirement("other", "certificates", range=VersionRange(">=1.0.0")),),
        embedded=Embedded(
            programs=(Program("demo/demo", "demo-manager"), Program("demo/gate", "kai:admission")),
            webhooks=(
                Webhook("ValidatingWebhookConfiguration/a", "demo/demo"),
                Webhook("ValidatingWebhookConfiguration/b", reason="no program of it"),
            ),
        ),
        checks=("T01", "SLURM-02"),
        values_template=TEMPLATE,
        config_schema=SCHEMA,
        guards=(Guard("crds.enabled", "the package owns them", "nothing"),),
        issues=(KnownIssue("odd", "it is odd", "demo#1", guard="crds.enabled", check="T02", fixed_in="1.2.0"),),
        support="until the next minor",
        unverified=("hardware",),
    )
    return replace(made, **fields)


def other(number: str = "1.0.0", **fields: Any) -> AddonVersion:
    bare: dict[str, Any] = {
        "addon": "other", "crds": ("parts.other.invalid",), "requires": (), "embedded": Embedded(), "hooks": (), "guards": (),
        "values_template": "", "config_schema": {}, "issues": (), "checks": (), "compatibility": Compatibility(
            KubernetesRange("1.30", "", "its docs")
        ), "images": (Image(f"r.invalid/team/other:v{number}", PIN),), "unverified": (),
    }  # fmt: skip
    return demo(number, **{**bare, **fields})


def edge(origin: str = "=1.0.0", to: str = "1.1.0", **fields: Any) -> Edge:
    made = Edge("demo", VersionRange(origin), to, "safe", "tried", "it was tried", True, checks=("T01",), references=("notes",))
    return replace(made, **fields)


def world(
    versions: Sequence[AddonVersion] | None = None,
    *,
    others: Sequence[AddonVersion] | None = None,
    addons: Sequence[Addon] = (DEMO, OTHER),
    channels: Mapping[str, Mapping[str, str]] | None = None,
    edges: Sequence[Edge] = (edge(),),
    docs: Path | None = None,
    unpinned: bool = False,
) -> World:
    """Two add-ons, one of which requires the other, in channels that take only what is pinned (but for ``unpinned``)."""
    made = {"demo": tuple(versions or (demo(), demo("1.1.0"))), "other": tuple(others or (other(),))}
    named = channels if channels is not None else {"stable": {"demo": made["demo"][-1].version, "other": "1.0.0"}}
    return World(
        Catalogue(
            {addon.name: addon for addon in addons},
            made,
            {name: Channel(name, chosen, unpinned) for name, chosen in named.items()},
            {"demo": tuple(edges)},
        ),
        TODAY,
        docs,
        tools=frozenset({"demo-manager"}),
    )


def found(made: World, root: Path = Path("/nonexistent")) -> list[Finding]:
    return lint(made, Places(root))


def ids(made: World) -> set[str]:
    return {finding.rule.id for finding in found(made)}

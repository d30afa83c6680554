"""For each rule that looks at data: catalogues that it tells of, and catalogues just this side of it that it does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from catalog.lint.world import World
from catalog.model import (
    Compatibility,
    Constraint,
    DroppedHook,
    Embedded,
    FileSource,
    Generated,
    Guard,
    Image,
    KnownIssue,
    KubernetesRange,
    ModuleSource,
    NoOp,
    OciSource,
    PackageSource,
    Peer,
    RepositorySource,
    Requirement,
    Tested,
    VersionRange,
)
from catalog.plan import Program, Webhook
from tests.catalog.lint.worlds import DEMO, OTHER, PIN, SCHEMA, demo, edge, other, world

UNPINNED = OciSource("r.invalid/demo", "v1", "", "")
ANY = VersionRange("")


def one(number: str = "1.0.0", **fields: Any) -> World:
    """The catalogue with one version of demo, changed."""
    return world([demo(number, **fields)], edges=[])


def image(*references: str, digest: str = PIN) -> World:
    return one(images=tuple(Image(reference, digest) for reference in references))


def template(text: str, **fields: Any) -> World:
    return one(values_template=text, **fields)


def option(*, template: str = "", **field: Any) -> World:
    """A configuration with one option, ``x``, whose schema has these keys."""
    full = {"description": "What.", "type": "string", "default": "a", **field}
    schema = {**SCHEMA, "properties": {"x": {key: value for key, value in full.items() if value is not None}}}
    text = template or "defaults: {x: {{ config.x | tojson }}}\nguards: {crds: {enabled: false}}\n"
    return one(config_schema=schema, values_template=text)


def compatible(declared: KubernetesRange | None = None, **fields: Any) -> World:
    return one(compatibility=Compatibility(declared or KubernetesRange("1.33", "1.36", "its CI"), **fields))


def constrained(*constraints: Constraint) -> World:
    return compatible(constraints=constraints)


def issue(**fields: Any) -> World:
    made = {"id": "odd", "title": "t", "reference": "r", **fields}
    return one(issues=(KnownIssue(**made),))


def channel(*, edge: Mapping[str, str] | None = None, **channels: Mapping[str, str]) -> World:
    named = {**({"edge": edge} if edge else {}), **channels}
    return world(channels=named)


def block(**fields: Any) -> World:
    return one(embedded=Embedded(**{"simulated": ("demo/demo",), **fields}))


def hooks(*made: DroppedHook, **fields: Any) -> World:
    return one(hooks=made, **fields)


RECORDS = Path(__file__).parent / "records"
BOTH = {"demo": "1.1.0", "other": "1.0.0"}
FULL = "defaults: {}\nguards: {crds: {enabled: false}}\n"

#: rule -> (catalogues that it tells of, catalogues that it does not).
CASES: Mapping[str, tuple[list[World], list[World]]] = {
    "CAT101": (
        [one(source=UNPINNED), one(source=replace(UNPINNED, digest=PIN))],
        [one(), one(source=ModuleSource("m", "v1", f"h1:{'a' * 43}=", "p")), one(source=PackageSource(Path("p")))],
    ),
    "CAT102": ([image("r.invalid/a:1", digest="")], [image("r.invalid/a:1"), one(images=())]),
    "CAT103": (
        [image("r.invalid/a:1", digest=""), one(source=UNPINNED)],
        [world([demo(source=UNPINNED)], unpinned=True), world([demo(source=UNPINNED), demo("1.1.0")])],
    ),
    "CAT104": (
        [
            image("r.invalid/a:1", digest="sha256:abc"),
            one(source=OciSource("r", "t", "sha1:x", PIN)),
            one(source=RepositorySource("https://r", "c", "1", "x")),
            one(source=FileSource(Path("x"), "md5:1")),
            one(source=ModuleSource("m", "v1", "h1:short", "p")),
        ],
        [one(), image("r.invalid/a:1", digest=""), one(source=ModuleSource("m", "v1", f"h1:{'a' * 43}=", "p"))],
    ),
    "CAT105": (
        [image("r.invalid/a:latest"), image("r.invalid/a"), image("r.invalid:5000/a"), image("r.invalid/a:Main")],
        [image("r.invalid/a:1"), image("r.invalid:5000/a:latest-1.2")],
    ),
    "CAT106": ([image("team/a:1"), image("a:1")], [image("r.invalid:5000/a:1"), image("localhost:5000/a:1")]),
    "CAT107": (
        [world([demo(), demo("1.1.0", images=(Image("r.invalid/a:v1.0.0", PIN),))])],
        [world([demo(), demo("1.1.0", images=(Image("r.invalid/a:v1.1.0", PIN), Image("r.invalid/b:7", PIN)))])],
    ),
    "CAT108": ([image("r.invalid/a:1", "r.invalid/a:1")], [image("r.invalid/a:1", "r.invalid/a:2")]),
    "CAT109": (
        [world(addons=[replace(DEMO, upstream="http://x"), OTHER]), one(source=RepositorySource("http://r", "c", "1", PIN))],
        [one(source=RepositorySource("https://r", "c", "1", PIN))],
    ),
    "CAT110": (
        [world(addons=[replace(DEMO, upstream=""), OTHER])],
        [world(addons=[replace(DEMO, upstream="", reference=True, targets=("embedded",)), OTHER])],
    ),
    "CAT111": (
        [one(released="May 2026"), one(released="2026-12-02"), compatible(tested=(Tested({}, "2027-01-01", "record.md"),))],
        [one(released="2026-12-01"), one(released="")],
    ),
    "CAT112": ([one(released="")], [one()]),
    "CAT113": (
        [one(support="")],
        [world([demo(support="")], addons=[replace(DEMO, reference=True, targets=("embedded",)), OTHER], edges=[])],
    ),
    "CAT114": ([one(unverified=("gpu",))], [one(unverified=("hardware", "chart"))]),
    "CAT115": (
        [world([demo(requires=())], addons=[DEMO, replace(OTHER, namespace="demo")], edges=[])],
        [
            world(addons=[DEMO, replace(OTHER, namespace="demo")]),  # one requires the other
            world([demo(requires=())], addons=[DEMO, replace(OTHER, namespace="demo", excludes={"demo": "x"})], edges=[]),
        ],
    ),
    "CAT116": ([world([demo(), demo("9.9.9")]), world([demo(), demo("v9.9.9")])], [world([demo(), demo("9.9.8")])]),
    "CAT117": ([world(addons=[replace(DEMO, namespace="kube-system"), OTHER])], [world()]),
    "CAT201": (
        [one(guards=(*demo().guards, Guard("gone.value", "x", "y")))],
        [one(guards=(Guard("crds", "all of them", "y"),))],
    ),
    "CAT202": (
        [one(guards=()), template("defaults: {}\nguards: {crds: {enabled: false}, x: 1}\n")],
        [one(guards=(Guard("crds", "all of them", "y"),))],
    ),
    "CAT203": (
        [template("defaults: {}\n"), template("{% if %}"), template("defaults: [1]\nguards: {}"), template("a: b: c")],
        [template('defaults: {}\nguards: {{ {"crds": {"enabled": false}} if target else {} }}\n')],
    ),
    "CAT204": (
        [
            one(config_schema={"type": "wrong"}),
            one(config_schema={"type": "array"}),
            one(config_schema={"type": "object", "properties": ["x"]}),
            option(type=5),
            option(pattern="["),
            option(**{"$ref": "#/nowhere"}),
            one(config_schema={"type": "object", "$ref": "#"}),
        ],
        [option(), one(config_schema={}, values_template=FULL)],
    ),
    "CAT205": (
        [option(description=None), option(default=None)],
        [option(), option(type="object", default=None, additionalProperties=False, properties={})],
    ),
    "CAT206": (
        [
            one(config_schema={**SCHEMA, "additionalProperties": True}),
            one(config_schema={key: value for key, value in SCHEMA.items() if key != "additionalProperties"}),
            option(type="object", default={}, properties={}),
            option(type="object", default={}),
        ],
        [option(), option(type="object", default={}, additionalProperties={"type": "string"})],
    ),
    "CAT207": ([option(default=3), option(enum=["b"])], [option(enum=["a", "b"])]),
    "CAT208": (
        [option(template=FULL), option(template=f"# {{{{ config.x }}}}\n{FULL}"), option(template=f"{{# config.x #}}{FULL}")],
        [option(), option(template="{% set c = config.x %}defaults: {x: {{ c }}}\nguards: {crds: {enabled: false}}\n")],
    ),
    "CAT209": (
        [template("defaults: {x: {{ config.gone | default(1) }}}\nguards: {crds: {enabled: false}}\n")],
        [option(template="defaults: {x: {{ config.x.upper() }}}\nguards: {crds: {enabled: false}}\n")],
    ),
    "CAT210": (
        [one(noops=(NoOp("replicas", ANY, "y", "z"),)), one(noops=(NoOp("crds", ANY, "y", "z"),))],
        [one(noops=(NoOp("replicas.more", ANY, "y", "z"), NoOp("replica", ANY, "y", "z")))],
    ),
    "CAT211": (
        [template("defaults: {crds: {enabled: true}}\nguards: {crds: {enabled: false}}\n")],
        [template("defaults: {crds: {keep: true}}\nguards: {crds: {enabled: false}}\n")],
    ),
    "CAT301": ([issue(guard="crds.keep", cost="x")], [issue(guard="crds.enabled"), issue()]),
    "CAT302": (
        [one(guards=(Guard("crds.enabled", "x"),))],
        [one(), issue(), one(guards=(Guard("crds.enabled", "x"),), issues=(KnownIssue("a", "t", "r", "crds.enabled", "cost"),))],
    ),
    "CAT303": ([issue(fixed_in="1.0.0"), issue(fixed_in="0.9.0")], [issue(fixed_in="1.0.1"), issue()]),
    "CAT304": ([issue(fixed_in="next week")], [issue(fixed_in="v1.0.1"), issue()]),
    "CAT305": (
        [one(checks=("t01",)), issue(check="check 5"), world(edges=[edge(checks=("T 1",))])],
        [one(checks=("T01", "I01", "SLURM-03"))],
    ),
    "CAT306": (
        [one(issues=(KnownIssue("a", "t", "r"), KnownIssue("a", "u", "s")))],
        [one(issues=(KnownIssue("a", "t", "r"), KnownIssue("b", "t", "r")))],
    ),
    "CAT401": (
        [compatible(KubernetesRange("1.36", "1.33", "x"))],
        [compatible(KubernetesRange("1.36", "1.36", "x")), compatible(KubernetesRange("1.36", "", "x"))],
    ),
    "CAT402": ([compatible(KubernetesRange("1.33", "1.36", ""))], [compatible()]),
    "CAT403": (
        [constrained(Constraint("driver", "r", "", ">=1")), constrained(Constraint("driver", "", "s", ">=1"))],
        [constrained(Constraint("driver", "r", "s", ">=1"))],
    ),
    "CAT404": (
        [constrained(Constraint("driver", "r", "s", ">=1", when="gone"))],
        [constrained(Constraint("driver", "r", "s", ">=1", when="replicas"))],
    ),
    "CAT405": (
        [
            constrained(Constraint("driver", "r", "s")),
            constrained(Constraint("driver", "r", "s", "new")),
            constrained(Constraint("nri", "r", "s")),
            constrained(Constraint("nri", "r", "s", words=("enabled",))),
            constrained(Constraint("weather", "r", "s", words=("fine",))),  # type: ignore[arg-type]
        ],
        [constrained(Constraint("driver", "r", "s", ">=580 <620"), Constraint("nri", "r", "s", words=("on",)))],
    ),
    "CAT406": (
        [compatible(tested=(Tested({}, "2026-01-01", ""),)), world(docs=RECORDS.parent / "nowhere")],
        [world(docs=RECORDS), world()],
    ),
    "CAT407": (
        [
            compatible(tested=(Tested({"kubernetes": "1.37"}, "2026-01-01", "record.md"),)),
            compatible(tested=(Tested({"kubernetes": "newest"}, "2026-01-01", "record.md"),)),
        ],
        [compatible(tested=(Tested({"driver": "580"}, "2026-01-01", "record.md"),)), one()],
    ),
    "CAT408": (
        [
            one(requires=(Requirement("other", "x", range=VersionRange(">=2.0.0")),)),
            compatible(peers=(Peer("other", VersionRange("<1.0.0"), "r", "s"),)),
        ],
        [compatible(peers=(Peer("other", VersionRange("<2.0.0"), "r", "s"), Peer("gone", ANY, "r", "s")))],
    ),
    "CAT501": (
        [world([demo(), demo("1.1.0", withdrawn="it eats data")])],
        [world([demo(withdrawn="it eats data"), demo("1.1.0")])],
    ),
    "CAT502": (
        [
            channel(stable={"demo": "1.1.0"}),
            world([demo(requires=(Requirement("other", "x", range=VersionRange(">=2.0.0")),))], edges=[]),
            compatible(peers=(Peer("other", VersionRange("<1.0.0"), "r", "s"),)),
            world(others=[other(compatibility=Compatibility(KubernetesRange("1.37", "1.38", "x")))]),
        ],
        [
            channel(stable={"other": "1.0.0"}),
            world(others=[other(compatibility=Compatibility(KubernetesRange("1.36", "1.38", "x")))]),
            compatible(peers=(Peer("gone", VersionRange("<1.0.0"), "r", "s"),)),
        ],
    ),
    "CAT503": (
        [
            world(others=[other(requires=(Requirement("demo", "x"),))]),
            world(others=[other(requires=(Requirement("other", "x"),))]),
        ],
        [world()],
    ),
    "CAT504": (
        [world([demo("1.1.0", requires=(Requirement("other", "x", same_version=True),))], edges=[])],
        [world([demo(requires=(Requirement("other", "x", same_version=True),))], edges=[]), world()],
    ),
    "CAT505": (
        [
            world(addons=[replace(DEMO, excludes={"other": "x"}), OTHER]),
            world(addons=[DEMO, replace(OTHER, excludes={"demo": "x"})]),
        ],
        [world(addons=[replace(DEMO, excludes={"third": "x"}), OTHER])],
    ),
    "CAT506": (
        [
            channel(edge={**BOTH, "demo": "1.0.0"}, stable=BOTH),
            channel(edge=BOTH, candidate={"other": "1.0.0"}, stable=BOTH),
        ],
        [channel(edge=BOTH, candidate=BOTH, stable={**BOTH, "demo": "1.0.0"}), channel(stable=BOTH)],
    ),
    "CAT507": (
        [
            one(requires=(Requirement("other", "x", range=VersionRange(">=25.05", "calendar")),)),
            compatible(peers=(Peer("other", VersionRange(">=25.05", "calendar"), "r", "s"),)),
        ],
        [one(requires=(Requirement("other", "x", range=VersionRange("", "calendar")),))],
    ),
    "CAT508": (
        [world(addons=[replace(DEMO, reference=True), OTHER])],
        [world(addons=[replace(DEMO, reference=True, targets=("embedded",)), OTHER])],
    ),
    "CAT601": ([world(edges=[edge(to="1.2.0")])], [world()]),
    "CAT602": ([world(edges=[edge("<1.0.0")])], [world(edges=[edge("<1.1.0")])]),
    "CAT603": ([world(edges=[edge(checks=())])], [world(edges=[edge(checks=(), verdict="blocked")])]),
    "CAT604": (
        [world(edges=[edge(reason="")]), world(edges=[edge(verdict="manual")])],
        [world(edges=[edge(verdict="manual", steps=("do",))]), world(edges=[edge(verdict="manual", precondition="a backup")])],
    ),
    "CAT605": (
        [
            world(edges=[edge(), edge("=1.1.0", "1.0.0", verdict="blocked")]),
            world(edges=[edge(reversible=False), edge("=1.1.0", "1.0.0")]),
        ],
        [world(edges=[edge(), edge("=1.1.0", "1.0.0")]), world(edges=[edge(reversible=False)])],
    ),
    "CAT606": ([world(edges=[edge("=1.1.0")])], [world(edges=[edge("<=1.1.0")])]),
    "CAT607": (
        [world(edges=[edge(), edge("<1.1.0", verdict="blocked")])],
        [world([demo(), demo("1.1.0"), demo("1.2.0")], edges=[edge(), edge(to="1.2.0"), edge("=1.1.0", "1.2.0")])],
    ),
    "CAT608": ([world(edges=[edge(references=())])], [world()]),
    "CAT701": ([one(paths={"taints": ("x",), "tolerations": ("t",)})], [one()]),
    "CAT702": (
        [world(others=[other(crds=demo().crds)])],
        [
            world(others=[other(crds=demo().crds)], addons=[replace(DEMO, excludes={"other": "x"}), OTHER]),
            world(others=[other(crds=demo().crds)], addons=[DEMO, replace(OTHER, role="scheduler")]),
        ],
    ),
    "CAT703": ([one(crds=("things",)), one(crds=("Things.demo.invalid",))], [one(crds=("things.demo-x.invalid",))]),
    "CAT704": (
        [block(webhooks=(Webhook("ValidatingWebhookConfiguration/a"),))],
        [
            block(webhooks=(Webhook("ValidatingWebhookConfiguration/a", reason="x"),)),
            world(others=[other(embedded=Embedded(webhooks=(Webhook("ValidatingWebhookConfiguration/a"),)))]),
        ],
    ),
    "CAT705": (
        [
            block(programs=(Program("demo/demo", "Kai:x"),)),
            block(programs=(Program("demo/demo", "no-such-tool"),)),
            block(programs=(Program("demo/demo", "./demo"),)),
        ],
        [block(programs=(Program("demo/a", "kai:binder"), Program("demo/b", "python:a.b"), Program("demo/c", "demo-manager")))],
    ),
    "CAT706": ([hooks(DroppedHook("Job", "x", "r")), hooks(DroppedHook("Pod", "", "r"))], [hooks(DroppedHook("Role", "x", "r"))]),
    "CAT707": (
        [
            hooks(DroppedHook("Job", "x", "r", "somehow")),
            hooks(DroppedHook("Job", "x", "r", "guard:gone")),
            hooks(DroppedHook("Job", "x", "r", "check:none of it")),
            hooks(DroppedHook("Job", "x", "r", "crds"), crds=()),
            hooks(DroppedHook("Job", "x", "r", "delete:all")),
            hooks(DroppedHook("Job", "x", "r", "manifest")),
        ],
        [
            hooks(*(DroppedHook("Job", "x", "r", by) for by in ("crds", "delete", "object", "guard:crds.enabled", "check:T01"))),
            hooks(DroppedHook("Job", "x", "r", "manifest"), DroppedHook("ConfigMap", "x", "r", "manifest")),
        ],
    ),
    "CAT708": ([one(checks=())], [one(), world(others=[other(checks=())])]),
    "CAT709": ([one(embedded=Embedded())], [block(), one(embedded=Embedded(), images=())]),
    "CAT710": (
        [
            block(simulated=("other/demo",)),
            block(programs=(Program("x/demo", "kai:a"),)),
            block(webhooks=(Webhook("ValidatingWebhookConfiguration/a", "demo/none"),)),
        ],
        [block(programs=(Program("demo/scheduler-{pool}", "kai:a"),))],
    ),
    "CAT711": (
        [one(paths={})],
        [one(paths={}, images=()), one(paths={}, source=PackageSource(Path("p")))],
    ),
}  # fmt: skip

#: Fields that no rule looks at.
IGNORED = {"generated": (Generated("Secret", "x", "r"),)}

"""One cluster, from its spec file to the place where it runs: the calls that several verbs make in the same order."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import toolchain
from base.errors import InvalidInput, NotFound, Unavailable
from base.files import lock
from base.kube import Cluster
from base.kube.kinds import NODE, QUEUE
from base.names import did_you_mean
from base.places import REPOSITORY, cache_dir
from catalog.model import Catalogue, ModuleSource
from catalog.obtain.bundled import Bundle
from catalog.obtain.registry import Registry
from catalog.obtain.sources import Charts
from catalog.obtain.store import Store
from catalog.package.fit import check_nodes
from catalog.package.helm_program import HelmProgram
from catalog.package.packager import Packager, Rendered
from catalog.package.render import HelmLibrary, Renderer
from catalog.package.together import check_together
from catalog.plan import Facts, Plan, PlanItem, Program
from catalog.read.load import load as load_catalogue
from catalog.records import load_choice, load_facts, save_choice, save_facts
from catalog.resolve.choice import AUTO, KAI, Choice, Obtainable, choose
from catalog.resolve.fingerprint import seen_on
from catalog.resolve.resolver import check_spec, newest_kubernetes, resolve, wanted_scheduler
from cli.context import App
from cli.options import NO_WISHES, Wishes
from schedulers.tenancy import queues, shards
from spec.load import load as load_spec
from spec.model import ClusterSpec
from validation.targets import embedded
from validation.targets.embedded import Layout, RealProgram, TargetRequest, TargetStatus

if TYPE_CHECKING:
    from catalog.resolve.whynot import Question
    from components.engine import Engine
    from components.program import Declaration

#: Minors for which the toolchain has a control plane, newest last.
KUBERNETES = ("1.36",)
#: The programs that stand behind KAI's workloads.
KAI_PROGRAMS = ("operator", "admission", "scheduler", "binder", "podgrouper", "podgroupcontroller", "queuecontroller")


@dataclass(frozen=True, slots=True)
class Session:
    """A spec, the catalogue, what is known of the cluster, and the plan that follows from these alone."""

    app: App
    spec: ClusterSpec
    catalogue: Catalogue
    facts: Facts
    choice: Choice
    plan: Plan

    def packager(self, *, kept: Path | None = None) -> Packager:
        return packager(self.app, self.catalogue, self.facts.mirror, bundle=self.facts.bundle, kept=kept)

    def item(self, addon: str) -> PlanItem:
        """The plan's item of an add-on; NotFound names what is near."""
        try:
            return self.plan.item(addon)
        except KeyError:
            known = [item.addon for item in self.plan.items]
            raise NotFound(f"{addon} is not in the plan of {self.spec.name}", todo=did_you_mean(addon, known)) from None

    @property
    def offline(self) -> bool:
        """Whether programs, too, are only looked for on this machine."""
        return self.facts.bundle is not None


def packager(
    app: App,
    catalogue: Catalogue,
    mirror: Path | None,
    *,
    bundle: Path | None = None,
    renders: Path | None = None,
    kept: Path | None = None,
) -> Packager:
    """A packager whose Go modules come through the toolchain, and whose registries are those of the user.

    ``bundle``, ``renders`` and ``kept`` as :class:`Packager` takes them.
    """
    return Packager(
        catalogue,
        cache_dir(),
        fetch_module=partial(_fetch_module, app),
        mirror=mirror,
        registry=Registry.of_user(),
        bundle=Bundle(bundle) if bundle else None,
        renderer=renderer(app, offline=bundle is not None),
        renders=renders,
        kept=kept,
    )


def charts(session: Session) -> Charts:
    """The charts of a session as their sources have them, for a bundle."""
    fetch = partial(_fetch_module, session.app)
    store = Store(cache_dir() / "charts")
    return Charts(store, fetch_module=fetch, mirror=session.facts.mirror, registry=Registry.of_user())


def _fetch_module(app: App, source: ModuleSource) -> Path:
    return toolchain.module_zip(source.module, source.version, source.sum, app.reporter, sum_database=source.database)


def renderer(app: App, *, offline: bool = False) -> Renderer:
    """Helm's engine in this process, or the helm program where ``$CHANDLERY_RENDERER`` is ``helm``."""
    wanted = os.environ.get("CHANDLERY_RENDERER", "") or "library"
    if wanted == "library":
        return HelmLibrary()
    if wanted == "helm":
        return HelmProgram(toolchain.obtain("helm", app.reporter, offline=offline))
    raise InvalidInput(f"CHANDLERY_RENDERER is {wanted[:40]!r}", todo="library (the default) or helm")


def open_session(
    app: App, spec_file: Path, wishes: Wishes = NO_WISHES, *, create: bool = False, decide_only: bool = False
) -> Session:
    """Read the spec, look at its cluster and settle which scheduler it has.

    With ``create`` an embedded cluster that is not there (or not whole) is brought up; otherwise it must run, or, with
    ``decide_only``, may be absent: then nothing is written down. Everything that can be wrong with the spec is found before
    anything is started.
    """
    spec, catalogue = load_spec(spec_file), load_catalogue()
    directory = app.state / "clusters" / spec.name
    known = _known(directory)
    wishes = Wishes(
        wishes.scheduler,
        (wishes.kai_binaries.absolute() if wishes.kai_binaries else None) or (known.kai_binaries if known else None),
        (wishes.mirror.absolute() if wishes.mirror else None) or (known.mirror if known else None),
        _bundle(wishes, known),
    )
    choice = _choose(app, spec, catalogue, wishes, load_choice(directory))
    check_spec(spec, catalogue, choice.scheduler)
    minor = spec.target.kubernetes
    if spec.target.kind == "embedded" and not minor:
        minor = newest_kubernetes(spec, catalogue, choice.scheduler, KUBERNETES)
    expected = Facts(
        spec.target.kind, minor, directory / "kubeconfig", "", directory, wishes.kai_binaries, wishes.mirror,
        bundle=wishes.from_bundle,
    )  # fmt: skip
    if spec.target.kind == "embedded":  # what this will be is known before it is there; of any other, only what one sees
        check_bundle(resolve(spec, catalogue, expected, choice), catalogue, expected)
    facts = _look(app, spec, expected, create=create, absent=decide_only)
    plan = resolve(spec, catalogue, facts, choice)
    check_bundle(plan, catalogue, facts)
    if facts.cluster_uid:
        save_facts(directory, facts)
    if facts.cluster_uid and choice.fresh:
        save_choice(directory, choice)
    return Session(app, spec, catalogue, facts, choice, plan)


def recorded_session(app: App, spec_file: Path) -> Session:
    """The session as the last look at the cluster left it, for plain ``pulumi``: no choice is made and nothing is started."""
    spec, catalogue = load_spec(spec_file), load_catalogue()
    directory = app.state / "clusters" / spec.name
    choice = load_choice(directory)
    if choice is None:
        raise NotFound(f"no scheduler was chosen for {spec.name} yet", todo=f"run `chandlery plan -c {spec_file}` once")
    facts = load_facts(directory)
    return Session(app, spec, catalogue, facts, choice, resolve(spec, catalogue, facts, choice))


def asked_about(app: App, spec_file: Path) -> Question:
    """A cluster as `why-not` asks about it: looked at where it can be reached, else as the last look left it.

    Nothing is started, written down or decided, and the spec may have faults of its own.
    """
    from catalog.resolve.resolver import place_of
    from catalog.resolve.whynot import Question

    spec, catalogue = load_spec(spec_file), load_catalogue()
    directory = app.state / "clusters" / spec.name
    known, stored = _known(directory), load_choice(directory)
    minor = spec.target.kubernetes or (known.kubernetes if known else "")
    if spec.target.kind == "embedded" and not minor:
        minor = KUBERNETES[-1]
    expected = Facts(spec.target.kind, minor, directory / "kubeconfig", "", directory, nodes=known.nodes if known else {})
    try:
        facts = _look(app, spec, expected, create=False, absent=True)
    except Unavailable as error:
        told = "what the last look at it found is taken" if known else "only what its spec states is known"
        app.reporter.event("not-looked-at", f"the cluster {spec.name} cannot be asked ({error.message}): {told}")
        facts = expected
    scheduler = stored.scheduler if stored else wanted_scheduler(spec, catalogue)
    return Question(spec, catalogue, place_of(spec, catalogue, facts), "" if scheduler == AUTO else scheduler)


def declaration(session: Session) -> Declaration:
    """Everything that decides what is applied: the plan's add-ons rendered, and the tenancy's queues and shards."""
    from components.program import prepare

    plan, spec = session.plan, session.spec
    with session.app.reporter.step("render charts") as step:
        # Only what goes onto a cluster has its secrets: whoever just looks sees the places for them.
        source = session.packager(kept=session.facts.state_dir / "made-once")
        rendered = {item.addon: source.render(item) for item in plan.items}
        step.note(f"{sum(len(r.objects) + len(r.crds) for r in rendered.values())} objects of {len(rendered)} add-ons")
    preflight(session.facts, rendered)
    # The guards that hold for the chart's own shard hold for the shards of further node pools.
    guarded = plan.item(KAI).values["scheduler"].get("args", {}) if plan.scheduler == KAI else {}
    tenancy = (*shards(spec.node_pools, args=guarded), *queues(spec.tenancy, spec.node_pools))
    issue = partial(embedded.serving_certificate, Layout.of(session.facts.state_dir))
    return prepare(plan, rendered, tenancy, session.facts, issue)


def preflight(facts: Facts, rendered: Mapping[str, Rendered]) -> None:
    """Refused where two add-ons make the same object, or no node of the cluster would take a pod; nothing was touched yet."""
    check_together({addon: [*one.crds, *one.objects] for addon, one in rendered.items()})
    if facts.target != "embedded":  # whose host node takes every pod
        with Cluster(facts.kubeconfig, context=facts.context or None) as cluster:
            nodes, _ = cluster.list(NODE)
        check_nodes({addon: one.objects for addon, one in rendered.items()}, nodes)


def engine(session: Session) -> Engine:
    """The Pulumi engine for the session's stack."""
    from components.engine import Engine
    from components.layout import Tools

    reporter = session.app.reporter
    tools = Tools(
        toolchain.obtain("pulumi", reporter, offline=session.offline),
        toolchain.pins.load().tool("pulumi").version,
        toolchain.pulumi_environment(reporter, home=session.app.state / "pulumi-home", offline=session.offline),
    )
    return Engine(session.spec.name, session.facts, session.spec.source, state=session.app.state, tools=tools, reporter=reporter)


def set_programs(session: Session) -> None:
    """Tell the embedded target's host agent which program stands behind which workload."""
    if session.facts.target != "embedded":
        return
    plan = session.plan
    programs = [_real(session, program) for item in plan.items for program in item.programs]
    simulated = [pattern for item in plan.items for pattern in item.simulated]
    embedded.set_programs(Layout.of(session.facts.state_dir), programs, simulated)


def target_up(app: App, request: TargetRequest, *, offline: bool = False) -> TargetStatus:
    """Bring an embedded cluster up, with the programs that it needs; ``offline``: those that are on this machine."""
    tools = toolchain.obtain_all(embedded.TOOLS, app.reporter, offline=offline)
    return embedded.up(request, tools, app.reporter)


def target_down(app: App, name: str, *, delete: bool) -> list[str]:
    """Stop an embedded cluster; with ``delete`` its stack's records go with it."""
    from components.command import end_leftovers
    from components.layout import Layout as StackLayout
    from components.stackfile import forget

    with lock(StackLayout(app.state, name).lock, f"a run on stack {name}"):
        end_leftovers(StackLayout(app.state, name).engine_record)
        stopped = embedded.down(app.state, name, delete=delete, reporter=app.reporter)
        if delete:
            forget(app.state, name)
    return stopped


def leftover_queues(session: Session, wanted: Iterable[str]) -> tuple[str, ...]:
    """Queues that an earlier spec made and this one no longer names. They stay, and keep their quota, until somebody decides."""
    from components.objects import ADDON_ANNOTATION

    with Cluster(session.facts.kubeconfig, context=session.facts.context or None) as cluster:
        found, _ = cluster.list(QUEUE)
    ours = {str(q["metadata"]["name"]) for q in found if ADDON_ANNOTATION in (q["metadata"].get("annotations") or {})}
    return tuple(sorted(ours - set(wanted)))


def _known(directory: Path) -> Facts | None:
    try:
        return load_facts(directory)
    except NotFound:
        return None


def _bundle(wishes: Wishes, known: Facts | None) -> Path | None:
    """The bundle that is asked for, else the one that the cluster was given before."""
    if wishes.from_bundle and (wishes.online or wishes.mirror):
        other = "--online" if wishes.online else "--mirror"
        raise InvalidInput(f"--from-bundle and {other} contradict each other", todo="with a bundle nothing else is looked at")
    if wishes.online:
        return None
    return (wishes.from_bundle.absolute() if wishes.from_bundle else None) or (known.bundle if known else None)


def check_bundle(plan: Plan, catalogue: Catalogue, facts: Facts) -> None:
    """NotFound where the cluster's bundle lacks a chart or an image of the plan. Without a bundle there is nothing to check."""
    if facts.bundle is None:
        return
    bundle = Bundle(facts.bundle)
    versions = [version for item in plan.items if (version := catalogue.version(item.addon, item.version)) is not None]
    for version in versions:
        bundle.entry(version)
    there = {image.name for image in bundle.contents.images}
    missing = sorted({image.reference for version in versions for image in version.images} - there)
    if missing and not bundle.contents.charts_only:
        raise NotFound(
            f"the bundle lacks images of the plan: {', '.join(missing)}", where=str(facts.bundle), todo="make the bundle anew"
        )


def _choose(app: App, spec: ClusterSpec, catalogue: Catalogue, wishes: Wishes, stored: Choice | None) -> Choice:
    wanted = wanted_scheduler(spec, catalogue)
    decide = partial(choose, wanted=wanted, target=spec.target.kind, stored=stored, flag=wishes.scheduler)
    named = wishes.scheduler or (wanted if spec.target.kind == "embedded" else AUTO)
    if (stored and not wishes.scheduler) or named != AUTO:
        unasked = Obtainable(False, "not asked")
        return decide(chart=unasked, programs=unasked)
    version = catalogue.channels[spec.channel].versions.get(KAI, "") if spec.channel in catalogue.channels else ""
    if not version:
        chart = Obtainable(False, f"channel {spec.channel} has no {KAI}")
    else:
        chart = packager(app, catalogue, wishes.mirror, bundle=wishes.from_bundle).obtainable(KAI, version)
    return decide(chart=chart, programs=kai_programs(wishes.kai_binaries))


def kai_programs(directory: Path | None) -> Obtainable:
    """Whether all seven of KAI's programs are in the directory."""
    if directory is None:
        return Obtainable(False, "--kai-binaries not given")
    missing = [name for name in KAI_PROGRAMS if not os.access(directory / name, os.X_OK)]
    if missing:
        return Obtainable(False, f"{directory} lacks {', '.join(missing)}")
    return Obtainable(True, f"from {directory}")


def _look(app: App, spec: ClusterSpec, expected: Facts, *, create: bool, absent: bool) -> Facts:
    if spec.target.kind == "embedded":
        if create:
            request = TargetRequest(spec.name, app.state, expected.kubernetes, spec.node_pools)
            status = target_up(app, request, offline=expected.bundle is not None)
        else:
            try:
                status = embedded.status(app.state, spec.name)
            except NotFound:
                if absent:
                    return expected
                raise
            if not status.cluster_uid:
                if absent:
                    return expected
                todo = f"start it with `chandlery target up -c {spec.source}`"
                raise NotFound(f"the cluster {spec.name} does not run", todo=todo)
        return replace(
            expected, kubernetes=_minor(status.kubernetes), kubeconfig=status.kubeconfig, cluster_uid=status.cluster_uid
        )
    if spec.target.kubeconfig is None:
        raise InvalidInput(f"the target of {spec.name} names no kubeconfig", where=str(spec.source))
    with Cluster(spec.target.kubeconfig, context=spec.target.context or None) as cluster:
        version, uid = cluster.version(), cluster.uid()
        nodes, _ = cluster.list(NODE)
    return replace(
        expected,
        kubernetes=_minor(version),
        kubeconfig=spec.target.kubeconfig.absolute(),
        cluster_uid=uid,
        context=spec.target.context,
        nodes=seen_on(nodes),
    )


def _minor(version: str) -> str:
    return ".".join(version.removeprefix("v").split(".")[:2])


def _real(session: Session, program: Program) -> RealProgram:
    return RealProgram(program.workload, _command(session, program.tool), program.args, _environment(program))


def _command(session: Session, tool: str) -> tuple[str, ...]:
    """The absolute command of a tool: ``kai:NAME``, ``python:MODULE`` or a name of the toolchain."""
    kind, colon, name = tool.partition(":")
    if colon and kind == "kai":
        directory = session.facts.kai_binaries
        if directory is None:
            raise NotFound(f"KAI's program {name} is needed", todo="say where it is with --kai-binaries DIR")
        return (str(directory / name),)
    if colon and kind == "python":
        return (sys.executable, "-m", name)
    return (str(toolchain.obtain(tool, session.app.reporter, offline=session.offline)),)


def _environment(program: Program) -> dict[str, str]:
    """Modules of ours are found from wherever the program is started."""
    if not program.tool.startswith("python:"):
        return dict(program.env)
    return {"PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1", **program.env}

"""One cluster, from its spec file to the place where it runs: the calls that several verbs make in the same order."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import toolchain
from base.errors import InvalidInput, NotFound
from base.files import lock
from base.kube import Cluster
from base.kube.kinds import QUEUE
from base.places import REPOSITORY, cache_dir
from catalog.model import Catalogue
from catalog.package.packager import Packager
from catalog.plan import Facts, Plan, Program
from catalog.read.load import load as load_catalogue
from catalog.records import load_choice, load_facts, save_choice, save_facts
from catalog.resolve.choice import AUTO, KAI, Choice, Obtainable, choose
from catalog.resolve.resolver import newest_kubernetes, resolve, wanted_scheduler
from cli.context import App
from cli.options import NO_WISHES, Wishes
from schedulers.tenancy import queues, shards
from spec.load import load as load_spec
from spec.model import ClusterSpec
from validation.targets import embedded
from validation.targets.embedded import Layout, RealProgram, TargetRequest, TargetStatus

if TYPE_CHECKING:
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

    def packager(self) -> Packager:
        return packager(self.app, self.catalogue, self.facts.mirror)


def packager(app: App, catalogue: Catalogue, mirror: Path | None, *, renders: Path | None = None) -> Packager:
    """A packager whose Go modules come through the toolchain; ``renders`` as :class:`Packager` takes it."""

    def fetch(module: str, version: str, checksum: str, /) -> Path:
        return toolchain.module_zip(module, version, checksum, app.reporter)

    return Packager(catalogue, cache_dir(), fetch_module=fetch, mirror=mirror, renders=renders)


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
    )
    choice = _choose(app, spec, catalogue, wishes, load_choice(directory))
    minor = spec.target.kubernetes or newest_kubernetes(spec, catalogue, choice.scheduler, KUBERNETES)
    expected = Facts(spec.target.kind, minor, directory / "kubeconfig", "", directory, wishes.kai_binaries, wishes.mirror)
    resolve(spec, catalogue, expected, choice)
    facts = _look(app, spec, expected, create=create, absent=decide_only)
    plan = resolve(spec, catalogue, facts, choice)
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


def declaration(session: Session) -> Declaration:
    """Everything that decides what is applied: the plan's add-ons rendered, and the tenancy's queues and shards."""
    from components.program import prepare

    plan, spec = session.plan, session.spec
    with session.app.reporter.step("render charts") as step:
        source = session.packager()
        rendered = {item.addon: source.render(item) for item in plan.items}
        step.note(f"{sum(len(r.objects) + len(r.crds) for r in rendered.values())} objects of {len(rendered)} add-ons")
    # The guards that hold for the chart's own shard hold for the shards of further node pools.
    guarded = plan.item(KAI).values["scheduler"]["args"] if plan.scheduler == KAI else {}
    tenancy = (*shards(spec.node_pools, args=guarded), *queues(spec.tenancy, spec.node_pools))
    issue = partial(embedded.serving_certificate, Layout.of(session.facts.state_dir))
    return prepare(plan, rendered, tenancy, session.facts, issue)


def engine(session: Session) -> Engine:
    """The Pulumi engine for the session's stack."""
    from components.engine import Engine
    from components.layout import Tools

    reporter = session.app.reporter
    tools = Tools(
        toolchain.obtain("pulumi", reporter),
        toolchain.pins.load().tool("pulumi").version,
        toolchain.pulumi_environment(reporter, home=session.app.state / "pulumi-home"),
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


def target_up(app: App, request: TargetRequest) -> TargetStatus:
    """Bring an embedded cluster up, with the programs that it needs."""
    tools = toolchain.obtain_all(embedded.TOOLS, app.reporter)
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
        chart = packager(app, catalogue, wishes.mirror).obtainable(KAI, version)
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
            status = target_up(app, request)
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
    return replace(
        expected,
        kubernetes=_minor(version),
        kubeconfig=spec.target.kubeconfig.absolute(),
        cluster_uid=uid,
        context=spec.target.context,
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
    return (str(toolchain.obtain(tool, session.app.reporter)),)


def _environment(program: Program) -> dict[str, str]:
    """Modules of ours are found from wherever the program is started."""
    if not program.tool.startswith("python:"):
        return dict(program.env)
    return {"PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1", **program.env}

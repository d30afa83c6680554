"""From a cluster spec to a plan: which add-ons, which version of each, why, and in which order. Pure and deterministic."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from base.errors import Position, Problem, Refused, SpecError
from base.names import did_you_mean
from catalog.model import Addon, AddonVersion, Catalogue, Channel, Fingerprint, describe, minor_number
from catalog.package.request import request_problems
from catalog.package.values import chart_values
from catalog.plan import Facts, Plan, PlanItem, Program, State
from catalog.resolve.choice import AUTO, Choice
from catalog.resolve.findings import Finding
from catalog.resolve.fingerprint import fingerprint
from catalog.resolve.needs import Judgement, Place, judge
from catalog.resolve.selection import Selected, Selection, select
from spec.model import ClusterSpec, Placement
from spec.tenancy import DEFAULT_POOL

__all__ = ["check_spec", "newest_kubernetes", "place_of", "resolve", "wanted_scheduler"]


def resolve(spec: ClusterSpec, catalogue: Catalogue, facts: Facts, choice: Choice) -> Plan:
    """The plan for one cluster.

    SpecError for what cannot be meant: an unknown add-on, version, channel or scheduler, a stray tag, versions that do not
    go together, a configuration that the version does not take, a stated fact that the cluster contradicts. Refused (with
    every reason) for what is meant and may not be: a version that the target, the Kubernetes minor, a fact of the cluster or
    the channel's rules stand against, one that is withdrawn, a value that a guard holds. Both say what would have to change.
    """
    place = place_of(spec, catalogue, facts)
    selection = _selected(spec, catalogue, choice.scheduler, place)
    judgements = {name: judge(one.addon, one.version, place, one.config) for name, one in selection.chosen.items()}
    against = [finding for judgement in judgements.values() for finding in judgement.against]
    if against:
        from catalog.resolve.remedy import remedy

        raise _refusal(spec, place, against, str(remedy(spec, catalogue, place, selection, against)))
    problems = [
        problem for one in selection.chosen.values() for problem in request_problems(one.version, one.request, str(spec.source))
    ]
    if problems:
        raise SpecError(problems)
    pools = tuple(dict.fromkeys((DEFAULT_POOL, *(pool.name for pool in spec.node_pools))))
    items = tuple(_item(one, facts, pools, judgements[name], spec.placement) for name, one in selection.chosen.items())
    return Plan(spec.name, items, choice.scheduler, choice.reason, plan_digest(spec.name, items))


def check_spec(spec: ClusterSpec, catalogue: Catalogue, scheduler: str) -> None:
    """What can be seen to be wrong before anything is known of the cluster: SpecError, or Refused for what the kind of target,
    the channel, or a withdrawal stand against."""
    selection = _selected(spec, catalogue, scheduler, None)
    place = Place(spec.target.kind, Fingerprint(), _channel(spec, catalogue))
    against = [
        finding
        for one in selection.chosen.values()
        for finding in judge(one.addon, one.version, place, one.config).against
        if finding.code in ("target", "unpinned", "withdrawn")
    ]
    if against:
        raise _refusal(spec, place, against)


def place_of(spec: ClusterSpec, catalogue: Catalogue, facts: Facts) -> Place:
    """Where the spec's add-ons are to go. SpecError for an unknown channel, and for stated facts that are not so."""
    stated, embedded = spec.target.kubernetes, facts.target == "embedded"
    if stated and facts.cluster_uid and not embedded and minor_number(stated) != minor_number(facts.kubernetes):
        message = f"the spec states Kubernetes {stated}, the cluster has {facts.kubernetes}"
        raise SpecError([Problem(Position(str(spec.source)), "target.kubernetes", message, "leave it out: the cluster is asked")])
    seen = {} if embedded else facts.nodes
    return Place(facts.target, fingerprint(spec, kubernetes=facts.kubernetes, seen=seen), _channel(spec, catalogue))


def wanted_scheduler(spec: ClusterSpec, catalogue: Catalogue) -> str:
    """The spec's word about its scheduler; an add-on that is one and stands under ``addons`` is as good as naming it."""
    if spec.scheduler == AUTO:
        named = [request.name for request in spec.addons if request.name in catalogue.schedulers()]
        if len(named) == 1:
            return named[0]
    return spec.scheduler


def newest_kubernetes(spec: ClusterSpec, catalogue: Catalogue, scheduler: str, available: Sequence[str]) -> str:
    """The newest of the ``available`` minors that every add-on of the spec declares; Refused when there is none."""
    chosen = _selected(spec, catalogue, scheduler, None).chosen
    ranges = {name: one.version.compatibility.declared for name, one in chosen.items()}
    for minor in sorted(available, key=minor_number, reverse=True):
        if all(declared.admits(minor) for declared in ranges.values()):
            return minor
    listed = ", ".join(f"{name} {declared}" for name, declared in sorted(ranges.items()))
    raise Refused(f"no Kubernetes of {', '.join(available)} suits all add-ons ({listed})", where=str(spec.source))


def plan_digest(cluster: str, items: Sequence[PlanItem]) -> str:
    """SHA-256 over what decides what reaches the cluster; reasons, titles and notes do not."""
    told = [asdict(replace(item, reason="", title="", guards=(), checks=(), notes=(), given={})) for item in items]
    text = json.dumps([cluster, told], sort_keys=True, default=str, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _channel(spec: ClusterSpec, catalogue: Catalogue) -> Channel:
    channel = catalogue.channels.get(spec.channel)
    if channel is None:
        todo = did_you_mean(spec.channel, catalogue.channels)
        raise SpecError([Problem(Position(str(spec.source)), "channel", f"unknown channel {spec.channel!r}", todo)])
    return channel


def _selected(spec: ClusterSpec, catalogue: Catalogue, scheduler: str, place: Place | None) -> Selection:
    """The selection, or SpecError with all that is wrong with it; with a place also what would have to change."""
    selection = select(spec, catalogue, _channel(spec, catalogue), scheduler)
    if not selection.findings:
        return selection
    between = [finding for finding in selection.findings if finding.code in ("requires", "peer")]
    advice = ""
    if place and between and len(between) == len(selection.findings):
        from catalog.resolve.remedy import remedy

        advice = str(remedy(spec, catalogue, place, selection, between))
    raise SpecError(_problem(spec, finding, advice) for finding in selection.findings)


def _problem(spec: ClusterSpec, finding: Finding, advice: str) -> Problem:
    place = Position(str(spec.source), finding.line, 1 if finding.line else 0)
    text = f"{finding.addon!r} {finding.text}" if finding.field == "scheduler" else finding.sentence
    return Problem(place, finding.field, text, finding.todo or advice)


def _refusal(spec: ClusterSpec, place: Place, against: Sequence[Finding], advice: str = "") -> Refused:
    """``advice`` is what other versions would do; without one each reason says what would help it."""
    listed = "\n".join(f"  - {finding}" for finding in against)
    ways = [finding.todo for finding in against if finding.todo and not (advice and finding.code == "target")]
    todo = "; or: ".join(dict.fromkeys([*([advice] if advice else []), *ways]))
    where = f"target {place.target}" + (f" with Kubernetes {place.kubernetes}" if place.kubernetes else "")
    return Refused(f"this plan may not go onto {where}:\n{listed}", where=str(spec.source), todo=todo)


def _item(selected: Selected, facts: Facts, pools: Sequence[str], judgement: Judgement, placement: Placement) -> PlanItem:
    addon, version, request = selected.addon, selected.version, selected.request
    embedded = facts.target == "embedded"
    state, state_reason = _state(addon, version, facts)
    chart = chart_values(addon, version, target=facts.target, given=request.values, config=request.config)
    runs = embedded and state != "simulated"
    webhooks = version.embedded.webhooks if embedded else ()
    if state == "simulated":
        webhooks = tuple(replace(w, workload="", reason=w.reason or state_reason) for w in webhooks)
    return PlanItem(
        addon=addon.name,
        version=version.version,
        namespace=addon.namespace,
        state=state,
        values=chart.values,
        reason=f"{selected.reason}; {state_reason}" if state_reason else selected.reason,
        programs=tuple(_per_pool(version.embedded.programs, pools)) if runs else (),
        guards=chart.guards,
        requires=tuple(requirement.addon for requirement in version.requires),
        title=addon.title,
        simulated=version.embedded.simulated if state == "simulated" else (),
        webhooks=webhooks,
        chart=describe(version.source),
        chart_pin=version.chart_pin,
        image_pin=version.image_pin,
        checks=version.checks,
        role=addon.role,
        crds=version.crds,
        given=request.values,
        placement=Placement() if embedded else placement,  # that target has nodes of its own, and runs add-ons beside them
        notes=tuple(finding.sentence for finding in judgement.notes),
    )


def _per_pool(programs: Sequence[Program], pools: Sequence[str]) -> Iterator[Program]:
    for program in programs:
        for workload in dict.fromkeys(program.workload.replace("{pool}", pool) for pool in pools):
            yield replace(program, workload=workload)


def _state(addon: Addon, version: AddonVersion, facts: Facts) -> tuple[State, str]:
    """Real wherever pods really run; on the embedded target only with programs that can be had."""
    if addon.reference:
        return "reference", "Chandlery's own engine, never evidence about KAI"
    if facts.target != "embedded":
        return "real", ""
    programs = version.embedded.programs
    if version.embedded.simulated and not programs:
        return "simulated", "simulated: its programs cannot be had on the embedded target"
    if facts.kai_binaries is None and any(program.tool.startswith("kai:") for program in programs):
        return "simulated", "simulated: its programs were not given (--kai-binaries)"
    return "real", ""

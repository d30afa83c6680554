"""From a cluster spec to a plan: which add-ons, which version of each, why, and in which order. Pure and deterministic."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from base.errors import Position, Problem, Refused, SpecError
from base.names import did_you_mean
from catalog.model import Addon, AddonVersion, Catalogue, Channel, describe, minor_number
from catalog.package.values import chart_values
from catalog.plan import Facts, Plan, PlanItem, Program, State
from catalog.resolve.choice import AUTO, Choice
from catalog.resolve.gates import check_gates
from spec.model import AddonRequest, ClusterSpec
from spec.tenancy import DEFAULT_POOL

__all__ = ["newest_kubernetes", "resolve", "selection", "wanted_scheduler"]


@dataclass(frozen=True, slots=True)
class Selected:
    """One add-on version that the plan will hold, and how it came there."""

    addon: Addon
    version: AddonVersion
    reason: str
    values: Mapping[str, Any]


def resolve(spec: ClusterSpec, catalogue: Catalogue, facts: Facts, choice: Choice) -> Plan:
    """The plan for one cluster.

    SpecError for what cannot be meant: an unknown add-on, version, channel or scheduler, two add-ons that exclude each
    other. Refused (with every reason) for what is meant and may not be: a target or Kubernetes minor that a version is not
    for, an unpinned version on a channel that takes none, a value that a guard holds.
    """
    chosen = selection(spec, catalogue, choice.scheduler)
    channel = catalogue.channels[spec.channel]
    check_gates([(s.addon, s.version) for s in chosen], target=facts.target, kubernetes=facts.kubernetes, channel=channel)
    pools = tuple(dict.fromkeys((DEFAULT_POOL, *(pool.name for pool in spec.node_pools))))
    items = tuple(_item(selected, facts, pools) for selected in chosen)
    return Plan(spec.name, items, choice.scheduler, choice.reason, plan_digest(spec.name, items))


def selection(spec: ClusterSpec, catalogue: Catalogue, scheduler: str) -> tuple[Selected, ...]:
    """Add-on versions in order of installation: what the spec names, its scheduler, and what these require."""
    problems: list[Problem] = []
    channel = catalogue.channels.get(spec.channel)
    if channel is None:
        message = f"unknown channel {spec.channel!r}"
        raise SpecError([_problem(spec, 0, "channel", message, did_you_mean(spec.channel, catalogue.channels))])
    requests = {request.name: request for request in spec.addons}
    if scheduler not in catalogue.schedulers():
        todo = did_you_mean(scheduler, (*catalogue.schedulers(), AUTO))
        problems.append(_problem(spec, 0, "scheduler", f"{scheduler!r} schedules no GPU work", todo))
    else:
        requests.setdefault(scheduler, AddonRequest(scheduler))
    chosen: dict[str, Selected] = {}
    for name in sorted(requests):
        request = requests[name]
        reason = _origin(spec, name, scheduler)
        _select(spec, catalogue, channel, request, reason, chosen, problems)
    _check_exclusions(spec, chosen, problems)
    if problems:
        raise SpecError(problems)
    return _ordered(chosen)


def wanted_scheduler(spec: ClusterSpec, catalogue: Catalogue) -> str:
    """The spec's word about its scheduler; an add-on that is one and stands under ``addons`` is as good as naming it."""
    if spec.scheduler == AUTO:
        named = [request.name for request in spec.addons if request.name in catalogue.schedulers()]
        if len(named) == 1:
            return named[0]
    return spec.scheduler


def newest_kubernetes(spec: ClusterSpec, catalogue: Catalogue, scheduler: str, available: Sequence[str]) -> str:
    """The newest of the ``available`` minors that every add-on of the spec declares; Refused when there is none."""
    ranges = {s.addon.name: s.version.compatibility.declared for s in selection(spec, catalogue, scheduler)}
    for minor in sorted(available, key=minor_number, reverse=True):
        if all(declared.admits(minor) for declared in ranges.values()):
            return minor
    listed = ", ".join(f"{name} {declared}" for name, declared in sorted(ranges.items()))
    raise Refused(f"no Kubernetes of {', '.join(available)} suits all add-ons ({listed})", where=str(spec.source))


def plan_digest(cluster: str, items: Sequence[PlanItem]) -> str:
    """SHA-256 over what decides what reaches the cluster; reasons and titles do not."""
    told = [asdict(replace(item, reason="", title="", guards=(), checks=())) for item in items]
    text = json.dumps([cluster, told], sort_keys=True, default=str, separators=(",", ":"))
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _select(
    spec: ClusterSpec,
    catalogue: Catalogue,
    channel: Channel,
    request: AddonRequest,
    reason: str,
    chosen: dict[str, Selected],
    problems: list[Problem],
    how: str = "",
) -> None:
    """Put one add-on and what it requires into ``chosen``; an add-on that the spec names keeps the spec's version."""
    name = request.name
    if name in chosen:
        return
    if name not in catalogue.addons:
        problems.append(
            _problem(spec, request.line, f"addons.{name}", f"unknown add-on {name!r}", did_you_mean(name, catalogue.addons))
        )
        return
    addon = catalogue.addons[name]
    wanted = request.version.removeprefix("v") or channel.versions.get(name, "")
    known = [version.version for version in catalogue.versions[name]]
    if not wanted:
        elsewhere = sorted(other.name for other in catalogue.channels.values() if name in other.versions)
        where = f"channel {' and '.join(elsewhere)} has one" if elsewhere else f"there are {', '.join(known)}"
        message = f"channel {channel.name} has no version of {name}"
        problems.append(_problem(spec, request.line, f"addons.{name}", message, f"{where}; or name a version"))
        return
    version = catalogue.version(name, wanted)
    if version is None:
        message = f"version {request.version} of {name} is not in the catalogue"
        problems.append(_problem(spec, request.line, f"addons.{name}.version", message, f"there are {', '.join(known)}"))
        return
    chosen[name] = Selected(addon, version, f"{reason}; {how or _how(request, channel)}", request.values)
    named = {other.name: other for other in spec.addons}
    for requirement in version.requires:
        fixed = version.version if requirement.same_version else ""
        other = named.get(requirement.addon, AddonRequest(requirement.addon, line=request.line))
        if fixed and other.version.removeprefix("v") not in ("", fixed):
            message = f"{name} {version.version} needs {requirement.addon} {fixed}, the spec names {other.version}"
            problems.append(_problem(spec, other.line, f"addons.{other.name}.version", message, requirement.reason))
            continue
        because = f"required by {name}: {requirement.reason}"
        same = f"same version as {name}" if fixed and not other.version else ""
        _select(spec, catalogue, channel, replace(other, version=fixed or other.version), because, chosen, problems, same)


def _how(request: AddonRequest, channel: Channel) -> str:
    return "named in the spec" if request.version else f"version of channel {channel.name}"


def _origin(spec: ClusterSpec, name: str, scheduler: str) -> str:
    if any(request.name == name for request in spec.addons):
        return "asked for by the spec"
    return "scheduler of the cluster" if name == scheduler else "added"


def _check_exclusions(spec: ClusterSpec, chosen: Mapping[str, Selected], problems: list[Problem]) -> None:
    lines = {request.name: request.line for request in spec.addons}
    seen: set[frozenset[str]] = set()
    for name, selected in sorted(chosen.items()):
        for other, why in selected.addon.excludes.items():
            pair = frozenset((name, other))
            if other in chosen and pair not in seen:
                seen.add(pair)
                message = f"{name} and {other} exclude each other: {why}"
                todo = "keep one; the scheduler of a cluster is named by `scheduler`"
                line = max(lines.get(name, 0), lines.get(other, 0))
                problems.append(_problem(spec, line, f"addons.{name}", message, todo))


def _ordered(chosen: Mapping[str, Selected]) -> tuple[Selected, ...]:
    """What is required comes first; among the rest by name. Requirements have no cycles: each is entered once."""
    order: dict[str, Selected] = {}

    def enter(name: str, on_way: frozenset[str]) -> None:
        if name in order or name in on_way or name not in chosen:
            return
        for requirement in chosen[name].version.requires:
            enter(requirement.addon, on_way | {name})
        order[name] = chosen[name]

    for name in sorted(chosen):
        enter(name, frozenset())
    return tuple(order.values())


def _item(selected: Selected, facts: Facts, pools: Sequence[str]) -> PlanItem:
    addon, version = selected.addon, selected.version
    embedded = facts.target == "embedded"
    state, state_reason = _state(addon, version, facts)
    chart = chart_values(addon, version, target=facts.target, given=selected.values)
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


def _problem(spec: ClusterSpec, line: int, field: str, message: str, todo: str) -> Problem:
    return Problem(Position(str(spec.source), line, 1 if line else 0), field, message, todo)

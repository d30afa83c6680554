"""Rules about the package: paths, CRDs, hooks, and how an add-on stands on the embedded target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from catalog.lint.compatibility import CHECK_ID
from catalog.lint.world import Check, Found, Place, World, at
from catalog.model import AddonVersion, DroppedHook, PackageSource
from catalog.read.format import PATHS

__all__ = ["CHECKS"]

_CRD = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+\Z")
_TOOL = re.compile(r"kai:[a-z]+|python:[A-Za-z_][\w.]*|[a-z0-9][a-z0-9.-]*\Z")
#: Hooks that do the work; the others are what these need (an identity, a script).
_WORKERS = ("Job", "Pod", "CronJob", "Deployment")


def _paths(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for kind in version.paths:
            if kind not in PATHS:
                yield Found(at(version, "paths", kind), f"{kind!r} is not one of {', '.join(PATHS)}")


def _crd_owners(world: World) -> Iterator[Found]:
    addons = world.catalogue.addons
    owners: dict[str, dict[str, AddonVersion]] = {}
    for _, version in world.versions():
        for crd in version.crds:
            owners.setdefault(crd, {}).setdefault(version.addon, version)
    for crd, by in sorted(owners.items()):
        names = sorted(by)
        for index, name in enumerate(names):
            for other in names[index + 1 :]:
                apart = other in addons[name].excludes or name in addons[other].excludes
                both = addons[name].role == addons[other].role == "scheduler"
                if not apart and not both:
                    yield Found(at(by[other], "crds"), f"{crd} is owned by {name} and {other}")


def _crd_names(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, crd in enumerate(version.crds):
            if not _CRD.match(crd):
                yield Found(at(version, "crds", index), f"{crd!r} is no plural.group")


def _webhooks(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        for index, webhook in enumerate(version.embedded.webhooks if "embedded" in addon.targets else ()):
            if not webhook.workload and not webhook.reason:
                yield Found(at(version, "embedded", "webhooks", index), f"{webhook.configuration} of {addon.name}")


def _tools(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, program in enumerate(version.embedded.programs):
            named = _TOOL.fullmatch(program.tool)
            if not named or (":" not in program.tool and world.tools and program.tool not in world.tools):
                yield Found(at(version, "embedded", "programs", index, "tool"), f"{program.tool!r} of {program.workload}")


def _undone(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, hook in enumerate(version.hooks):
            if hook.kind in _WORKERS and not hook.done_by:
                name = f"{hook.kind} {hook.name}".strip()
                yield Found(at(version, "hooks", index), f"{name} of {version.addon} {version.version}: say `doneBy`")


def _done_by(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        for index, hook in enumerate(version.hooks):
            if hook.done_by and (wrong := _wrong(version, hook)):
                yield Found(at(version, "hooks", index, "doneBy"), f"{hook.kind} {hook.name} of {version.addon}: {wrong}")


def _wrong(version: AddonVersion, hook: DroppedHook) -> str:
    kind, _, rest = hook.done_by.partition(":")
    match kind:
        case "crds" if not rest:
            return "" if version.crds or any("crds" in need.addon for need in version.requires) else "it owns no CRDs"
        case "delete" | "object" | "nobody" if not rest:
            return ""
        case "manifest" if not rest:
            holds = any(other.kind == "ConfigMap" and other.done_by == "manifest" for other in version.hooks)
            return "" if holds else "no ConfigMap among its hooks holds a manifest"
        case "guard":
            return "" if any(guard.path == rest for guard in version.guards) else f"{rest} is no guard of it"
        case "check":
            return "" if CHECK_ID.match(rest) else f"{rest!r} is no id of a check"
    return f"{hook.done_by!r} is none of crds, delete, object, manifest, nobody, guard:PATH, check:ID"


def _no_checks(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        if addon.role == "scheduler" and not version.checks:
            yield Found(at(version, "checks"), f"nothing shows that {addon.name} {version.version} schedules")


def _no_block(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        runs = any(not image.operand for image in version.images)
        if "embedded" in addon.targets and runs and not (version.embedded.programs or version.embedded.simulated):
            yield Found(at(version, "embedded"), f"{addon.name} {version.version} has neither programs nor simulated workloads")


def _workloads(world: World) -> Iterator[Found]:
    for addon, version in world.versions():
        block = version.embedded
        programs = {program.workload for program in block.programs}
        named = [*((("embedded", "programs", i), p.workload) for i, p in enumerate(block.programs))]
        named += [(("embedded", "simulated", i), workload) for i, workload in enumerate(block.simulated)]
        for path, workload in named:
            if not workload.startswith(f"{addon.namespace}/"):
                yield Found(at(version, *path), f"{workload} is not in {addon.namespace}")
        for index, webhook in enumerate(block.webhooks):
            if webhook.workload and webhook.workload not in programs:
                place = at(version, "embedded", "webhooks", index, "workload")
                yield Found(place, f"{webhook.configuration} is served by {webhook.workload}, which has no program")


def _no_tolerations(world: World) -> Iterator[Found]:
    for _, version in world.versions():
        if version.images and not isinstance(version.source, PackageSource) and not version.paths.get("tolerations"):
            place = Place("version", version.addon, version.version, ("paths",))
            yield Found(place, f"{version.addon} {version.version} has no path for tolerations")


CHECKS: Mapping[str, Check] = {
    "CAT701": _paths,
    "CAT702": _crd_owners,
    "CAT703": _crd_names,
    "CAT704": _webhooks,
    "CAT705": _tools,
    "CAT706": _undone,
    "CAT707": _done_by,
    "CAT708": _no_checks,
    "CAT709": _no_block,
    "CAT710": _workloads,
    "CAT711": _no_tolerations,
}

"""What changes for a customer between two versions of an add-on. Pure, over the catalogue's entries and what both render."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.crds.changes import Change
from catalog.crds.diff import compare
from catalog.model import AddonVersion, Catalogue, Edge, KnownIssue
from catalog.package.objects import identity, label
from catalog.package.packager import Rendered
from catalog.supply.leaves import HIDDEN, Difference, compare_trees
from catalog.supply.rights import Right, new_rights, rights_of, summed

__all__ = ["ObjectChange", "Side", "VersionChanges", "between", "edge_between"]

Object = Mapping[str, Any]

#: What says the version and nothing else, in every object of a chart.
_NOISE = ("helm.sh/chart", "app.kubernetes.io/version", "chart")
#: Fields that the API server does not let change, by kind.
_FIXED: Mapping[str, tuple[str, ...]] = {
    "ClusterRoleBinding": ("roleRef",),
    "DaemonSet": ("spec.selector",),
    "Deployment": ("spec.selector",),
    "Job": ("spec.selector", "spec.template", "spec.completions"),
    "PersistentVolumeClaim": ("spec.accessModes", "spec.storageClassName"),
    "PriorityClass": ("value", "preemptionPolicy"),
    "RoleBinding": ("roleRef",),
    "RuntimeClass": ("handler",),
    "StatefulSet": ("spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"),
}
#: Told by what they allow, in ``rights_*``.
_RBAC = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


@dataclass(frozen=True, slots=True)
class Side:
    """One version with what it renders. ``defaults`` are the chart's own values, ``values`` what the package makes of them."""

    version: AddonVersion
    rendered: Rendered
    defaults: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectChange:
    """``label`` as in ``Deployment kai-scheduler/kai-operator``; ``differences`` are empty for one that came or went.

    ``replaced`` is True where a field changed that the API server does not let change: the object has to be made anew.
    """

    label: str
    how: str
    differences: tuple[Difference, ...] = ()
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """Every part is empty where nothing changed. ``guards``, ``issues`` and ``compatibility`` differ by whole sentences."""

    addon: str
    origin: str
    to: str
    defaults: tuple[Difference, ...]
    package_values: tuple[Difference, ...]
    config: tuple[Difference, ...]
    images: tuple[Difference, ...]
    crds: tuple[Change, ...]
    rights_added: tuple[Right, ...]
    rights_removed: tuple[Right, ...]
    objects: tuple[ObjectChange, ...]
    guards: tuple[Difference, ...]
    issues: tuple[Difference, ...]
    compatibility: tuple[Difference, ...]
    edge: Edge | None


def between(old: Side, new: Side, catalogue: Catalogue) -> VersionChanges:
    """All changes from one version of an add-on to another."""
    was, now = old.version, new.version
    had, has = rights_of(old.rendered.objects), rights_of(new.rendered.objects)
    return VersionChanges(
        addon=was.addon,
        origin=was.version,
        to=now.version,
        defaults=tuple(compare_trees(old.defaults, new.defaults)),
        package_values=tuple(compare_trees(old.values, new.values)),
        config=tuple(compare_trees(_options(was.config_schema), _options(now.config_schema))),
        images=tuple(compare_trees(_images(was), _images(now))),
        crds=compare(old.rendered.crds, new.rendered.crds),
        rights_added=summed(new_rights(had, has)),
        rights_removed=summed(new_rights(has, had)),
        objects=tuple(_objects(old.rendered.objects, new.rendered.objects)),
        guards=tuple(compare_trees(_guards(was), _guards(now))),
        issues=tuple(compare_trees(*_issues(was, now))),
        compatibility=tuple(compare_trees(_needs(was), _needs(now))),
        edge=edge_between(catalogue, was.addon, was.version, now.version),
    )


def edge_between(catalogue: Catalogue, addon: str, origin: str, to: str) -> Edge | None:
    """What is known about the move; None is unknown, which is not safe."""
    for edge in catalogue.edges.get(addon, ()):
        if edge.to == to and edge.origin.admits(origin):
            return edge
    return None


def _images(version: AddonVersion) -> dict[str, str]:
    """By name without its tag: a new tag is a changed image. Two tags of one name are told apart by them."""
    names = [f"{image.registry}/{image.repository}" for image in version.images]
    found = {}
    for name, image in zip(names, version.images, strict=True):
        key = name if names.count(name) == 1 else image.reference
        found[key] = f"{image.tag} ({image.digest or 'unpinned'})"
    # compare_trees joins keys with dots, and these have dots of their own; one level deep that is no matter.
    return found


def _options(schema: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """A configuration schema as dotted option to what it takes."""
    found: dict[str, Any] = {}
    for name, option in (schema.get("properties") or {}).items():
        place = f"{path}.{name}" if path else name
        if option.get("properties"):
            found.update(_options(option, place))
            continue
        told = {key: option[key] for key in sorted(option) if key not in ("description", "title", "examples")}
        found[place] = ", ".join(f"{key} {value}" for key, value in told.items())
    return found


def _guards(version: AddonVersion) -> dict[str, str]:
    return {guard.path: guard.why + (f" (costs: {guard.cost})" if guard.cost else "") for guard in version.guards}


def _issues(was: AddonVersion, now: AddonVersion) -> tuple[dict[str, str], dict[str, str]]:
    """Issues of both by id. One that both have has the same words, for rewording is no change; a guard that comes or goes is."""
    titles = {issue.id: issue.title for issue in (*was.issues, *now.issues)}
    one, other = ({issue.id: f"{titles[issue.id]}; {_guarded(issue)}" for issue in v.issues} for v in (was, now))
    return one, other


def _guarded(issue: KnownIssue) -> str:
    return f"guarded by {issue.guard}" if issue.guard else "not guarded"


def _needs(version: AddonVersion) -> dict[str, str]:
    needs = version.compatibility
    found = {"kubernetes": f"{needs.declared} ({needs.declared.source})"}
    for constraint in needs.constraints:
        when = f" when {constraint.when}" if constraint.when else ""
        found[f"{constraint.fact}{when}"] = f"{constraint.range or ' or '.join(constraint.words)}: {constraint.reason}"
    for peer in needs.peers:
        found[f"beside {peer.addon}"] = f"{peer.range}: {peer.reason}"
    for requirement in version.requires:
        wanted = "same version" if requirement.same_version else str(requirement.range)
        found[f"requires {requirement.addon}"] = f"{wanted}: {requirement.reason}"
    if needs.tested:
        found["tested"] = ", ".join(f"{tested.on} ({tested.record})" for tested in needs.tested)
    return found


def _objects(old: Sequence[Object], new: Sequence[Object]) -> Iterator[ObjectChange]:
    was, now = ({identity(obj): obj for obj in side} for side in (old, new))
    for key in sorted(was.keys() | now.keys()):
        if key not in now:
            yield ObjectChange(label(was[key]), "removed")
        elif key not in was:
            yield ObjectChange(label(now[key]), "added")
        else:
            found = tuple(_differences(was[key], now[key]))
            if found:
                fixed = _FIXED.get(str(now[key]["kind"]), ())
                yield ObjectChange(label(now[key]), "changed", found, any(_below(one.path, fixed) for one in found))


def _below(path: str, places: Sequence[str]) -> bool:
    return any(path == place or path.startswith((f"{place}.", f"{place}[")) for place in places)


def _says_version(path: str) -> bool:
    """Whether it is a label or an annotation (not a selector) that says the version and nothing else."""
    for part in ("labels.", "annotations."):
        head, found, key = path.partition(part)
        if found and (key in _NOISE or key.startswith("checksum/")):
            return head == "" or head.endswith(".")
    return False


def _differences(old: Object, new: Object) -> Iterator[Difference]:
    for found in compare_trees(old, new):
        if _says_version(found.path) or (old["kind"] in _RBAC and _below(found.path, ("rules", "subjects"))):
            continue
        secret = old["kind"] == "Secret" and _below(found.path, ("data", "stringData"))
        yield Difference(found.path, found.how, HIDDEN, HIDDEN) if secret else found

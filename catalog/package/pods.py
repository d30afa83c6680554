"""Pod templates within objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.package.objects import CRD_KIND, built_in, label

__all__ = ["PodTemplate", "keyed", "pod_templates"]

#: Where a kind has its pod's spec.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """The pods of one object. ``owner`` is its label, ``namespace`` its own; ``idle`` says that it asks for no pod now."""

    owner: str
    kind: str
    namespace: str
    spec: Mapping[str, Any]
    idle: bool = False


def pod_templates(objects: Iterable[Mapping[str, Any]]) -> Iterator[PodTemplate]:
    """Every pod template, those in custom resources included: there it is a mapping with a list of ``containers``."""
    for obj in objects:
        if obj["kind"] == CRD_KIND:
            continue
        if built_in(obj):
            place = _PLACES.get(obj["kind"])
            found = [_at(obj, place)] if place else []
        else:
            found = list(_within(obj.get("spec")))
        spec = obj.get("spec")
        idle = isinstance(spec, Mapping) and (spec.get("replicas") == 0 or spec.get("suspend") is True)
        for one in found:
            if isinstance(one, Mapping):
                yield PodTemplate(label(obj), obj["kind"], str(obj["metadata"].get("namespace", "")), one, idle)


def keyed(node: Any, key: str) -> Iterator[Any]:
    """Every value that stands under ``key``, or a word that ends in it (``additionalImagePullSecrets``), at any depth."""
    if isinstance(node, Mapping):
        for name, value in node.items():
            if name.lower().endswith(key.lower()):
                yield value
            yield from keyed(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from keyed(value, key)


def _at(obj: Mapping[str, Any], place: tuple[str, ...]) -> Any:
    node: Any = obj
    for step in place:
        node = node.get(step) if isinstance(node, Mapping) else None
    return node


def _within(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, Mapping):
        containers = node.get("containers")
        if isinstance(containers, list) and any(isinstance(one, Mapping) and "image" in one for one in containers):
            yield node
            return
        for value in node.values():
            yield from _within(value)
    elif isinstance(node, list):
        for value in node:
            yield from _within(value)

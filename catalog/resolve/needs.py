"""One version against the cluster below it and the channel that it came from. Pure; every reason is told, not only the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.model import Addon, AddonVersion, Channel, Constraint, Fingerprint, number_range
from catalog.package.config import filled
from catalog.package.values import ABSENT, at
from catalog.resolve.findings import Finding

__all__ = ["NOT_APPLICABLE", "Judgement", "Place", "judge", "wanted"]

#: Facts that say nothing about a target, and why: what is simulated there has no driver.
_GPU = ("driver", "cuda", "gpu", "mig")
_NODE = ("kernel", "containerd", "nri", "cgroup", "architecture", "os")
NOT_APPLICABLE: Mapping[str, Mapping[str, str]] = {
    "embedded": {
        **dict.fromkeys(_GPU, "the GPUs of the embedded target are simulated"),
        **dict.fromkeys(_NODE, "no kubelet runs images on the embedded target"),
    },
    "kind": dict.fromkeys(_GPU, "the GPUs of a kind target are simulated"),
    "cluster": {},
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where versions are to go: the target, what is known of the cluster, and the channel with its rules."""

    target: str
    fingerprint: Fingerprint
    channel: Channel

    @property
    def kubernetes(self) -> str:
        """The minor (with or without a patch level), empty where nobody has looked yet."""
        return next(iter(self.fingerprint.facts.get("kubernetes", ())), "")

    @property
    def takes_nothing_on_trust(self) -> bool:
        """A channel that takes only what is known by digest takes, on a real cluster, only what could be checked, too."""
        return self.target == "cluster" and not self.channel.allows_unpinned


@dataclass(frozen=True, slots=True)
class Judgement:
    """``against``: each of these keeps the version away. ``notes``: what was not checked, or does not apply, and why."""

    against: tuple[Finding, ...]
    notes: tuple[Finding, ...]


def judge(addon: Addon, version: AddonVersion, place: Place, config: Mapping[str, Any]) -> Judgement:
    """``config`` is the typed configuration that the spec gives; what it leaves out has the default of the version's schema."""
    against = [*_version_reasons(addon, version), *_cluster_reasons(addon, version, place)]
    notes: list[Finding] = []
    if not place.kubernetes:
        text = f"not checked: kubernetes (unknown), declared for {version.compatibility.declared}"
        notes.append(Finding("not-checked", addon.name, version.version, text, version.compatibility.declared.source))
    configured = filled(version.config_schema, config)
    for constraint in version.compatibility.constraints:
        if constraint.when and at(configured, constraint.when.split(".")) in (ABSENT, None, False, "", 0):
            continue
        finding = _checked(addon, version, constraint, place)
        if finding is not None:
            (against if finding.code in ("constraint", "unchecked") else notes).append(finding)
    against += _channel_reasons(addon, version, place.channel)
    return Judgement(tuple(against), tuple(notes))


def wanted(constraint: Constraint) -> str:
    """``driver >=580``, ``os ubuntu or rhel``."""
    return f"{constraint.fact} {constraint.range or ' or '.join(constraint.words)}"


def _version_reasons(addon: Addon, version: AddonVersion) -> Iterator[Finding]:
    if version.withdrawn:
        yield Finding("withdrawn", addon.name, version.version, f"withdrawn: {version.withdrawn}", todo="take another version")


def _cluster_reasons(addon: Addon, version: AddonVersion, place: Place) -> Iterator[Finding]:
    if place.target not in addon.targets:
        text = f"may be installed on {' or '.join(addon.targets)} only, this is {place.target}"
        yield Finding("target", addon.name, version.version, text, todo=f"leave it out on target {place.target}")
    declared = version.compatibility.declared
    if place.kubernetes and not declared.admits(place.kubernetes):
        text = f"declared for Kubernetes {declared}, this cluster has {place.kubernetes}"
        todo = f"a cluster of Kubernetes {declared}"
        yield Finding("kubernetes", addon.name, version.version, text, declared.source, todo)


def _channel_reasons(addon: Addon, version: AddonVersion, channel: Channel) -> Iterator[Finding]:
    if channel.allows_unpinned:
        return
    rule = f"channel {channel.name} takes only versions known by digest"
    todo = f"`chandlery catalog pin {addon.name} {version.version}`, or a channel that takes unpinned versions"
    if version.chart_pin == "unpinned":
        yield Finding("unpinned", addon.name, version.version, f"its chart is unpinned, and {rule}", todo=todo)
    unpinned = [image.reference for image in version.images if not image.digest]
    if unpinned:
        more = f" and {len(unpinned) - 1} more" if len(unpinned) > 1 else ""
        text = f"image {unpinned[0]}{more} unpinned, and {rule}"
        yield Finding("unpinned", addon.name, version.version, text, todo=todo)


def _checked(addon: Addon, version: AddonVersion, constraint: Constraint, place: Place) -> Finding | None:
    """None where the constraint holds."""
    fact, needs = constraint.fact, wanted(constraint)
    absent = NOT_APPLICABLE.get(place.target, {}).get(fact)
    if absent:
        text = f"not applicable: {needs} ({absent})"
        return Finding("not-applicable", addon.name, version.version, text, constraint.source)
    values = place.fingerprint.facts.get(fact, ())
    answers = {value: _admits(constraint, value) for value in values}
    wrong = [value for value, answer in answers.items() if answer is False]
    if wrong:
        origin = {"api": "says its API", "nodes": "say its nodes", "spec": "says its spec"}[place.fingerprint.sources[fact]]
        text = f"needs {needs}, this cluster has {', '.join(wrong)} ({origin}): {constraint.reason}"
        return Finding("constraint", addon.name, version.version, text, constraint.source, f"{needs} on every node that it uses")
    vague = [value for value, answer in answers.items() if answer is None]
    if values and not vague:
        return None
    state = f"{', '.join(vague)} does not say enough" if vague else "unknown"
    todo = f"state `facts: {{{fact}: ...}}` in the spec"
    if place.takes_nothing_on_trust:
        text = f"needs {needs}, which could not be checked ({state}), and channel {place.channel.name} takes nothing on trust"
        return Finding("unchecked", addon.name, version.version, text, constraint.source, todo)
    text = f"not checked: {fact} ({state}), needed: {needs}"
    return Finding("not-checked", addon.name, version.version, text, constraint.source, todo)


def _admits(constraint: Constraint, value: str) -> bool | None:
    if constraint.range:
        try:
            return number_range(constraint.range)(value)
        except ValueError:  # a node that names its version in words
            return None
    if constraint.fact == "gpu":  # GFD puts the mode behind the product: NVIDIA-H100-80GB-HBM3-MIG-1g.10gb
        return any(value == word or value.startswith(f"{word}-") for word in constraint.words)
    return value in constraint.words

"""What is known of a cluster: seen on its nodes, told by its API server, stated in its spec. Pure.

Labels are those of NVIDIA's GPU feature discovery (docs of k8s-device-plugin, "gpu-feature-discovery", Generated Labels) and of
node feature discovery; the rest is ``status.nodeInfo`` of the Node API.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from base.errors import Position, Problem, SpecError
from catalog.model import ORDERED, Fingerprint, number
from spec.model import ClusterSpec, StatedFact

__all__ = ["fingerprint", "seen_on"]

_LABELS = {
    "driver": ("nvidia.com/cuda.driver-version.full", "nvidia.com/cuda.driver-version", "nvidia.com/cuda.driver"),
    "cuda": ("nvidia.com/cuda.runtime-version.full", "nvidia.com/cuda.runtime-version", "nvidia.com/cuda.runtime"),
}
#: The parts of a version whose label is not there whole. GFD called the third ``rev`` before it called it ``revision``.
_PARTS = (("major",), ("minor",), ("revision", "rev"))
_OS_LABEL = "feature.node.kubernetes.io/system-os_release.ID"
_SYSTEMS = (
    ("Ubuntu", "ubuntu"), ("Red Hat Enterprise Linux CoreOS", "rhcos"), ("Red Hat Enterprise Linux", "rhel"), ("Rocky", "rocky"),
    ("Debian", "debian"), ("Amazon Linux", "amzn"), ("SUSE", "sles"), ("Container-Optimized OS", "cos"), ("Talos", "talos"),
    ("Flatcar", "flatcar"), ("Bottlerocket", "bottlerocket"), ("CentOS", "centos"), ("Fedora", "fedora"),
)  # fmt: skip
_PLATFORMS = (("eks.amazonaws.com/", "eks"), ("cloud.google.com/gke-", "gke"), ("kubernetes.azure.com/", "aks"))


def seen_on(nodes: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Facts that the Node objects show, each with every value that there is, sorted. What no node shows is left out.

    Whether NRI is on and which cgroup version the nodes have cannot be seen through the API.
    """
    found: dict[str, set[str]] = {}
    for node in nodes:
        labels = {str(k): str(v) for k, v in (_at(node, "metadata", "labels") or {}).items()}
        info = _at(node, "status", "nodeInfo") or {}
        values = {
            "driver": _version(labels, "driver"),
            "cuda": _version(labels, "cuda"),
            "containerd": _containerd(str(info.get("containerRuntimeVersion", ""))),
            "mig": _mig(labels, _at(node, "status", "capacity") or {}),
            "architecture": str(info.get("architecture", "")) or labels.get("kubernetes.io/arch", ""),
            "gpu": labels.get("nvidia.com/gpu.product", ""),
            "os": labels.get(_OS_LABEL, "") or _system(str(info.get("osImage", ""))),
            "platform": next((name for prefix, name in _PLATFORMS if any(key.startswith(prefix) for key in labels)), ""),
            "kernel": str(info.get("kernelVersion", "")),
        }
        for fact, value in values.items():
            if value:
                found.setdefault(fact, set()).add(value)
    return {fact: tuple(sorted(values)) for fact, values in sorted(found.items())}


def fingerprint(spec: ClusterSpec, *, kubernetes: str, seen: Mapping[str, tuple[str, ...]]) -> Fingerprint:
    """All that is known of the cluster of ``spec``. What is stated may be coarser than what is seen (``580`` for 580.95.05).

    An empty ``kubernetes`` is unknown. SpecError, with both values, where the spec states something else than its nodes show.
    """
    facts: dict[str, tuple[str, ...]] = {**({"kubernetes": (kubernetes,)} if kubernetes else {}), **seen}
    sources = {"kubernetes": "api", **dict.fromkeys(seen, "nodes")}
    problems = []
    for stated in spec.facts:
        if stated.name not in seen:
            facts[stated.name], sources[stated.name] = stated.values, "spec"
            continue
        strange = [value for value in seen[stated.name] if not any(_same(stated.name, value, one) for one in stated.values)]
        if strange:
            problems.append(_contradiction(spec, stated, strange))
    if problems:
        raise SpecError(problems)
    return Fingerprint(facts, sources)


def _contradiction(spec: ClusterSpec, stated: StatedFact, strange: list[str]) -> Problem:
    message = f"the spec states {', '.join(stated.values)}, nodes of the cluster have {', '.join(strange)}"
    todo = "leave it out (what nodes show is known anyway), or list every value that they have"
    return Problem(Position(str(spec.source), stated.line, 1 if stated.line else 0), f"facts.{stated.name}", message, todo)


def _same(fact: str, seen: str, stated: str) -> bool:
    if fact not in ORDERED:
        return seen == stated
    try:
        told = number(stated)
        return number(seen)[: len(told)] == told
    except ValueError:
        return seen == stated


def _at(node: Mapping[str, Any], *path: str) -> Any:
    value: Any = node
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else None


def _version(labels: Mapping[str, str], fact: str) -> str:
    whole, *stems = _LABELS[fact]
    if whole in labels:
        return labels[whole]
    for stem in stems:
        parts = [next((labels[f"{stem}.{word}"] for word in words if f"{stem}.{word}" in labels), "") for words in _PARTS]
        if parts[0]:
            return ".".join(part for part in parts[: parts.index("") if "" in parts else None])
    return ""


def _containerd(runtime: str) -> str:
    """``containerd://2.1.4`` -> 2.1.4; another runtime says nothing about containerd."""
    name, _, version = runtime.partition("://")
    return version if name == "containerd" and re.match(r"v?[0-9]", version) else ""


def _mig(labels: Mapping[str, str], capacity: Mapping[str, Any]) -> str:
    """``on`` where MIG devices are offered, ``off`` where there can be none, and nothing where GFD does not look at them."""
    if "-MIG-" in labels.get("nvidia.com/gpu.product", "") or any(
        str(name).startswith("nvidia.com/mig-") and str(amount) != "0" for name, amount in capacity.items()
    ):
        return "on"
    capable, strategy = labels.get("nvidia.com/mig.capable"), labels.get("nvidia.com/mig.strategy")
    if capable == "false" or labels.get("nvidia.com/mig.config") == "all-disabled":
        return "off"
    return "off" if capable == "true" and strategy in ("single", "mixed") else ""


def _system(image: str) -> str:
    return next((name for prefix, name in _SYSTEMS if image.startswith(prefix)), "")

"""What a version needs of the cluster below it and of the add-ons beside it, and what is known of a cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from catalog.model.versions import VersionRange, minor_number

#: Facts of a cluster that a constraint may be about. Ordered ones take a range, the others a list of admitted words.
#: kubernetes: minor. driver: NVIDIA driver branch (``580``). cuda: highest CUDA that the driver serves (``13.0``).
#: containerd: version. nri: on | off. cgroup: v1 | v2. mig: on | off. architecture: amd64 | arm64.
#: gpu: product as GFD labels it. os: ubuntu | rhel | ... platform: eks | gke | metal | ... kernel: version.
FactName = Literal[
    "kubernetes", "driver", "cuda", "containerd", "nri", "cgroup", "mig", "architecture", "gpu", "os", "platform", "kernel"
]
FACTS: tuple[FactName, ...] = (
    "kubernetes", "driver", "cuda", "containerd", "nri", "cgroup", "mig", "architecture", "gpu", "os", "platform", "kernel",
)  # fmt: skip
ORDERED: frozenset[str] = frozenset({"driver", "cuda", "containerd", "kernel"})


Number = tuple[int, ...]


def number(text: str) -> Number:
    """``580.95.05`` as numbers, for facts that have an order. What follows the numbers (``-generic``) does not count.

    ValueError for what does not begin with a number.
    """
    match = re.match(r"v?(\d+(?:\.\d+)*)", text)
    if match is None:
        raise ValueError(f"{text!r} is no number")
    return tuple(int(part) for part in match[1].split("."))


def number_range(text: str) -> Callable[[str], bool]:
    """Whether a fact's value is within ``text`` (``>=580 <620``), compared number by number: 580.1 is within >=580.

    ValueError for a text that is no range.
    """
    bounds = []
    for word in re.sub(r"([<>=])\s+", r"\1", text.replace(",", " ")).split():
        match = re.match(r"(>=|<=|>|<|=)(\d+(?:\.\d+)*)\Z", word)
        if match is None:
            raise ValueError(f"{word!r} is no bound of a range")
        bounds.append((match[1], number(match[2])))
    if not bounds:
        raise ValueError("a range has at least one bound")

    def admits(value: str) -> bool:
        found = number(value)
        return all(_HOLDS[operator](found[: len(bound)], bound) for operator, bound in bounds)

    return admits


_HOLDS: Mapping[str, Callable[[Number, Number], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    "=": lambda a, b: a == b,
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is known of a cluster. ``facts`` maps a fact to every value seen on its nodes; a fact that is absent is unknown.

    ``sources`` says for each fact who said so: ``api`` (read from the cluster), ``nodes`` (labels), ``spec`` (stated by hand).
    """

    facts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KubernetesRange:
    """Kubernetes minors, both ends included; an empty ``maximum`` is open. ``source`` says who declared it and where."""

    minimum: str
    maximum: str
    source: str

    def admits(self, minor: str) -> bool:
        wanted = minor_number(minor)
        above = not self.maximum or wanted <= minor_number(self.maximum)
        return minor_number(self.minimum) <= wanted and above

    def __str__(self) -> str:
        return f"{self.minimum} to {self.maximum}" if self.maximum else f"{self.minimum} and newer"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One need of a version: ``fact`` must be within ``range`` (ordered facts: ``>=580``) or one of ``words`` (the others).

    ``reason`` says in half a sentence what breaks otherwise, ``source`` who declared it. ``when`` names a configuration value
    (dotted path in the typed config) that must be truthy for the constraint to hold; empty means always.
    """

    fact: FactName
    reason: str
    source: str
    range: str = ""
    words: tuple[str, ...] = ()
    when: str = ""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another add-on that must, where it is on the cluster, have a version in ``range``."""

    addon: str
    range: VersionRange
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class Tested:
    """Something that we ran ourselves: the fact values, when (ISO date) and where it is recorded below ``docs/``."""

    facts: Mapping[str, str]
    on: str
    record: str


@dataclass(frozen=True, slots=True)
class Compatibility:
    """``declared`` by the upstream project (with ``constraints`` and ``peers``); ``tested`` by us. The two are never mixed."""

    declared: KubernetesRange
    constraints: tuple[Constraint, ...] = ()
    peers: tuple[Peer, ...] = ()
    tested: tuple[Tested, ...] = ()

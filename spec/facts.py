"""Facts of a cluster: their names, the words that they may have, and stating them by hand in a cluster spec.

Most facts are read from the cluster. Some cannot be seen through its API (whether NRI is on, which cgroup version), and before a
cluster is there none can: then whoever builds it says so under ``facts``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, cast

from spec.model import StatedFact
from spec.reader import Section

#: kubernetes: minor. driver: NVIDIA driver (``580`` or ``580.95.05``). cuda: highest CUDA that the driver serves (``13.0``).
#: containerd: version. nri: on | off. cgroup: v1 | v2. mig: on | off. architecture: amd64 | arm64. gpu: product as GFD labels
#: it. os: ubuntu | rhel | ... platform: eks | gke | metal | ... kernel: version.
FactName = Literal[
    "kubernetes", "driver", "cuda", "containerd", "nri", "cgroup", "mig", "architecture", "gpu", "os", "platform", "kernel"
]
FACTS: tuple[FactName, ...] = (
    "kubernetes", "driver", "cuda", "containerd", "nri", "cgroup", "mig", "architecture", "gpu", "os", "platform", "kernel",
)  # fmt: skip
#: Facts that are numbers and have an order; the others are words.
ORDERED: frozenset[FactName] = frozenset({"driver", "cuda", "containerd", "kernel"})
#: All the words that a fact may have, where they can be listed.
WORDS: Mapping[str, tuple[str, ...]] = {"nri": ("on", "off"), "mig": ("on", "off"), "cgroup": ("v1", "v2")}

#: What a spec may state. The Kubernetes minor has a place of its own, ``target.kubernetes``.
STATABLE = tuple(name for name in FACTS if name != "kubernetes")
_NUMBER = re.compile(r"v?[0-9]+(\.[0-9]+)*")


def read_facts(section: Section) -> tuple[StatedFact, ...]:
    """The ``facts`` of a spec: each a word, or a list of words where nodes differ."""
    table = section.mapping("facts", shape='a mapping such as {driver: "580", nri: on}')
    if table is None:
        return ()
    if "kubernetes" in table.entries:
        place = table.entries["kubernetes"].position
        section.problems.add(place, section.at("facts.kubernetes"), "has a place of its own", "write it as target.kubernetes")
    known = Section(table, section.at("facts"), (*STATABLE, "kubernetes"), section.problems)
    found = []
    for name in STATABLE:
        values = _values(known, name) if known.has(name) else ()
        for value in values:
            _check(known, name, value)
        if values:
            found.append(StatedFact(cast(FactName, name), values, known.position(name).line))
    return tuple(found)


def _values(section: Section, name: str) -> tuple[str, ...]:
    if section.is_list(name):
        return tuple(dict.fromkeys(section.words(name)))
    word = section.text(name)
    return (word,) if word else ()


def _check(section: Section, name: str, value: str) -> None:
    if name in ORDERED and not _NUMBER.match(value):
        section.bad(name, f"{value[:40]!r} is no number", 'write it as "580.95.05", or as much of it as is known')
    elif name in WORDS and value not in WORDS[name]:
        section.bad(name, f"{value[:40]!r} is not one of {', '.join(WORDS[name])}")

"""Where the pods of a group may and had better be together: domains of a topology, and in which order they are tried.

Source: KAI plugins/topology (job_filtering.go, node_scoring.go, topology_utils.go); reference 2.5, T54 to T61.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from schedulers.policy.placement import Area
from schedulers.policy.session import Session
from schedulers.policy.snapshot import Topology
from schedulers.policy.workload import TopologyConstraint

#: Stands for "needs something of which nothing is free" (requiredResourceNotInDomainRatio).
_NOTHING_FREE = 1000.0
_RANKS = 10


@dataclass(slots=True)
class Domain:
    """Nodes with the same labels (``path``) down to a level; the empty path is the whole topology.

    ``fill`` is how much of what is free in it a request would take.
    """

    path: tuple[str, ...] = ()
    nodes: list[int] = field(default_factory=list)
    children: dict[str, Domain] = field(default_factory=dict)
    fill: float = 0.0


class Topologies:
    """The domains of every topology of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._values = {topology.name: topology for topology in session.snapshot.topologies}
        self._roots: dict[str, Domain] = {}

    def problem(self, constraint: TopologyConstraint) -> str:
        """What is wrong with a constraint, in words; empty when it can be honoured or there is nothing to honour."""
        topology = self._values.get(constraint.topology)
        if topology is None:
            return f"Requested topology {constraint.topology} does not exist"
        for word, level in (("required", constraint.required), ("preferred", constraint.preferred)):
            if level and _depth(topology, level) is None:
                return (
                    f"topology constraint error: '{level}' is the {word} topology constraint level, but the topology tree "
                    f"'{topology.name}' does not contain a level with this name"
                )
        if not constraint.required and not constraint.preferred:
            return f"no topology constraints were found, with topology name {topology.name}"
        return ""

    def areas(
        self, constraint: TopologyConstraint, pods: Sequence[int], active: Iterable[int], within: Area | None
    ) -> list[Area]:
        """Areas to try for the pods, best first; empty when no domain is large enough.

        Domains of the preferred level come first, then the levels around it up to the required one, or the whole topology;
        on each level the fullest that still fits comes first. ``active`` are pods of the same part that run already: a
        required level binds the others to their domain. ``within`` bounds the choice to what was chosen for the part around.
        """
        topology = self._values[constraint.topology]
        required, preferred = _depth(topology, constraint.required), _depth(topology, constraint.preferred)
        root = self._root(topology)
        bound = within.nodes if within is not None else None
        self._measure(root, pods, bound)
        deepest = preferred if preferred is not None else required
        assert deepest is not None
        levels = _sorted_levels(root, deepest)
        outermost = required if required is not None else 0
        held = {self._session.on[pod] for pod in active}
        ranks = self._ranks(levels[preferred], bound) if preferred is not None else None
        found = []
        for depth in range(deepest, outermost - 1, -1):
            for domain in levels[depth]:
                if held and required is not None and held.isdisjoint(_ancestor(root, domain, required).nodes):
                    continue
                nodes = domain.nodes if bound is None else [node for node in domain.nodes if node in bound]
                if nodes and self._fits(pods, nodes):
                    found.append(Area(nodes, ranks))
        return found

    def _root(self, topology: Topology) -> Domain:
        root = self._roots.get(topology.name)
        if root is None:
            root = self._roots[topology.name] = Domain()
            for index, node in enumerate(self._session.nodes):
                values = [node.labels.get(level) for level in topology.levels]
                if None in values:
                    continue
                domain = root
                domain.nodes.append(index)
                for value in values:
                    assert value is not None
                    domain = domain.children.setdefault(value, Domain((*domain.path, value)))
                    domain.nodes.append(index)
        return root

    def _measure(self, domain: Domain, pods: Sequence[int], bound: frozenset[int] | None) -> list[float]:
        """Note for every domain how much of what is free in it the pods would take (getJobRatioToFreeResources)."""
        session = self._session
        if domain.children:
            free = [0.0, 0.0, 0.0]
            for child in domain.children.values():
                for r, amount in enumerate(self._measure(child, pods, bound)):
                    free[r] += amount
        else:
            nodes = [node for node in domain.nodes if bound is None or node in bound]
            free = [sum(session.idle[node][r] + session.releasing[node][r] for node in nodes) for r in range(3)]
        want = session.request(pods)
        domain.fill = max((want[r] / free[r] if free[r] > 0 else _NOTHING_FREE for r in range(3) if want[r] > 0), default=0.0)
        return free

    def _fits(self, pods: Sequence[int], nodes: Sequence[int]) -> bool:
        """A first look: pods that are all alike are counted, others are left to the attempt (checkJobDomainFit)."""
        session = self._session
        number = session.shape_of[pods[0]]
        shape = session.shapes[number]
        if shape[2] is not None or any(session.shape_of[pod] != number for pod in pods):
            return True
        left = len(pods)
        for node in nodes:
            left -= session.count(shape, node)
            if left <= 0:
                return True
        return False

    def _ranks(self, domains: Sequence[Domain], bound: frozenset[int] | None) -> dict[int, int]:
        """Where no domain of the preferred level is enough, the emptiest come first, so that few are needed
        (calculateNodeScores, ten steps at most).
        """
        ranked = [domain for domain in domains if bound is None or not bound.isdisjoint(domain.nodes)]
        return {node: (place + 1) * _RANKS // len(ranked) for place, domain in enumerate(ranked) for node in domain.nodes}


def _depth(topology: Topology, level: str) -> int | None:
    label = topology.aliases.get(level, level)
    return topology.levels.index(label) + 1 if label in topology.levels else None


def _sorted_levels(root: Domain, deepest: int) -> list[list[Domain]]:
    """Domains by depth, each level in the order of a tree whose children are sorted fullest first."""
    levels = [[root]]
    for _ in range(deepest):
        levels.append([c for domain in levels[-1] for c in sorted(domain.children.values(), key=lambda c: (-c.fill, c.path))])
    return levels


def _ancestor(root: Domain, domain: Domain, depth: int) -> Domain:
    """The domain itself or the one around it at this depth."""
    found = root
    for value in domain.path[:depth]:
        found = found.children[value]
    return found

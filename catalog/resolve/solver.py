"""One version for each add-on out of several that would do, by `resolvelib`. Pure.

An add-on that nobody requires may also be absent, and then what others ask of it as a peer holds. Absence is a candidate of its
own, so that nothing is installed because somebody would only have got on with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.model import AddonVersion
from catalog.resolve.bonds import Bond
from catalog.resolve.proof import Proof, Undecided

__all__ = ["Search", "Undecided"]

#: Steps after which the exact search is given up. Those over the real catalogue take a few, and random ones of 2,000 versions
#: some fifty.
STEPS = 1_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A version of an add-on, or its absence."""

    addon: str
    version: AddonVersion | None

    @property
    def name(self) -> str | None:
        return self.version.version if self.version else None


@dataclass(frozen=True, slots=True)
class Need:
    """What the search has to meet: a bond of a version, or (without one) an add-on that was asked for."""

    addon: str
    bond: Bond | None = None

    def met_by(self, candidate: Candidate) -> bool:
        return candidate.version is not None if self.bond is None else self.bond.admits(candidate.name)

    @property
    def may_be_absent(self) -> bool:
        return self.bond is not None and self.bond.admits(None)


class Search:
    """``domains`` are the versions that an add-on may have, most preferred first; one without a domain cannot be had.

    ``bonds`` says what a version asks of others.
    """

    def __init__(self, domains: Mapping[str, Sequence[AddonVersion]], bonds: Callable[[AddonVersion], Iterable[Bond]]) -> None:
        self._domains = domains
        self._bonds = bonds
        self._known: dict[tuple[str, str], tuple[Bond, ...]] = {}
        self._proof: Proof | None = None

    def solve(self, roots: Collection[str]) -> dict[str, AddonVersion] | None:
        """Versions for ``roots`` and all that they require; None when no answer exists. Undecided after :data:`STEPS`.

        First choices throughout are the answer wherever they are one.
        """
        first = {name: domain[0] for name, domain in self._domains.items() if domain}
        if all(root in first for root in roots):
            chosen = self.closure(roots, first)
            if self.holds(chosen):
                return chosen
        if self._proof is None:
            self._proof = Proof(self._domains, self.asks)
        proof = self._proof
        narrow = proof.narrowed(proof.domains(roots))
        if narrow is None:
            return None
        found = self._searched(roots, {name: proof.versions(name, bits) for name, bits in narrow.items()})
        if found is None:
            exact = proof.answer(narrow, STEPS)
            found = proof.present(exact) if exact is not None else None
        return found

    def asks(self, version: AddonVersion) -> tuple[Bond, ...]:
        """The bonds of a version, made once."""
        key = (version.addon, version.version)
        if key not in self._known:
            self._known[key] = tuple(self._bonds(version))
        return self._known[key]

    def holds(self, chosen: Mapping[str, AddonVersion]) -> bool:
        """Whether every bond of every version in ``chosen`` is met."""
        names = {name: version.version for name, version in chosen.items()}
        return all(bond.admits(names.get(bond.other)) for version in chosen.values() for bond in self.asks(version))

    def closure(self, roots: Iterable[str], chosen: Mapping[str, AddonVersion]) -> dict[str, AddonVersion]:
        """Of ``chosen`` what ``roots`` require, directly or not."""
        found: dict[str, AddonVersion] = {}
        waiting = deque(roots)
        while waiting:
            name = waiting.popleft()
            if name in found or name not in chosen:
                continue
            found[name] = chosen[name]
            waiting.extend(bond.other for bond in self.asks(chosen[name]) if bond.kind == "requires")
        return found

    def _searched(self, roots: Collection[str], domains: Mapping[str, Sequence[AddonVersion]]) -> dict[str, AddonVersion] | None:
        """An answer of resolvelib that holds; None when it has none, which does not mean that there is none."""
        from resolvelib import BaseReporter, ResolutionImpossible, ResolutionTooDeep
        from resolvelib.resolvers import Resolution

        provider = _provider(self.asks, domains)
        resolution: Resolution[Need, Candidate, str] = Resolution(provider, BaseReporter())
        provider.resolution = resolution
        rounds = 2 * len(domains) + 50  # each add-on is settled in one; what needs many more is not found in any number of them
        try:
            state = resolution.resolve([Need(root) for root in sorted(roots)], max_rounds=rounds)
        except (ResolutionImpossible, ResolutionTooDeep):
            return None
        chosen = self.closure(roots, {name: one.version for name, one in state.mapping.items() if one.version is not None})
        return chosen if self.holds(chosen) and all(root in chosen for root in roots) else None


def _provider(asks: Callable[[AddonVersion], Iterable[Bond]], domains: Mapping[str, Sequence[AddonVersion]]) -> Any:
    """The provider, made here so that planning a cluster that needs no search does not import resolvelib."""
    from resolvelib import AbstractProvider
    from resolvelib.resolvers import Resolution

    candidates = {name: [Candidate(name, version) for version in versions] for name, versions in domains.items()}

    class Provider(AbstractProvider[Need, Candidate, str]):
        resolution: Resolution[Need, Candidate, str]

        def identify(self, requirement_or_candidate: Need | Candidate) -> str:
            return requirement_or_candidate.addon

        def get_preference(
            self,
            identifier: str,
            resolutions: Mapping[str, Candidate],
            candidates: Mapping[str, Iterator[Candidate]],
            information: Mapping[str, Iterator[Any]],
            backtrack_causes: Sequence[Any],
        ) -> tuple[bool, int, str]:
            """What may be absent comes last, when it is known whether anyone requires it; then what has least to choose from."""
            del resolutions, backtrack_causes
            optional = all(one.requirement.may_be_absent for one in information[identifier])
            return optional, sum(1 for _ in candidates[identifier]), identifier

        def find_matches(
            self,
            identifier: str,
            requirements: Mapping[str, Iterator[Need]],
            incompatibilities: Mapping[str, Iterator[Candidate]],
        ) -> Sequence[Candidate]:
            """A choice that was made and does not meet a new need is a conflict: resolvelib would choose again and keep what
            followed from the first choice."""
            needs, excluded = list(requirements[identifier]), {one.name for one in incompatibilities[identifier]}
            every = [Candidate(identifier, None), *candidates.get(identifier, ())]
            found = [one for one in every if one.name not in excluded and all(need.met_by(one) for need in needs)]
            made = self.resolution.state.mapping.get(identifier)
            return found if made is None or any(one.name == made.name for one in found) else []

        def is_satisfied_by(self, requirement: Need, candidate: Candidate) -> bool:
            return requirement.met_by(candidate)

        def get_dependencies(self, candidate: Candidate) -> Iterator[Need]:
            if candidate.version is not None:
                yield from (Need(bond.other, bond) for bond in asks(candidate.version))

    return Provider()

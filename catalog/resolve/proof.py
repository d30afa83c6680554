"""Which versions can be in any answer at all, and whether there is one. Exact, on bit sets. Pure.

`resolvelib` finds answers, but that it finds none proves nothing: it carries what failed under one choice over to the next
(docs/decisions/resolution.md has the figures). What is said to be impossible is proved here.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from catalog.model import AddonVersion, Key, Scheme, VersionRange, version_key
from catalog.resolve.bonds import Bond

__all__ = ["Proof", "Undecided"]

#: Bit 0 of a domain: the add-on is not there. Bit n: it has the n-th of its versions.
_ABSENT = 1

Domain = dict[str, int]


class Undecided(Exception):
    """The search was given up: there may be an answer or not."""


class Proof:
    """Versions as bits. ``bonds`` is asked once for each version."""

    def __init__(self, versions: Mapping[str, Sequence[AddonVersion]], bonds: Callable[[AddonVersion], Iterable[Bond]]) -> None:
        self._versions = versions
        self._masks: dict[tuple[str, str, Scheme], int] = {}
        self._keys: dict[tuple[str, Scheme], list[Key | None]] = {}
        #: For each add-on, for each of its bits but the first: what it leaves of others.
        self._leaves: dict[str, list[dict[str, int]]] = {}
        for name, known in versions.items():
            self._leaves[name] = [self._left_by(bonds(version)) for version in known]
        #: Which add-ons have something to say about an add-on.
        self._users: dict[str, set[str]] = {}
        for name, versions_leave in self._leaves.items():
            for other in {other for leaves in versions_leave for other in leaves}:
                self._users.setdefault(other, set()).add(name)

    def domains(self, roots: Collection[str]) -> Domain:
        """Everything that is possible before any choice: ``roots`` are there, all others may be."""
        every = {name: (1 << (len(known) + 1)) - 1 for name, known in self._versions.items()}
        return {**every, **{root: every.get(root, _ABSENT) & ~_ABSENT for root in roots}}

    def narrowed(self, domains: Domain) -> Domain | None:
        """The domains without what can be in no answer: arc consistency. None when nothing is left of an add-on."""
        domains = dict(domains)
        dirty = set(domains)
        while dirty:
            name = min(dirty)
            dirty.remove(name)
            choices = [
                (bit, leaves)
                for bit, leaves in self._choices(name, domains[name])
                if all(domains.get(other, _ABSENT) & mask for other, mask in leaves.items())
            ]
            kept = sum(bit for bit, _ in choices)
            if not kept:
                return None
            if kept != domains[name]:
                domains[name] = kept
                dirty |= self._users.get(name, set())
            for other in {other for _, leaves in choices for other in leaves}:
                left = domains.get(other, _ABSENT)
                rest = left & functools.reduce(operator.or_, (leaves.get(other, -1) for _, leaves in choices))
                if not rest:
                    return None
                if rest != left:
                    domains[other] = rest
                    dirty |= {other} | self._users.get(other, set())
        return domains

    def answer(self, domains: Domain, budget: int) -> Domain | None:
        """An answer as domains of one bit for every add-on that has to be there; None when there is none. Undecided past
        ``budget`` steps. What may be absent is left open: it is in the answer only if it has to be."""
        waiting = [domains]
        while waiting:
            budget -= 1
            if budget < 0:
                raise Undecided
            narrow = self.narrowed(waiting.pop())
            if narrow is None:
                continue
            open_ones = [(bits.bit_count(), name) for name, bits in narrow.items() if not bits & _ABSENT and bits.bit_count() > 1]
            if not open_ones:
                return narrow
            _, name = min(open_ones)
            bits = [bit for bit, _ in self._choices(name, narrow[name])]
            waiting.extend({**narrow, name: bit} for bit in reversed(bits))  # the most preferred is taken out first
        return None

    def versions(self, name: str, bits: int) -> list[AddonVersion]:
        """The versions that the bits of an add-on stand for."""
        return [version for n, version in enumerate(self._versions.get(name, ()), 1) if bits >> n & 1]

    def present(self, domains: Domain) -> dict[str, AddonVersion]:
        """The first version of every add-on that has to be there."""
        return {name: self.versions(name, bits)[0] for name, bits in domains.items() if not bits & _ABSENT}

    def _choices(self, name: str, bits: int) -> Iterable[tuple[int, Mapping[str, int]]]:
        if bits & _ABSENT:
            yield _ABSENT, {}
        for n, leaves in enumerate(self._leaves.get(name, ()), 1):
            if bits >> n & 1:
                yield 1 << n, leaves

    def _left_by(self, bonds: Iterable[Bond]) -> dict[str, int]:
        left: dict[str, int] = {}
        for bond in bonds:
            left[bond.other] = left.get(bond.other, -1) & self._mask(bond)
        return left

    def _mask(self, bond: Bond) -> int:
        """The bits of the other add-on that :meth:`Bond.admits`."""
        if bond.kind in ("excludes", "scheduler"):
            return _ABSENT
        if bond.same:
            names = [version.version for version in self._versions.get(bond.other, ())]
            bits = sum(bond.admits(name) << n for n, name in enumerate(names, 1))
        else:
            bits = self._range_mask(bond.other, bond.range)
        return bits | _ABSENT if bond.kind == "peer" else bits

    def _range_mask(self, other: str, within: VersionRange) -> int:
        """Asked for every version of every add-on, so that each range is laid on the versions of the other just once."""
        place = (other, within.text, within.scheme)
        if place not in self._masks:
            if (other, within.scheme) not in self._keys:
                self._keys[other, within.scheme] = _keys(self._versions.get(other, ()), within.scheme)
            keys = self._keys[other, within.scheme]
            self._masks[place] = sum(1 << n for n, key in enumerate(keys, 1) if key is not None and within.admits_key(key))
        return self._masks[place]


def _keys(versions: Iterable[AddonVersion], scheme: Scheme) -> list[Key | None]:
    """The place of each in its order; None for one that is numbered by another scheme, which is in no range."""
    return [_key(version.version, scheme) for version in versions]


def _key(version: str, scheme: Scheme) -> Key | None:
    try:
        return version_key(version, scheme)
    except ValueError:
        return None

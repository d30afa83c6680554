"""The search finds an answer exactly where there is one, and says that there is none only where that is so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.model import AddonVersion, VersionRange
from catalog.resolve import solver
from catalog.resolve.bonds import Bond
from catalog.resolve.proof import Proof
from catalog.resolve.solver import Search, Undecided
from tests.catalog.synthetic import version

Bonds = Mapping[tuple[str, str], Sequence[Bond]]


@dataclass(frozen=True)
class Case:
    domains: Mapping[str, Sequence[AddonVersion]]
    bonds: Bonds
    roots: Sequence[str]

    def asks(self, one: AddonVersion) -> Sequence[Bond]:
        return self.bonds.get((one.addon, one.version), ())

    def search(self) -> Search:
        return Search(self.domains, self.asks)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to five add-ons with up to three versions, tied to each other in every way there is."""
    names = [f"a{number}" for number in range(draw(st.integers(2, 5)))]
    most = draw(st.integers(1, 3))
    every = {name: [version(name, f"{number}.0.0") for number in range(1, most + 1)] for name in names}
    kinds = st.sampled_from(["", "", "", "requires", "requires", "peer", "peer", "excludes"])
    bonds: dict[tuple[str, str], list[Bond]] = {}
    for name in names:
        for one in every[name]:
            for other in (other for other in names if other != name):
                kind = draw(kinds)
                if kind:
                    low, high = sorted((draw(st.integers(1, most)), draw(st.integers(1, most))))
                    range_ = VersionRange(f">={low}.0.0 <={high}.0.0")
                    bonds.setdefault((name, one.version), []).append(Bond(kind, other, "r", range=range_))  # type: ignore[arg-type]
    domains = {name: draw(st.permutations(every[name]))[: draw(st.integers(0 if most > 1 else 1, most))] for name in names}
    roots = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    return Case(domains, bonds, roots)


def holds(case: Case, chosen: Mapping[str, AddonVersion | None]) -> bool:
    """Every rule, written down once more."""
    for name in case.roots:
        if chosen.get(name) is None:
            return False
    for one in chosen.values():
        for bond in case.asks(one) if one else ():
            other = chosen.get(bond.other)
            inside = other is not None and bond.range.admits(other.version)
            if (bond.kind == "requires" and not inside) or (bond.kind == "excludes" and other is not None):
                return False
            if bond.kind == "peer" and other is not None and not inside:
                return False
    return True


def exists(case: Case) -> bool:
    """Brute force: every add-on absent or at any version of its domain."""

    def tried(names: Sequence[str], chosen: dict[str, AddonVersion | None]) -> bool:
        if not names:
            return holds(case, chosen)
        return any(tried(names[1:], {**chosen, names[0]: one}) for one in (None, *case.domains[names[0]]))

    return tried(list(case.domains), {})


@settings(max_examples=150, deadline=None)
@given(cases())
def test_an_answer_holds_and_no_answer_means_that_there_is_none(case: Case) -> None:
    found = case.search().solve(case.roots)
    assert (found is not None) == exists(case)
    if found is not None:
        assert holds(case, found)
        assert all(one in case.domains[name] for name, one in found.items())


@settings(max_examples=80, deadline=None)
@given(cases())
def test_nothing_is_in_an_answer_that_nobody_requires(case: Case) -> None:
    found = case.search().solve(case.roots) or {}
    needed, waiting = set[str](), list(case.roots) if found else []
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [bond.other for bond in case.asks(found[name]) if bond.kind == "requires"]
    assert set(found) == needed


@settings(max_examples=80, deadline=None)
@given(cases())
def test_the_proof_alone_is_exact_and_throws_away_nothing_that_is_in_an_answer(case: Case) -> None:
    proof = Proof(case.domains, case.asks)
    exact = proof.answer(proof.domains(case.roots), 5_000)
    assert (exact is not None) == exists(case)
    narrow = proof.narrowed(proof.domains(case.roots))
    if exact is not None:
        assert narrow is not None
        answer = proof.present(exact)
        assert holds(case, answer)
        assert all(one in proof.versions(name, narrow[name]) for name, one in answer.items())


@settings(max_examples=60, deadline=None)
@given(cases())
def test_first_choices_are_the_answer_wherever_they_are_one(case: Case) -> None:
    first = {name: domain[0] for name, domain in case.domains.items() if domain}
    search = case.search()
    chosen = search.closure(case.roots, first)
    if holds(case, chosen):
        assert search.solve(case.roots) == chosen


def test_what_resolvelib_misses_is_found_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """It carries what failed under one choice over to the next, so that its "impossible" is no proof."""
    case = Case(
        {name: [version(name, "2.0.0"), version(name, "1.0.0")] for name in ("a", "b")},
        {("a", "2.0.0"): [Bond("requires", "b", "r", range=VersionRange("=1.0.0"))]},
        ("a", "b"),
    )
    monkeypatch.setattr(Search, "_searched", lambda *_: None)
    found = case.search().solve(case.roots)
    assert found is not None
    assert holds(case, found)


def test_a_search_that_is_given_up_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(
        {name: [version(name, f"{number}.0.0") for number in range(4)] for name in ("a", "b", "c")},
        {("a", f"{number}.0.0"): [Bond("peer", "b", "r", range=VersionRange(f"={3 - number}.0.0"))] for number in range(4)},
        ("a", "b", "c"),
    )
    monkeypatch.setattr(Search, "_searched", lambda *_: None)
    monkeypatch.setattr(solver, "STEPS", 1)
    with pytest.raises(Undecided):
        case.search().solve(case.roots)


@pytest.mark.parametrize(
    ("bond", "absent", "inside", "outside"),
    [
        (Bond("requires", "b", "r", range=VersionRange(">=2.0.0")), False, True, False),
        (Bond("peer", "b", "r", range=VersionRange(">=2.0.0")), True, True, False),
        (Bond("excludes", "b", "r"), True, False, False),
        (Bond("scheduler", "b", "r"), True, False, False),
        (Bond("requires", "b", "r", same="2.0.0"), False, True, False),
    ],
)
def test_what_a_bond_admits(bond: Bond, absent: bool, inside: bool, outside: bool) -> None:
    assert [bond.admits(one) for one in (None, "2.0.0", "1.0.0")] == [absent, inside, outside]


def test_a_version_of_another_scheme_fits_no_range() -> None:
    assert not Bond("peer", "b", "r", range=VersionRange(">=25.05.0", "calendar")).admits("1.2.3-rc.1+x")

"""How long the catalogue's decisions take: reading it, choosing versions, and explaining why there are none.

The synthetic catalogue has add-ons that require and tolerate each other in windows of versions, as upstream projects do.
"""

from __future__ import annotations

import datetime
import json
import random
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from base.errors import SpecError
from base.places import REPOSITORY
from catalog.lint.output import counts
from catalog.lint.places import Places
from catalog.lint.run import lint, lint_directory
from catalog.lint.world import World
from catalog.model import (
    Addon,
    AddonVersion,
    Catalogue,
    Channel,
    Compatibility,
    Constraint,
    KubernetesRange,
    OciSource,
    Peer,
    Requirement,
    VersionRange,
)
from catalog.plan import Facts
from catalog.read.load import load
from catalog.resolve.bonds import bonds
from catalog.resolve.choice import Choice
from catalog.resolve.resolver import resolve
from catalog.resolve.solver import Search
from spec.model import AddonRequest, ClusterSpec, Target, Tenancy
from tests.bench.measure import Figure, clock

ADDONS, VERSIONS = 50, 40
#: How many versions up or down an add-on gets on with.
_WINDOW = 8
_PIN = "sha256:" + "a" * 64


def figures() -> Iterator[Figure]:
    """Reading the real catalogue; resolving, searching and explaining on a synthetic one; growth."""
    with clock() as read:
        real = load(eager=True)
    count = sum(len(versions) for versions in real.versions.values())
    yield Figure(f"reading the whole catalogue ({count} versions)", read.wall, 1.5, "s", "lint comes on top of it")
    with clock() as linted:
        findings, _ = lint_directory(docs=REPOSITORY / "docs")
    told = ", ".join(f"{number} {severity}s" for severity, number in counts(findings).items())
    yield Figure(f"reading and linting the whole catalogue ({count} versions)", linted.wall, 1.5, "s", told)
    made = synthetic(ADDONS, VERSIONS)
    yield _resolved(made, f"resolving one cluster: {ADDONS} add-ons of {VERSIONS} versions each, as promised by a channel", 0.5)
    yield _searched(made, f"the same by search, first choices that do not go together ({ADDONS} x {VERSIONS})", 0.5)
    yield _refused(made, "an unsatisfiable cluster with its explanation: other versions would do", conflict=False)
    yield _refused(made, "an unsatisfiable cluster with its explanation: no versions would do", conflict=True)
    for total in (10, 100, 1_000):
        size = max(2, total // 20)
        grown = synthetic(size, total // size)
        yield _searched(grown, f"growth: search over {total} versions ({size} add-ons)", 0.5)
        yield _read(size, total // size, f"growth: reading {total} versions ({size} add-ons) and checking all of them", 5.0)
        yield _linted(grown, f"growth: lint of {total} versions ({size} add-ons)")


def _linted(catalogue: Catalogue, what: str) -> Figure:
    with clock() as taken:
        findings = lint(World(catalogue, datetime.date.today()), Places(REPOSITORY / "catalog"))
    return Figure(what, taken.wall, 1.5, "s", f"{len(findings)} findings")


def synthetic(addons: int, versions: int, seed: int = 5) -> Catalogue:
    """Each add-on requires, or goes only with, up to three earlier ones, within a window of versions around its own."""
    rng = random.Random(seed)
    names = [f"addon-{number:02}" for number in range(addons)]
    made = {
        name: tuple(_version(rng, name, names[:index], number, versions) for number in range(versions))
        for index, name in enumerate(names)
    }
    known = {name: Addon(name, name, "scheduler" if name == names[0] else "slurm", name, ("cluster",)) for name in names}
    newest = {name: found[-1].version for name, found in made.items()}
    return Catalogue(known, made, {"edge": Channel("edge", newest, True)})


def _version(rng: random.Random, name: str, before: list[str], number: int, most: int) -> AddonVersion:
    requires, peers = [], []
    for other in rng.sample(before, min(len(before), 3)):
        low, high = max(0, number - _WINDOW), min(most - 1, number + _WINDOW)
        window = VersionRange(f">={_name(low)} <={_name(high)}")
        if rng.random() < 0.5:
            requires.append(Requirement(other, "made up", range=window))
        else:
            peers.append(Peer(other, window, "made up", "made up"))
    needs = (Constraint("driver", "made up", "made up", range=">=535"),)
    return AddonVersion(
        name,
        _name(number),
        "",
        OciSource(f"registry.invalid/{name}", _name(number), _PIN, _PIN),
        _name(number),
        _name(number),
        (),
        Compatibility(KubernetesRange("1.30", "1.36", "made up"), needs, tuple(peers)),
        requires=tuple(requires),
    )


def _name(number: int) -> str:
    return f"{number // 10 + 1}.{number % 10}.0"


def _spec(catalogue: Catalogue, named: Mapping[str, str]) -> ClusterSpec:
    requests = tuple(AddonRequest(name, named.get(name, ""), line=line) for line, name in enumerate(catalogue.addons, 2))
    return ClusterSpec("bench", Target("cluster"), "edge", "addon-00", requests, (), Tenancy(), Path("spec.yaml"))


_FACTS = Facts("cluster", "1.36", Path("k"), "uid", Path("s"), nodes={"driver": ("580.95.05",)})
_CHOICE = Choice("addon-00", "bench")


def _resolved(catalogue: Catalogue, what: str, wanted: float) -> Figure:
    with clock() as taken:
        plan = resolve(_spec(catalogue, {}), catalogue, _FACTS, _CHOICE)
    if len(plan.items) != len(catalogue.addons):
        raise RuntimeError(f"{len(plan.items)} items")
    return Figure(what, taken.wall, wanted, "s")


def _read(addons: int, versions: int, what: str, wanted: float) -> Figure:
    """From files that say everything that a version file can say."""
    full = json.loads((REPOSITORY / "tests" / "catalog" / "read" / "full.json").read_text())
    addon = {**full["addon"][0], "excludes": {}, "requires": [], "strays": {}}
    version = {**full["version"][0], "requires": []}
    version["compatibility"] = {**version["compatibility"], "peers": []}
    with tempfile.TemporaryDirectory(prefix="chandlery-bench-") as name:
        for number in range(addons):
            folder = Path(name) / "addons" / f"addon-{number:02}"
            (folder / "versions").mkdir(parents=True)
            (folder / "addon.yaml").write_text(yaml.safe_dump({**addon, "name": folder.name}))
            for one in range(versions):
                (folder / "versions" / f"{_name(one)}.yaml").write_text(yaml.safe_dump({**version, "version": _name(one)}))
        with clock() as taken:
            made = load(Path(name), eager=True)
    if sum(len(made.versions[one]) for one in made.addons) != addons * versions:
        raise RuntimeError("not all versions were read")
    return Figure(what, taken.wall, wanted, "s")


def _searched(catalogue: Catalogue, what: str, wanted: float) -> Figure:
    """From preferences in an order that nobody would have, so that nothing goes together at first sight."""
    rng = random.Random(7)
    domains = {name: rng.sample(found, len(found)) for name, found in catalogue.versions.items()}
    with clock() as taken:
        search = Search(domains, lambda version: bonds(catalogue.addons[version.addon], version, catalogue))
        found = search.solve(list(domains))
    if found is None or not search.holds(found):
        raise RuntimeError("no answer, or a wrong one")
    return Figure(what, taken.wall, wanted, "s")


def _refused(catalogue: Catalogue, what: str, *, conflict: bool) -> Figure:
    """A spec that names the oldest version of an add-on beside the newest of all others, or two that never go together."""
    last, other = list(catalogue.addons)[-1], list(catalogue.addons)[1]
    if conflict:
        never = tuple(
            _tied(version, Requirement(other, "made up", range=VersionRange(">=99.0.0"))) for version in catalogue.versions[last]
        )
        catalogue = Catalogue(catalogue.addons, {**catalogue.versions, last: never}, catalogue.channels)
    with clock() as taken:
        try:
            resolve(_spec(catalogue, {} if conflict else {last: _name(0)}), catalogue, _FACTS, _CHOICE)
        except SpecError as error:
            text = str(error)
        else:
            raise RuntimeError("a plan was made")
    if ("may go onto this cluster" if conflict else "everything holds") not in text:
        raise RuntimeError(f"no explanation: {text}")
    return Figure(what, taken.wall, 2.0, "s")


def _tied(version: AddonVersion, requirement: Requirement) -> AddonVersion:
    return replace(version, requires=(*version.requires, requirement))

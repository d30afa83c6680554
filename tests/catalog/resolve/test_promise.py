"""A channel is a promise: what the spec names, else what the channel has, else an explanation with what would have to change."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import Refused, SpecError
from catalog.model import (
    AddonVersion,
    Catalogue,
    Channel,
    Compatibility,
    Constraint,
    KubernetesRange,
    Peer,
    Requirement,
    VersionRange,
)
from catalog.plan import Plan
from catalog.resolve.choice import Choice
from catalog.resolve.resolver import resolve
from spec.model import AddonRequest, StatedFact
from tests.catalog.synthetic import addon, facts, spec, version


def fits(*constraints: Constraint, peers: tuple[Peer, ...] = (), kubernetes: str = "1.30") -> Compatibility:
    return Compatibility(KubernetesRange(kubernetes, "1.36", "made up"), constraints, peers)


DRIVER = Constraint("driver", "the API is newer", "README of agent", range=">=615")
NEEDS_DEVICES = Requirement("devices", "its toolkit has the hook", range=VersionRange(">=26.7.1"))


def made(**versions: tuple[AddonVersion, ...]) -> Catalogue:
    """Schedulers, an agent for fractions, and a device operator in an old and a new version; the channel has the old one."""
    known = {
        "plain": (version("plain"),),
        "kai": (version("kai", "0.17.0"), version("kai", "0.18.6")),
        "devices": (version("devices", "25.3.4", compatibility=fits(kubernetes="1.29")), version("devices", "26.7.1")),
        "agent": (version("agent", "0.1.7", requires=(NEEDS_DEVICES,), compatibility=fits(DRIVER)),),
        **versions,
    }
    addons = {
        "plain": addon("plain", role="scheduler"),
        "kai": addon("kai", role="scheduler", strays={"0.20.1": "pushed between two 0.9 releases"}),
        "devices": addon("devices", role="devices"),
        "agent": addon("agent", role="fractions"),
    }
    old = {name: found[0].version for name, found in known.items()}
    return Catalogue(addons, known, {"edge": Channel("edge", old, True), "stable": Channel("stable", old, False)})


def plan(*requests: AddonRequest | str, catalogue: Catalogue | None = None, target: str = "cluster", **fields: Any) -> Plan:
    stated = {name: StatedFact(name, (value,), 9) for name, value in fields.pop("stated", {"driver": "615"}).items()}
    wanted = spec(*requests, facts=tuple(stated.values()), **fields)
    return resolve(wanted, catalogue or made(), facts(target), Choice(fields.get("scheduler", "kai"), "x"))


def told(*requests: AddonRequest | str, error: type[SpecError | Refused] = SpecError, **fields: Any) -> str:
    with pytest.raises(error) as caught:
        plan(*requests, **fields)
    return str(caught.value)


def test_a_channel_is_never_left_in_silence() -> None:
    text = told("agent")
    assert (
        "spec.yaml:5:1: addons.agent: agent 0.1.7 needs devices >=26.7.1, channel edge has 25.3.4: its toolkit has the hook"
        in text
    )
    assert "(with devices 26.7.1 everything holds; name it in the spec)" in text
    assert "1 problem" in text


def test_what_the_explanation_says_is_so() -> None:
    found = plan("agent", AddonRequest("devices", "26.7.1"))
    assert [(item.addon, item.version) for item in found.items if item.addon != "kai"] == [
        ("devices", "26.7.1"),
        ("agent", "0.1.7"),
    ]


def test_a_version_that_the_spec_names_stays_and_is_blamed() -> None:
    text = told("agent", AddonRequest("devices", "25.3.4", line=8))
    assert "spec.yaml:8:1: addons.devices.version: agent 0.1.7 needs devices >=26.7.1, the spec names 25.3.4" in text
    assert "with devices 26.7.1 everything holds" in text


def test_where_nothing_helps_the_fewest_that_never_go_together_are_named() -> None:
    rival = Peer("devices", VersionRange("<26.0.0"), "it patches the old one", "its docs")
    odd = (version("plain", compatibility=fits(peers=(rival,))),)
    text = told("agent", AddonRequest("devices", "26.7.1"), scheduler="plain", catalogue=made(plain=odd))
    assert "plain 1.0.0 goes only with devices <26.0.0, the spec names 26.7.1: it patches the old one (its docs)" in text
    assert "agent and plain go together in no version: leave one of them out" in text


def test_a_fact_that_stands_against_it_says_what_would_have_to_change() -> None:
    text = told("agent", AddonRequest("devices", "26.7.1"), error=Refused, stated={"driver": "580"})
    assert "agent 0.1.7: needs driver >=615, this cluster has 580 (says its spec): the API is newer (README of agent)" in text
    assert "no version of agent may go onto this cluster: leave it out; or: driver >=615 on every node that it uses" in text


def test_another_version_that_would_do_is_named() -> None:
    older = version("agent", "0.1.6", compatibility=fits(replace(DRIVER, range=">=580")))
    newer = made().versions["agent"][0]
    two = made(agent=(older, newer))
    text = told(
        AddonRequest("agent", "0.1.7"), AddonRequest("devices", "26.7.1"), error=Refused, catalogue=two, stated={"driver": "580"}
    )
    assert "with agent 0.1.6 everything holds; name it in the spec; or: driver >=615" in text


def test_what_is_not_known_is_listed_in_the_plan_and_refused_by_a_pinned_channel() -> None:
    requests = ("agent", AddonRequest("devices", "26.7.1"))
    notes = plan(*requests, stated={}).item("agent").notes
    assert notes == ("not checked: driver (unknown), needed: driver >=615 (README of agent)",)
    text = told(*requests, error=Refused, channel="stable", stated={})
    assert "could not be checked (unknown), and channel stable takes nothing on trust" in text
    assert "state `facts: {driver: ...}` in the spec" in text
    assert plan(*requests, channel="stable").item("agent").notes == ()


def test_hardware_is_no_matter_on_the_embedded_target_and_the_plan_says_so() -> None:
    found = plan("agent", AddonRequest("devices", "26.7.1"), target="embedded", stated={"driver": "580"}, channel="stable")
    assert found.item("agent").notes == (
        "not applicable: driver >=615 (the GPUs of the embedded target are simulated) (README of agent)",
    )


def test_notes_do_not_change_the_digest() -> None:
    requests = ("agent", AddonRequest("devices", "26.7.1"))
    assert plan(*requests, stated={}).digest == plan(*requests).digest


def test_a_stray_tag_is_told_as_one_and_never_as_a_version() -> None:
    for text in ("0.20.1", "v0.20.1"):
        said = told(AddonRequest("kai", text, line=7))
        assert "spec.yaml:7:1: addons.kai.version: 0.20.1 of kai is a stray tag and can never be installed" in said
        assert "pushed between two 0.9 releases (there are 0.17.0, 0.18.6)" in said


def test_a_withdrawn_version_is_refused_though_the_channel_has_it() -> None:
    gone = (version("kai", "0.17.0", withdrawn="evicts gangs"), version("kai", "0.18.6"))
    text = told(error=Refused, catalogue=made(kai=gone))
    assert "kai 0.17.0: withdrawn: evicts gangs" in text
    assert "with kai 0.18.6 everything holds" in text


def test_two_schedulers_never_stand_on_one_cluster() -> None:
    assert "kai and plain exclude each other: two schedulers never stand on one cluster" in told("plain")


def test_a_stated_minor_that_the_cluster_does_not_have_is_told() -> None:
    wanted = spec("devices", target=replace(spec().target, kind="cluster", kubernetes="1.35"))
    with pytest.raises(SpecError, match=r"target.kubernetes: the spec states Kubernetes 1.35, the cluster has 1.36"):
        resolve(wanted, made(), facts("cluster"), Choice("kai", "x"))


def test_a_companion_in_lock_step_follows_the_version_that_the_spec_names_whoever_else_requires_it() -> None:
    lock = Requirement("crds", "one release", same_version=True)
    addons = {name: addon(name) for name in ("a-user", "crds", "operator")} | {"kai": addon("kai", role="scheduler")}
    versions = {
        "crds": (version("crds"), version("crds", "2.0.0")),
        "operator": (version("operator", requires=(lock,)), version("operator", "2.0.0", requires=(lock,))),
        "a-user": (version("a-user", requires=(Requirement("crds", "reads them"),)),),
        "kai": (version("kai"),),
    }
    channel = Channel("edge", dict.fromkeys(addons, "1.0.0"), True)
    catalogue = Catalogue(addons, versions, {"edge": channel})
    found = plan("a-user", AddonRequest("operator", "2.0.0"), catalogue=catalogue)
    assert found.item("crds").version == "2.0.0"
    assert found.item("crds").reason == "required by a-user: reads them; same version as operator"
    split = replace(channel, versions={**channel.versions, "operator": "2.0.0"})
    text = told("operator", catalogue=replace(catalogue, channels={"edge": split}))
    assert "operator 2.0.0 needs crds 2.0.0, channel edge has 1.0.0: one release" in text


NAMES = ("a", "b", "c", "d")
NUMBERS = ("1.0.0", "2.0.0", "3.0.0")


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Catalogue, tuple[AddonRequest, ...]]:
    """A small catalogue and a request. Lock-step only ever leads to a later name, as upstream's own does."""
    some = st.sampled_from(["", "", "", "requires", "same", "peer"])
    versions: dict[str, tuple[AddonVersion, ...]] = {"kai": (version("kai"),)}
    for index, name in enumerate(NAMES):
        found = []
        for number in NUMBERS[: draw(st.integers(1, 3))]:
            requires, peers = [], []
            for other in NAMES:
                kind = draw(some) if other != name else ""
                low, high = sorted((draw(st.integers(1, 3)), draw(st.integers(1, 3))))
                range_ = VersionRange(f">={low}.0.0 <={high}.0.0")
                if kind == "same" and NAMES.index(other) > index:
                    requires.append(Requirement(other, "r", same_version=True))
                elif kind == "requires":
                    requires.append(Requirement(other, "r", range=range_))
                elif kind == "peer":
                    peers.append(Peer(other, range_, "r", "s"))
            constraints = (DRIVER,) if draw(st.integers(0, 9)) == 0 else ()
            found.append(
                version(name, number, requires=tuple(requires), compatibility=fits(*constraints, peers=tuple(peers)),
                        withdrawn="w" if draw(st.integers(0, 14)) == 0 else "")
            )  # fmt: skip
        versions[name] = tuple(found)
    addons = {"kai": addon("kai", role="scheduler")}
    for name in NAMES:
        excluded = draw(st.sampled_from(["", "", "", "", *NAMES]))
        addons[name] = addon(name, excludes={excluded: "x"} if excluded and excluded != name else {})
    promised = {name: draw(st.sampled_from([*(v.version for v in versions[name]), versions[name][-1].version])) for name in NAMES}
    for name in NAMES:
        if draw(st.integers(0, 7)) == 0:
            del promised[name]
    asked = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    requests = tuple(
        AddonRequest(name, draw(st.sampled_from(["", "", versions[name][0].version, versions[name][-1].version])))
        for name in asked
    )
    return Catalogue(addons, versions, {"edge": Channel("edge", {"kai": "1.0.0", **promised}, True)}), requests


def answers(catalogue: Catalogue, requests: tuple[AddonRequest, ...]) -> Iterator[Mapping[str, AddonVersion]]:
    """Brute force over all versions of all add-ons, with the promise written down once more."""
    channel, said = catalogue.channels["edge"].versions, {request.name: request.version for request in requests}
    for combination in itertools.product(*[(None, *catalogue.versions[name]) for name in NAMES]):
        chosen = {one.addon: one for one in combination if one} | {"kai": catalogue.versions["kai"][0]}
        if _right(catalogue, chosen, said, channel):
            yield chosen


def _right(catalogue: Catalogue, chosen: Mapping[str, AddonVersion], said: Mapping[str, str], channel: Mapping[str, str]) -> bool:
    if not set(said) <= set(chosen):
        return False
    needed, waiting = set[str](), [*said, "kai"]
    while waiting:
        name = waiting.pop()
        if name not in chosen:
            return False
        if name not in needed:
            needed.add(name)
            waiting += [one.addon for one in chosen[name].requires]
    if needed != set(chosen):
        return False
    for name, one in chosen.items():
        leaders = [
            leader.version
            for leader in chosen.values()
            if leader.version != channel.get(leader.addon)
            for requirement in leader.requires
            if requirement.addon == name and requirement.same_version
        ]
        promised = said.get(name) or (leaders[0] if leaders else channel.get(name))
        if one.version != promised or one.withdrawn or one.compatibility.constraints:
            return False
        for requirement in one.requires:
            other = chosen[requirement.addon].version
            if (requirement.same_version and other != one.version) or not requirement.range.admits(other):
                return False
        if any(peer.addon in chosen and not peer.range.admits(chosen[peer.addon].version) for peer in one.compatibility.peers):
            return False
        if set(catalogue.addons[name].excludes) & set(chosen):
            return False
    return True


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_a_plan_is_the_one_answer_and_none_means_that_there_is_none(world: tuple[Catalogue, tuple[AddonRequest, ...]]) -> None:
    catalogue, requests = world
    right = list(answers(catalogue, requests))
    assert len(right) <= 1
    try:
        found = resolve(spec(*requests, facts=(StatedFact("driver", ("580",)),)), catalogue, facts("cluster"), Choice("kai", "x"))
    except (SpecError, Refused):
        assert not right
    else:
        assert [{item.addon: item.version for item in found.items}] == [{n: v.version for n, v in one.items()} for one in right]

"""Whether a version may go onto a cluster: yes with what to know, no with every reason and what would have to change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from base.errors import NotFound
from catalog.model import Catalogue, Channel, Compatibility, Image, KnownIssue, KubernetesRange, Requirement
from catalog.resolve.resolver import place_of
from catalog.resolve.whynot import Answer, Question, as_data, why_not, why_not_anywhere
from spec.model import AddonRequest, StatedFact
from tests.catalog.resolve.test_promise import made
from tests.catalog.synthetic import addon, facts, spec, version


def asked(name: str, number: str, *requests: AddonRequest | str, scheduler: str = "kai", **fields: Any) -> Answer:
    catalogue: Catalogue = fields.pop("catalogue", None) or made()
    stated = tuple(StatedFact(fact, (value,), 9) for fact, value in fields.pop("stated", {"driver": "615"}).items())
    target = fields.pop("target", "cluster")
    wanted = spec(*requests, facts=stated, **fields)
    return why_not(Question(wanted, catalogue, place_of(wanted, catalogue, facts(target)), scheduler), name, number)


def texts(answer: Answer) -> list[str]:
    return [reason.sentence for reason in answer.reasons]


AGENT = ("agent", AddonRequest("devices", "26.7.1"))


def test_an_old_device_operator_may_not_go_where_fractions_are() -> None:
    answer = asked("devices", "25.3.4", *AGENT)
    assert not answer.may
    assert texts(answer) == ["agent 0.1.7 needs devices >=26.7.1, it would be 25.3.4: its toolkit has the hook"]
    assert answer.change.startswith("take devices 26.7.1 instead, with which everything holds")
    assert [str(effect) for effect in answer.effects] == ["devices 26.7.1 becomes 25.3.4 (the version that was asked about)"]


def test_a_version_that_fits_may_go_with_what_to_know_about_it() -> None:
    answer = asked("devices", "26.7.1", "agent", stated={})
    assert answer.may
    assert answer.reasons == ()
    assert answer.change == ""
    assert [note.sentence for note in answer.notes] == ["channel edge has 25.3.4: the spec has to name this one"]


def test_what_comes_with_it_is_told_and_judged_too() -> None:
    answer = asked("agent", "0.1.7", AddonRequest("devices", "26.7.1"), stated={})
    assert answer.may
    assert [str(effect) for effect in answer.effects] == []
    assert "not checked: driver (unknown), needed: driver >=615 (README of agent)" in [note.sentence for note in answer.notes]
    alone = asked("agent", "0.1.7")
    assert not alone.may
    assert [str(effect) for effect in alone.effects] == [
        "devices 25.3.4 comes with it (required by agent: its toolkit has the hook; version of channel edge)"
    ]
    assert alone.change == "with devices 26.7.1 everything holds; name it in the spec"


def test_what_comes_with_it_and_may_not_be_there_is_a_reason() -> None:
    bad = made(devices=(version("devices", "26.7.1", withdrawn="breaks nodes"),))
    answer = asked("agent", "0.1.7", catalogue=bad)
    assert [str(reason) for reason in answer.reasons] == ["devices 26.7.1: withdrawn: breaks nodes"]


def test_every_reason_of_the_cluster_is_told_with_its_source() -> None:
    answer = asked("agent", "0.1.7", AddonRequest("devices", "26.7.1"), stated={"driver": "580"})
    assert texts(answer) == ["needs driver >=615, this cluster has 580 (says its spec): the API is newer (README of agent)"]
    assert "driver >=615 on every node that it uses" in answer.change
    assert "no version of agent may go onto this cluster" in answer.change


def test_what_is_wrong_with_the_spec_already_is_no_reason_but_is_told() -> None:
    answer = asked("devices", "26.7.1", AddonRequest("kai", "0.20.1"))
    assert answer.may
    (beside,) = [note for note in answer.notes if note.code == "beside"]
    assert "stands against the spec as it is: 0.20.1 of kai is a stray tag" in beside.text


def test_another_scheduler_takes_the_place_of_the_one_that_is_there() -> None:
    answer = asked("plain", "1.0.0", "kai")
    assert answer.may
    assert [str(effect) for effect in answer.effects] == [
        "kai 0.17.0 goes (two schedulers never stand on one cluster)",
    ]
    assert asked("plain", "1.0.0", scheduler="").may


def test_what_excludes_it_is_a_reason() -> None:
    base = made(agent=(version("agent", "0.1.7"),))
    catalogue = replace(base, addons={**base.addons, "devices": addon("devices", excludes={"agent": "they share the hook"})})
    answer = asked("devices", "26.7.1", "agent", catalogue=catalogue)
    assert texts(answer) == ["devices and agent exclude each other: they share the hook"]
    assert answer.change == "agent and devices go together in no version: leave one of them out"


def test_issues_pins_and_what_was_not_tried_are_told() -> None:
    issue = KnownIssue("i-1", "hangs", "x#1", guard="a.b", cost="time")
    odd = version("devices", "26.7.1", issues=(issue, replace(issue, id="i-2", guard="", cost="restart it")),
                  unverified=("hardware",), images=(Image("r.invalid/x:1"),))  # fmt: skip
    answer = asked("devices", "26.7.1", catalogue=made(devices=(odd,)))
    notes = [note.sentence for note in answer.notes]
    assert "known issue i-1: hangs; guarded by a.b (costs: time) (x#1)" in notes
    assert "known issue i-2: hangs; nothing guards against it (restart it) (x#1)" in notes
    assert "not tried here: hardware" in notes
    assert "images not known by digest" in notes
    assert "the version of channel edge" in notes


@pytest.mark.parametrize("number", ["0.20.1", "v0.20.1"])
def test_a_stray_tag_may_go_nowhere_and_says_why(number: str) -> None:
    for answer in (asked("kai", number), why_not_anywhere(made(), "kai", number)):
        assert not answer.may
        assert texts(answer) == ["is a stray tag and no release: pushed between two 0.9 releases"]
        assert answer.change == "take a release: there are 0.17.0, 0.18.6"


@pytest.mark.parametrize(
    ("name", "number", "todo"),
    [
        ("kia", "1.0.0", "did you mean kai?"),
        ("kai", "0.18.7", r"did you mean 0.18.6.*there are 0.17.0, 0.18.6"),
        ("kai", "nonsense", "there are 0.17.0, 0.18.6"),
    ],
)
def test_what_is_not_there_is_not_found_with_what_is_near(name: str, number: str, todo: str) -> None:
    with pytest.raises(NotFound, match=todo):
        asked(name, number)
    with pytest.raises(NotFound, match=todo):
        why_not_anywhere(made(), name, number)


def test_without_a_cluster_it_tells_what_the_version_needs() -> None:
    answer = why_not_anywhere(made(), "agent", "v0.1.7")
    assert answer.may
    assert [note.sentence for note in answer.notes] == [
        "needs Kubernetes 1.30 to 1.36 (made up)",
        "may be installed on embedded or kind or cluster",
        "needs driver >=615: the API is newer (README of agent)",
        "requires devices >=26.7.1: its toolkit has the hook",
        "in channel edge and stable",
    ]
    gone = made(agent=(version("agent", "0.1.7", withdrawn="wrong"),))
    assert texts(why_not_anywhere(gone, "agent", "0.1.7")) == ["withdrawn: wrong"]
    assert "in no channel: a spec has to name it" in [n.text for n in why_not_anywhere(made(), "devices", "26.7.1").notes]


def test_a_required_version_that_is_not_in_the_catalogue_is_a_reason() -> None:
    base = Compatibility(KubernetesRange("1.30", "1.36", "x"))
    lone = version("agent", "0.1.7", requires=(Requirement("devices", "its hook"),), compatibility=base)
    catalogue = replace(made(agent=(lone,)), channels={"edge": Channel("edge", {"kai": "0.17.0", "agent": "0.1.7"}, True)})
    answer = asked("agent", "0.1.7", catalogue=catalogue)
    assert texts(answer) == ["channel edge has no version of devices"]
    assert "there are 25.3.4, 26.7.1; or name a version" in answer.change or "with devices" in answer.change


def test_an_answer_as_data_holds_all_of_it() -> None:
    data = as_data(asked("devices", "25.3.4", *AGENT))
    assert (data["may"], data["cluster"], data["addon"]) == (False, "c", "devices")
    (reason,) = data["reasons"]  # type: ignore[misc]
    assert reason["code"] == "requires"
    assert data["others"] == [
        {"addon": "devices", "before": "26.7.1", "after": "25.3.4", "why": "the version that was asked about"}
    ]

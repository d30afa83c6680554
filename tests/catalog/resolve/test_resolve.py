"""From spec to plan: versions with reasons, in order, or all that stands against it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import Exit, Refused, SpecError, exit_code
from catalog.model import Compatibility, Embedded, KubernetesRange
from catalog.plan import Plan, Program
from catalog.resolve.choice import Choice
from catalog.resolve.resolver import newest_kubernetes, resolve, wanted_scheduler
from spec.model import AddonRequest, ClusterSpec, NodePool
from tests.catalog.synthetic import catalogue, facts, spec, version

MODEL = Choice("model", "nothing else can be had")


def plan(*addons: AddonRequest | str, choice: Choice = MODEL, **fields: Any) -> Plan:
    place = facts(**fields.pop("facts", {}))
    return resolve(spec(*addons, **fields), catalogue(), place, choice)


def wrong(*addons: AddonRequest | str, choice: Choice = MODEL, **fields: Any) -> str:
    with pytest.raises(SpecError) as caught:
        plan(*addons, choice=choice, **fields)
    assert exit_code(caught.value) is Exit.INVALID_INPUT
    return str(caught.value)


def refused(*addons: AddonRequest | str, choice: Choice = MODEL, **fields: Any) -> str:
    with pytest.raises(Refused) as caught:
        plan(*addons, choice=choice, **fields)
    assert exit_code(caught.value) is Exit.REFUSED
    return str(caught.value)


def test_what_is_required_is_pulled_in_and_comes_first() -> None:
    items = plan("operator").items
    assert [(item.addon, item.version) for item in items] == [
        ("certs", "2.0.0"),
        ("model", "1.0.0"),
        ("operator-crds", "1.1.0"),
        ("operator", "1.1.0"),
    ]


def test_every_item_says_why_it_is_there_and_why_this_version() -> None:
    made = plan(AddonRequest("operator", "1.0.0", line=7))
    assert made.item("operator").reason == "asked for by the spec; named in the spec"
    assert made.item("operator-crds").reason == "required by operator: its kinds; same version as operator"
    assert made.item("certs").reason.startswith("required by operator: its certificate; version of channel edge; simulated")
    assert made.item("model").reason.startswith("scheduler of the cluster; version of channel edge")
    assert (made.scheduler, made.scheduler_reason) == ("model", "nothing else can be had")


def test_a_version_may_be_written_with_a_v() -> None:
    assert plan(AddonRequest("operator", "v1.0.0")).item("operator").version == "1.0.0"


def test_values_are_defaults_then_the_specs_then_the_guards() -> None:
    item = plan(AddonRequest("operator", values={"replicas": 3, "more": {"x": 1}})).item("operator")
    assert item.values == {"replicas": 3, "tag": "v1.1.0", "more": {"x": 1}, "crds": {"enabled": False}}
    assert item.guards == ("crds.enabled=false: they are an add-on of their own (costs: one more line in the plan)",)


def test_states_follow_from_what_the_place_has() -> None:
    queues = Choice("queues", "x")
    assert plan("certs").item("certs").state == "simulated"
    assert plan("operator").item("operator").state == "real"
    assert plan().item("model").state == "reference"
    assert plan(choice=queues).item("queues").state == "simulated"
    assert plan(choice=queues, facts={"kai_binaries": Path("/kai")}).item("queues").state == "real"
    assert plan("certs", choice=queues, facts={"target": "kind"}).item("certs").state == "real"


def test_programs_belong_to_real_items_of_the_embedded_target_only() -> None:
    queues = Choice("queues", "x")
    real = plan(choice=queues, facts={"kai_binaries": Path("/kai")}).item("queues")
    assert [program.tool for program in real.programs] == ["kai:scheduler"]
    assert real.simulated == ()
    simulated = plan(choice=queues).item("queues")
    assert simulated.programs == ()
    assert simulated.simulated == ("queues/queues",)
    elsewhere = plan(choice=queues, facts={"target": "cluster"}).item("queues")
    assert (elsewhere.programs, elsewhere.simulated, elsewhere.webhooks) == ((), (), ())


def test_a_program_of_each_node_pool_is_one_program_for_each() -> None:
    made = catalogue()
    embedded = Embedded(programs=(Program("model/model-{pool}", "m"), Program("model/one", "m")))
    versions = {**made.versions, "model": (replace(made.versions["model"][0], embedded=embedded),)}
    pools = (NodePool("big"), NodePool("default"))
    item = resolve(spec(node_pools=pools), replace(made, versions=versions), facts(), MODEL).item("model")
    assert [p.workload for p in item.programs] == ["model/model-default", "model/model-big", "model/one"]


def test_webhooks_without_a_program_are_not_exercised_and_say_why() -> None:
    assert [webhook.exercised for webhook in plan("operator").item("operator").webhooks] == [True]
    unserved = plan(choice=Choice("queues", "x")).item("queues").webhooks[0]
    assert not unserved.exercised
    assert "its programs were not given" in unserved.reason


def test_an_unknown_addon_is_told_with_the_nearest_names() -> None:
    text = wrong("oprator", "certs")
    assert "spec.yaml:5:1: addons.oprator: unknown add-on 'oprator' (did you mean operator" in text


def test_all_unknown_addons_are_told_at_once() -> None:
    assert "2 problems" in wrong("oprator", "sertz")


def test_a_version_that_is_not_there_is_told_with_those_there_are() -> None:
    text = wrong(AddonRequest("operator", "9.9.9", line=4))
    assert (
        "spec.yaml:4:1: addons.operator.version: version 9.9.9 of operator is not in the catalogue (there are 1.0.0, 1.1.0)"
        in text
    )


def test_two_addons_that_exclude_each_other_are_told_once_with_the_reason() -> None:
    text = wrong("queues", "model")
    assert text.count("exclude each other") == 1
    assert "model and queues exclude each other: both own the pods" in text


def test_an_unknown_channel_is_told_with_the_nearest_names() -> None:
    assert "channel: unknown channel 'stabel' (did you mean stable?)" in wrong(channel="stabel")


def test_a_scheduler_that_schedules_nothing_is_refused_with_those_that_do() -> None:
    assert "'certs' schedules no GPU work" in wrong(choice=Choice("certs", "x"))


def test_a_required_version_that_the_spec_contradicts_is_told() -> None:
    text = wrong(AddonRequest("operator", "1.0.0"), AddonRequest("operator-crds", "1.1.0", line=6))
    assert "spec.yaml:6:1: addons.operator-crds.version: operator 1.0.0 needs operator-crds 1.0.0, the spec names 1.1.0" in text


def test_an_addon_that_the_channel_leaves_out_is_told_with_the_channel_that_has_it() -> None:
    assert "channel stable has no version of model (channel edge has one; or name a version)" in wrong(channel="stable")


def test_the_reference_engine_is_refused_anywhere_but_on_the_embedded_target() -> None:
    assert "model 1.0.0: may be installed on embedded only" in refused(facts={"target": "cluster"})


def test_a_kubernetes_that_nobody_declared_is_refused_with_the_source() -> None:
    text = refused(facts={"kubernetes": "1.37.2"})
    assert "model 1.0.0: declared for Kubernetes 1.30 to 1.36, this cluster has 1.37.2 (made up)" in text
    assert "no version of model may go onto this cluster: leave it out; or: a cluster of Kubernetes 1.30 to 1.36" in text
    assert "this cluster has v1.29" in refused(facts={"kubernetes": "v1.29"})


def test_a_pinned_channel_refuses_what_is_unpinned_and_says_what() -> None:
    text = refused(
        AddonRequest("certs", "2.0.0"), AddonRequest("queues", "1.0.0"), channel="stable", choice=Choice("queues", "x")
    )
    assert "certs 2.0.0: image registry.invalid/certs:2.0.0 unpinned, and channel stable takes only" in text
    assert "queues 1.0.0: its chart is unpinned" in text


def test_a_value_that_a_guard_holds_is_refused_with_the_reason() -> None:
    text = refused(AddonRequest("operator", values={"crds": {"enabled": True}}))
    assert "set crds.enabled to true, the package holds it at false: they are an add-on of their own" in text
    assert "holds it at false" in refused(AddonRequest("operator", values={"crds": "all"}))


def test_a_value_that_agrees_with_a_guard_is_no_matter() -> None:
    assert plan(AddonRequest("operator", values={"crds": {"enabled": False}}))


def test_the_same_input_makes_the_same_plan_whatever_its_order() -> None:
    assert plan("operator", "certs").digest == plan("certs", "operator").digest


def test_the_digest_follows_what_reaches_the_cluster_and_not_the_reasons() -> None:
    one = plan("operator")
    assert plan("operator", choice=replace(MODEL, reason="another")).digest == one.digest
    assert plan(AddonRequest("operator", values={"replicas": 3})).digest != one.digest
    assert plan(AddonRequest("operator", "1.0.0")).digest != one.digest


def test_a_scheduler_among_the_addons_is_as_good_as_named() -> None:
    assert wanted_scheduler(spec("queues"), catalogue()) == "queues"
    assert wanted_scheduler(spec("certs"), catalogue()) == "auto"
    assert wanted_scheduler(spec("queues", scheduler="model"), catalogue()) == "model"


def test_the_newest_kubernetes_that_all_declare_is_found() -> None:
    made = catalogue()
    narrow = version("certs", "2.0.0", compatibility=Compatibility(KubernetesRange("1.30", "1.35", "x")))
    versions = {**made.versions, "certs": (narrow,)}
    assert newest_kubernetes(spec("certs"), replace(made, versions=versions), "model", ["1.35", "1.37", "1.36"]) == "1.35"
    assert newest_kubernetes(spec(), made, "model", ["1.9", "1.36", "1.37"]) == "1.36"
    with pytest.raises(Refused, match="suits all add-ons"):
        newest_kubernetes(spec(), made, "model", ["1.37"])


NAMES = st.sets(st.sampled_from(["certs", "operator", "operator-crds"]))


@given(
    names=NAMES,
    order=st.randoms(use_true_random=False),
    channel=st.sampled_from(["edge"]),
    scheduler=st.sampled_from(["model", "queues"]),
)
def test_every_plan_satisfies_what_its_addons_require(names: set[str], order: Any, channel: str, scheduler: str) -> None:
    listed = sorted(names)
    order.shuffle(listed)
    made = catalogue()
    given_spec: ClusterSpec = spec(*listed, channel=channel)
    items = resolve(given_spec, made, facts(), Choice(scheduler, "x")).items
    placed = {item.addon: index for index, item in enumerate(items)}
    assert set(placed) >= {*names, scheduler}
    for item in items:
        found = made.version(item.addon, item.version)
        assert found is not None
        assert not set(made.addons[item.addon].excludes) & set(placed)
        for requirement in found.requires:
            assert placed[requirement.addon] < placed[item.addon]
            if requirement.same_version:
                assert items[placed[requirement.addon]].version == item.version

"""One version against one cluster: what holds, what does not, what could not be checked, what does not apply."""

from __future__ import annotations

from typing import Any

import pytest

from catalog.model import Channel, Compatibility, Constraint, FactName, Fingerprint, Image, KubernetesRange, OciSource
from catalog.resolve.needs import Judgement, Place, judge
from tests.catalog.synthetic import addon, version

EDGE, STABLE = Channel("edge", {}, True), Channel("stable", {}, False)
DRIVER = Constraint("driver", "the API is newer", "its README", range=">=615")


def judged(
    *constraints: Constraint, target: str = "cluster", channel: Channel = EDGE, config: Any = None, **facts: str
) -> Judgement:
    known = {name: (value,) for name, value in facts.items()}
    sources = dict.fromkeys(facts, "nodes")
    place = Place(target, Fingerprint({"kubernetes": ("1.36",), **known}, {"kubernetes": "api", **sources}), channel)
    schema = {"type": "object", "properties": {"fractions": {"type": "boolean", "default": False}}}
    made = version("demo", compatibility=Compatibility(KubernetesRange("1.30", "1.36", "x"), constraints), config_schema=schema)
    return judge(addon("demo"), made, place, config or {})


def test_a_need_that_is_met_is_no_matter() -> None:
    assert judged(DRIVER, driver="615.71.09") == Judgement((), ())


def test_a_need_that_is_not_met_says_what_is_there_who_says_so_and_who_asks_for_it() -> None:
    (finding,) = judged(DRIVER, driver="580.95.05").against
    assert finding.code == "constraint"
    assert str(finding) == (
        "demo 1.0.0: needs driver >=615, this cluster has 580.95.05 (say its nodes): the API is newer (its README)"
    )
    assert finding.todo == "driver >=615 on every node that it uses"


def test_one_node_that_does_not_meet_it_is_enough() -> None:
    place = Place("cluster", Fingerprint({"driver": ("580.95.05", "615.1")}, {"driver": "nodes"}), EDGE)
    made = version("demo", compatibility=Compatibility(KubernetesRange("1.30", "", "x"), (DRIVER,)))
    assert "this cluster has 580.95.05 (" in judge(addon("demo"), made, place, {}).against[0].text


@pytest.mark.parametrize(("facts", "why"), [({}, "unknown"), ({"driver": "v"}, "v does not say enough")])
def test_what_is_not_known_is_neither_met_nor_missed(facts: dict[str, str], why: str) -> None:
    made = judged(DRIVER, **facts)
    assert made.against == ()
    assert made.notes[0].text == f"not checked: driver ({why}), needed: driver >=615"


def test_a_branch_does_not_answer_for_a_patch_level() -> None:
    finer = Constraint("driver", "r", "s", range=">=615.71")
    assert judged(finer, driver="615").notes[0].code == "not-checked"
    assert judged(finer, driver="614").against[0].code == "constraint"


def test_a_pinned_channel_takes_no_unchecked_need_on_a_real_cluster() -> None:
    (finding,) = judged(DRIVER, channel=STABLE).against
    assert finding.code == "unchecked"
    assert "needs driver >=615, which could not be checked (unknown), and channel stable takes nothing on trust" in finding.text
    assert finding.todo == "state `facts: {driver: ...}` in the spec"
    assert judged(DRIVER, channel=STABLE, target="kind").against == ()
    assert judged(DRIVER, channel=STABLE, driver="615").against == ()


HARDWARE: list[FactName] = ["driver", "cuda", "gpu", "mig", "kernel", "containerd", "nri", "cgroup"]


@pytest.mark.parametrize("fact", HARDWARE)
def test_hardware_is_not_applicable_on_the_embedded_target_and_says_so(fact: FactName) -> None:
    ordered = fact in ("driver", "cuda", "kernel", "containerd")
    constraint = Constraint(fact, "r", "s", range=">=99" if ordered else "", words=() if ordered else ("on",))
    made = judged(constraint, target="embedded", channel=STABLE)
    assert made.against == ()
    assert made.notes[0].code == "not-applicable"
    assert made.notes[0].text.startswith(f"not applicable: {fact} ")
    assert "embedded target" in made.notes[0].text


def test_the_gpus_of_a_kind_target_are_simulated_and_its_nodes_are_not() -> None:
    assert judged(DRIVER, target="kind").notes[0].code == "not-applicable"
    assert judged(Constraint("cgroup", "r", "s", words=("v2",)), target="kind", cgroup="v1").against


def test_words_are_compared_as_they_are_and_products_up_to_their_mode() -> None:
    system = Constraint("os", "r", "s", words=("ubuntu", "rhel"))
    assert judged(system, os="rhel").against == ()
    assert "needs os ubuntu or rhel, this cluster has sles" in judged(system, os="sles").against[0].text
    product = Constraint("gpu", "r", "s", words=("NVIDIA-H100-80GB-HBM3",))
    assert judged(product, gpu="NVIDIA-H100-80GB-HBM3-MIG-1g.10gb").against == ()
    assert judged(product, gpu="NVIDIA-H100-80GB-HBM3e").against


def test_a_need_of_a_configuration_counts_only_where_that_is_set() -> None:
    nri = Constraint("nri", "r", "s", words=("on",), when="fractions")
    assert judged(nri, nri="off") == Judgement((), ())
    assert judged(nri, nri="off", config={"fractions": True}).against[0].code == "constraint"
    assert judged(Constraint("nri", "r", "s", words=("on",), when="no.such"), nri="off") == Judgement((), ())


def test_a_version_that_was_withdrawn_says_why() -> None:
    place = Place("cluster", Fingerprint({"kubernetes": ("1.36",)}, {}), EDGE)
    (finding,) = judge(addon("demo"), version("demo", withdrawn="loses jobs"), place, {}).against
    assert str(finding) == "demo 1.0.0: withdrawn: loses jobs"


def test_all_reasons_are_told() -> None:
    place = Place("cluster", Fingerprint({"kubernetes": ("1.40",), "driver": ("580",)}, {"driver": "spec"}), STABLE)
    made = version(
        "demo",
        withdrawn="w",
        source=OciSource("r.invalid/x", "v1"),
        images=(Image("r.invalid/x:1"), Image("r.invalid/y:1")),
        compatibility=Compatibility(KubernetesRange("1.30", "1.36", "x"), (DRIVER,)),
    )
    codes = [finding.code for finding in judge(addon("demo", targets=("embedded",)), made, place, {}).against]
    assert codes == ["withdrawn", "target", "kubernetes", "constraint", "unpinned", "unpinned"]


def test_a_cluster_that_nobody_has_looked_at_has_no_known_minor() -> None:
    place = Place("cluster", Fingerprint(), EDGE)
    assert judge(addon("demo"), version("demo"), place, {}).notes[0].text.startswith("not checked: kubernetes (unknown)")

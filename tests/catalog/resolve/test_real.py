"""Telling cases over the real catalogue: why some versions may not go onto some clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from catalog.plan import Facts
from catalog.read.load import load
from catalog.resolve.resolver import place_of
from catalog.resolve.whynot import Answer, Question, why_not
from spec.model import AddonRequest, ClusterSpec, StatedFact, Target, Tenancy

CATALOGUE = load()
OLD_GPU_OPERATOR = "0.0.0-20250917190837-d73a0086a6ba"
#: A cluster that has what fractions of GPUs need.
FIT = {
    "driver": "615.71.09",
    "cuda": "13.4",
    "containerd": "2.1.4",
    "nri": "on",
    "cgroup": "v2",
    "mig": "off",
    "architecture": "amd64",
}


def asked(addon: str, version: str, *addons: AddonRequest | str, facts: dict[str, str] = FIT, minor: str = "1.33") -> Answer:
    requests = tuple(AddonRequest(one) if isinstance(one, str) else one for one in addons)
    stated = tuple(StatedFact(name, (value,)) for name, value in facts.items())
    fields: dict[str, Any] = {"node_pools": (), "tenancy": Tenancy(), "source": Path("spec.yaml"), "facts": stated}
    spec = ClusterSpec("customer", Target("cluster"), "edge", "kai-scheduler", requests, **fields)
    known = Facts("cluster", minor, Path("k"), "uid", Path("s"))
    return why_not(Question(spec, CATALOGUE, place_of(spec, CATALOGUE, known), "kai-scheduler"), addon, version)


def newest(addon: str) -> str:
    return CATALOGUE.names(addon)[-1]


FRACTIONS = tuple(AddonRequest(name, newest(name)) for name in ("gpu-fractioning", "gpu-operator", "kai-scheduler"))


def test_the_gpu_operator_of_2025_may_not_go_where_fractions_are() -> None:
    answer = asked("gpu-operator", OLD_GPU_OPERATOR, *FRACTIONS)
    assert not answer.may
    blamed = [reason for reason in answer.reasons if {reason.addon, reason.other} == {"gpu-fractioning", "gpu-operator"}]
    assert blamed, [str(reason) for reason in answer.reasons]
    assert any(">=26.7" in reason.text for reason in blamed)
    assert f"gpu-operator {newest('gpu-operator')}" in answer.change


def test_fractions_may_go_where_all_that_they_need_is() -> None:
    answer = asked("gpu-fractioning", newest("gpu-fractioning"), *FRACTIONS)
    assert answer.may, [str(reason) for reason in answer.reasons]


@pytest.mark.parametrize(("fact", "value"), [("driver", "595.91.07"), ("nri", "off"), ("cgroup", "v1"), ("containerd", "1.7.30")])
def test_fractions_may_not_go_where_one_of_these_is_missing(fact: str, value: str) -> None:
    answer = asked("gpu-fractioning", newest("gpu-fractioning"), *FRACTIONS, facts={**FIT, fact: value})
    assert not answer.may
    assert any(reason.text.startswith(f"needs {fact} ") and value in reason.text for reason in answer.reasons)


def test_the_stray_tag_of_kai_is_explained() -> None:
    answer = asked("kai-scheduler", "0.20.1")
    assert not answer.may
    assert [reason.code for reason in answer.reasons] == ["stray"]


def test_the_bundle_of_kai_and_quota_objects_never_stands_beside_kai_itself() -> None:
    answer = asked("kai-resource-management", newest("kai-resource-management"))
    assert [(effect.addon, effect.after) for effect in answer.effects] == [("kai-scheduler", "")]

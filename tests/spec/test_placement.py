"""What a cluster asks of add-on pods is read whole, and every mistake in it is told with its place."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import SpecError
from spec.load import loads
from spec.model import ClusterSpec, Placement

HEAD = "cluster: c\ntarget: {kind: kind}\n"


def read(text: str) -> ClusterSpec:
    return loads((HEAD + text).encode(), Path("spec.yaml"))


def test_a_spec_without_one_asks_for_nothing() -> None:
    assert read("").placement == Placement()
    assert not read("").placement


def test_everything_that_can_be_asked_for_is_read() -> None:
    text = """\
placement:
  tolerations:
    - {key: infra, operator: Exists, effect: NoSchedule}
    - {key: pool, value: addons}
    - {key: slow, operator: Exists, effect: NoExecute, tolerationSeconds: 60}
    - {operator: Exists}
  nodeSelector: {node-role.kubernetes.io/infra: "", role: infra}
  priorityClassName: system-cluster-critical
  imagePullSecrets: [mirror]
  registry: mirror.example:5000/chandlery/
"""
    assert read(text).placement == Placement(
        tolerations=(
            {"operator": "Exists", "key": "infra", "effect": "NoSchedule"},
            {"operator": "Equal", "key": "pool", "value": "addons"},
            {"operator": "Exists", "key": "slow", "effect": "NoExecute", "tolerationSeconds": 60},
            {"operator": "Exists"},
        ),
        node_selector={"node-role.kubernetes.io/infra": "", "role": "infra"},
        priority_class="system-cluster-critical",
        pull_secrets=("mirror",),
        registry="mirror.example:5000/chandlery",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("placement: []", "expected a mapping such as {nodeSelector"),
        ("placement: {nodeselector: {}}", "unknown field (did you mean nodeSelector"),
        ("placement: {tolerations: [{operator: Exists, value: x}]}", "has no meaning beside operator Exists"),
        ("placement: {tolerations: [{value: x}]}", "only operator Exists goes without a key"),
        ("placement: {tolerations: [{key: a, effect: noschedule}]}", "is not one of NoSchedule, PreferNoSchedule, NoExecute"),
        ("placement: {tolerations: [{key: a, tolerationSeconds: 5}]}", "effect NoExecute only"),
        ("placement: {tolerations: [{key: 'a b'}]}", "is no taint key"),
        ("placement: {nodeSelector: {role: 'a b'}}", "is no label value"),
        ("placement: {nodeSelector: {role: true}}", "expected a word, found the truth value true"),
        ("placement: {nodeSelector: {'-x': y}}", "is no label key"),
        ("placement: {priorityClassName: Very High}", "is no name of a Kubernetes object"),
        ("placement: {imagePullSecrets: [A_B]}", "is no name of a Kubernetes object"),
        ("placement: {registry: 'https://mirror.example'}", "without a scheme"),
    ],
)
def test_a_mistake_is_told_with_its_line(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(text)
    assert message in str(caught.value)
    assert "spec.yaml:3:" in str(caught.value)


def test_a_request_carries_its_configuration_and_where_it_stands() -> None:
    (request,) = read("addons:\n  demo:\n    config: {replicas: 2}\n    values: {a: {b: 1}}\n").addons
    assert (request.config, request.values) == ({"replicas": 2}, {"a": {"b": 1}})
    assert request.body is not None
    assert request.body.entries["config"].position.line == 5


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**12) | st.text(max_size=6) | st.sampled_from(["Exists", "NoExecute", "a/b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)
FIELDS = ["tolerations", "nodeSelector", "priorityClassName", "imagePullSecrets", "registry", "x"]
TOLERATION = st.dictionaries(st.sampled_from(["key", "operator", "value", "effect", "tolerationSeconds"]), JUNK, max_size=4)


@given(st.dictionaries(st.sampled_from(FIELDS), JUNK | st.lists(TOLERATION, max_size=2), max_size=4) | JUNK)
def test_whatever_is_written_is_read_or_told(placement: Any) -> None:
    with contextlib.suppress(SpecError):
        read(f"placement: {json.dumps(placement)}\n")

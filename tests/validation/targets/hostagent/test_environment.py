"""Command line and environment of a program, from the pod spec and the program table."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import InvalidInput
from tests.validation.targets.hostagent.pods import place, pod
from validation.targets.embedded.hostagent.environment import (
    NotYet,
    command_line,
    environment,
    expand,
    field,
    quantity,
    resource,
)
from validation.targets.embedded.programs import RealProgram

CONTENT = {("Secret", "s"): {"key": "hidden"}, ("ConfigMap", "c"): {"a": "1", "b": "2"}}


def read(kind: str, name: str) -> Mapping[str, str] | None:
    return CONTENT.get((kind, name))


def _environment(*entries: dict[str, Any], **container: Any) -> dict[str, str]:
    return environment(pod(), {"name": "main", "env": list(entries), **container}, place(), read)


def test_values_refer_to_earlier_ones_only() -> None:
    found = _environment({"name": "B", "value": "$(A)"}, {"name": "A", "value": "x"}, {"name": "C", "value": "<$(A)>$$(A)"})
    assert found == {"B": "$(A)", "A": "x", "C": "<x>$(A)"}


def test_secrets_config_maps_and_fields_are_filled_in() -> None:
    found = _environment(
        {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "key"}}},
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "MISSING", "valueFrom": {"secretKeyRef": {"name": "s", "key": "other", "optional": True}}},
        envFrom=[{"configMapRef": {"name": "c"}, "prefix": "P_"}],
    )
    assert found == {"S": "hidden", "IP": "127.128.0.16", "NS": "ns", "P_a": "1", "P_b": "2"}


@pytest.mark.parametrize(
    "source",
    [
        {"env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "none", "key": "k"}}}]},
        {"env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "none"}}}]},
        {"envFrom": [{"secretRef": {"name": "none"}}]},
    ],
)
def test_what_does_not_exist_yet_is_waited_for(source: dict[str, Any]) -> None:
    with pytest.raises(NotYet) as wait:
        environment(pod(), {"name": "main", **source}, place(), read)
    assert wait.value.reason == "CreateContainerConfigError"


def test_an_unknown_kind_of_source_is_an_error_and_not_an_empty_value() -> None:
    with pytest.raises(InvalidInput, match="not supported"):
        _environment({"name": "X", "valueFrom": {"fileKeyRef": {}}})


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "web-5f7-x"),
        ("metadata.labels['app']", "web"),
        ("metadata.annotations['none']", ""),
        ("metadata.annotations", 'note="n"'),
        ("spec.serviceAccountName", "robot"),
        ("status.hostIP", "198.18.0.1"),
    ],
)
def test_fields_of_the_downward_api(path: str, expected: str) -> None:
    assert field(pod(), path, place()) == expected


def test_a_field_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not one"):
        field(pod(), "spec.containers", place())


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"resource": "limits.cpu"}, "2"),
        ({"resource": "limits.memory", "divisor": "1Mi"}, "512"),
        ({"resource": "requests.cpu", "divisor": "1m"}, "100"),
        ({"resource": "requests.memory"}, "0"),
    ],
)
def test_resources_are_divided_and_rounded_up(reference: dict[str, str], expected: str) -> None:
    container = {"resources": {"limits": {"cpu": "1500m", "memory": "512Mi"}, "requests": {"cpu": "100m"}}}
    assert resource(container, reference) == expected


@given(st.integers(0, 10**9), st.sampled_from([("Ki", 2**10), ("Mi", 2**20), ("k", 10**3), ("G", 10**9), ("", 1)]))
def test_quantities_mean_what_their_unit_says(number: int, unit: tuple[str, int]) -> None:
    assert quantity(f"{number}{unit[0]}") == Decimal(number * unit[1])


@pytest.mark.parametrize("text", ["", "x", "1Q", "-", "1 Gi"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="not a quantity"):
        quantity(text)


def _line(args: tuple[str, ...], own: list[str] | None = None) -> list[str]:
    container = {"name": "main", "command": ["/in/image"], "args": own or ["--a", "$(X)"]}
    where = place(certs=Path("/vol/certs"))
    return command_line(RealProgram("ns/web", ("/bin/p", "-q"), args), pod(), container, {"X": "y"}, where, lambda: 4242)


def test_the_program_takes_the_place_of_the_command_and_keeps_the_containers_arguments() -> None:
    assert _line(()) == ["/bin/p", "-q", "--a", "y"]


def test_arguments_of_the_table_replace_the_containers_or_stand_around_them() -> None:
    assert _line(("--listen", "{pod_ip}:{port}")) == ["/bin/p", "-q", "--listen", "127.128.0.16:4242"]
    assert _line(("{args}", "--certs={volume:certs}")) == ["/bin/p", "-q", "--a", "y", "--certs=/vol/certs"]
    assert _line(("{namespace}/{pod}", "{unknown}")) == ["/bin/p", "-q", "ns/web-5f7-x", "{unknown}"]


def test_a_volume_that_the_pod_has_not_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="no volume 'none'"):
        _line(("{volume:none}",))


@given(st.text())
def test_expanding_never_fails_and_leaves_plain_text_alone(text: str) -> None:
    found = expand(text, {})
    assert found == text or "$$" in text

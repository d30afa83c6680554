"""Which item a comparison takes: the plan's own, that of a plan with another version, or the package's alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from base.errors import NotFound
from base.events import QuietReporter
from catalog.resolve.choice import Choice
from catalog.resolve.resolver import resolve
from catalog.supply.items import find_version, item_of
from cli.context import App
from cli.session import Session
from cli.verbs.catalog.items import item_for
from spec.model import AddonRequest
from tests.catalog.synthetic import addon, catalogue, facts, spec, version


class Telling(QuietReporter):
    def __init__(self) -> None:
        self.told: list[str] = []

    def event(self, kind: str, message: str, **fields: Any) -> None:
        del kind, fields
        self.told.append(message)


def session(*addons: AddonRequest | str) -> tuple[Session, Telling]:
    telling, made, known, choice = Telling(), spec(*addons), catalogue(), Choice("queues", "x")
    plan = resolve(made, known, facts(), choice)
    return Session(App(Path("state"), False, telling), made, known, facts(), choice, plan), telling


def test_without_a_cluster_a_version_has_the_packages_values() -> None:
    item = item_for(catalogue(), None, "operator", "1.1.0")
    assert item.values == {"replicas": 2, "tag": "v1.1.0", "crds": {"enabled": False}}
    assert item.requires == ("operator-crds", "certs")


def test_the_plans_own_version_is_the_plans_item() -> None:
    opened, _ = session(AddonRequest("operator", values={"replicas": 5}))
    planned = opened.plan.item("operator")
    assert item_for(opened.catalogue, opened, "operator", planned.version) is planned


def test_another_version_is_planned_with_the_specs_values() -> None:
    opened, telling = session(AddonRequest("operator", version="1.0.0", values={"replicas": 5}))
    item = item_for(opened.catalogue, opened, "operator", "1.1.0")
    assert (item.version, item.values["replicas"], item.values["tag"]) == ("1.1.0", 5, "v1.1.0")
    assert telling.told == []


def test_a_version_that_may_not_go_there_is_taken_all_the_same_and_told() -> None:
    opened, telling = session(
        AddonRequest("operator", version="1.0.0", values={"replicas": 5}), AddonRequest("operator-crds", "1.0.0")
    )
    item = item_for(opened.catalogue, opened, "operator", "1.1.0")
    assert (item.version, item.values["replicas"]) == ("1.1.0", 5)
    (message,) = telling.told
    assert message.startswith("operator 1.1.0 may not go onto c: ")


def test_the_target_is_a_customers_cluster_where_there_is_a_choice() -> None:
    told = version("demo", values_template="defaults: {target: '{{ target }}'}\nguards: {}\n")
    assert item_of(addon("demo"), told).values == {"target": "cluster"}
    assert item_of(addon("demo", targets=("embedded",)), told).values == {"target": "embedded"}
    assert item_of(addon("demo"), told, target="kind").values == {"target": "kind"}


def test_what_the_catalogue_does_not_have_is_told_with_what_it_has() -> None:
    assert find_version(catalogue(), "operator", "v1.1.0")[1].version == "1.1.0"
    with pytest.raises(NotFound, match=r"there are 1\.0\.0, 1\.1\.0"):
        find_version(catalogue(), "operator", "3.0.0")
    with pytest.raises(NotFound, match="did you mean operator"):
        find_version(catalogue(), "operater", "1.0.0")

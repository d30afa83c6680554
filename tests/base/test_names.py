"""Names that Kubernetes takes, and the one that somebody meant."""

from __future__ import annotations

import pytest

from base.names import did_you_mean, label_problem, nearest


@pytest.mark.parametrize("name", ["a", "a1", "1a", "a-b", "x" * 63])
def test_a_dns_label_has_no_problem(name: str) -> None:
    assert label_problem(name) == ""


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "a.b", "x" * 64, "ä", "a\n"])
def test_what_is_no_dns_label_is_told_why(name: str) -> None:
    assert label_problem(name)


def test_the_nearest_names_come_best_first_whatever_their_case() -> None:
    assert nearest("Cert-Manger", ["slurm-operator", "cert-manager", "kai-scheduler"]) == ("cert-manager",)


def test_where_nothing_is_near_all_are_listed() -> None:
    assert did_you_mean("xyz", ["b", "a"]) == "known: a, b"
    assert did_you_mean("kai-schedulr", ["kai-scheduler", "x"]) == "did you mean kai-scheduler?"
    assert did_you_mean("x", []) == ""

"""Versions have one order, which is their project's; ranges and facts follow it."""

from __future__ import annotations

import contextlib
import functools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.model import KubernetesRange, Scheme, VersionRange, minor_number, number, number_range, version_key

NUMBERS = st.integers(0, 40)
WORDS = st.text("abrcx-0123456789", min_size=1, max_size=4)
PRE = st.one_of(
    st.just(""), st.lists(st.one_of(WORDS, NUMBERS.map(str)), min_size=1, max_size=3).map(lambda p: "-" + ".".join(p))
)
SEMVER = st.builds(lambda v, a, b, c, p: f"{v}{a}.{b}.{c}{p}", st.sampled_from(["", "v"]), NUMBERS, NUMBERS, NUMBERS, PRE)
CALENDAR = st.builds(lambda y, m, p: f"{y:02}.{m:02}.{p}", st.integers(0, 99), st.integers(1, 12), NUMBERS)


def compared(a: str, b: str) -> int:
    """semver.org 2.0, section 11, written down once more and step by step."""
    (numbers, pre), (others, other) = (_split(a), _split(b))
    if numbers != others:
        return -1 if numbers < others else 1
    if not pre or not other:
        return bool(not pre) - bool(not other)
    for one, two in zip(pre, other, strict=False):
        if one == two:
            continue
        if one.isdecimal() and two.isdecimal():
            if int(one) != int(two):
                return -1 if int(one) < int(two) else 1
            continue
        if one.isdecimal() != two.isdecimal():
            return -1 if one.isdecimal() else 1
        return -1 if one < two else 1
    return (len(pre) > len(other)) - (len(pre) < len(other))


def _split(version: str) -> tuple[list[int], list[str]]:
    release, _, pre = version.removeprefix("v").partition("-")
    return [int(part) for part in release.split(".")], pre.split(".") if pre else []


@given(SEMVER, SEMVER)
def test_the_order_is_that_of_semver(a: str, b: str) -> None:
    one, two = version_key(a), version_key(b)
    assert (one > two) - (one < two) == compared(a, b)


@given(st.lists(SEMVER, max_size=6))
def test_sorting_by_key_is_sorting_by_the_rules(versions: list[str]) -> None:
    ordered = sorted(versions, key=version_key)
    assert ordered == sorted(versions, key=functools.cmp_to_key(compared))


@given(SEMVER)
def test_a_v_before_a_version_means_nothing(version: str) -> None:
    bare = version.removeprefix("v")
    assert version_key(bare) == version_key(f"v{bare}")


@given(SEMVER)
def test_a_prerelease_comes_before_its_release_and_after_the_one_before(version: str) -> None:
    release, _, pre = version.removeprefix("v").partition("-")
    major, minor, patch = (int(part) for part in release.split("."))
    assert (version_key(version) < version_key(release)) == bool(pre)
    assert version_key(version) > version_key(f"{major}.{minor}.{patch - 1}" if patch else "0.0.0-0") or not patch


@given(CALENDAR, CALENDAR)
def test_the_order_of_a_calendar_is_that_of_time(a: str, b: str) -> None:
    one, two = version_key(a, "calendar"), version_key(b, "calendar")
    times = [tuple(int(part) for part in version.split(".")) for version in (a, b)]
    assert (one < two) == (times[0] < times[1])
    assert (one == two) == (times[0] == times[1])


def test_releases_of_slurm_stand_in_the_order_of_their_months() -> None:
    slurm = ["25.11.0", "25.05.1", "24.11.7", "25.05.10", "25.05"]
    assert sorted(slurm, key=lambda v: version_key(v, "calendar")) == ["24.11.7", "25.05", "25.05.1", "25.05.10", "25.11.0"]
    assert VersionRange(">=25.05 <25.11", "calendar").admits("25.05.1")
    assert not VersionRange(">=25.05 <25.11", "calendar").admits("25.11.0")


def test_versions_stand_in_the_order_of_their_numbers() -> None:
    versions = ["v0.10.0", "0.9.1", "1.0.0", "0.9.1-rc1", "26.4.1"]
    assert sorted(versions, key=version_key) == ["0.9.1-rc1", "0.9.1", "v0.10.0", "1.0.0", "26.4.1"]


@pytest.mark.parametrize(
    "version", ["", "1", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-a..b", "1.2.x", "v", "1.2.3 ", "latest"]
)
def test_what_is_no_version_is_no_key(version: str) -> None:
    with pytest.raises(ValueError, match="is no semver version"):
        version_key(version)


@given(st.text(max_size=12), st.sampled_from(["semver", "calendar"]))
def test_any_text_is_a_version_or_a_value_error(text: str, scheme: Scheme) -> None:
    for make in (lambda: version_key(text, scheme), lambda: VersionRange(text, scheme), lambda: minor_number(text)):
        with contextlib.suppress(ValueError):
            make()


@given(version=SEMVER, low=SEMVER, high=SEMVER)
def test_a_range_holds_just_what_lies_between_its_bounds(version: str, low: str, high: str) -> None:
    inside = compared(low, version) <= 0 and compared(version, high) < 0
    assert VersionRange(f">={low} <{high}").admits(version) == inside
    assert VersionRange(f">= {low}, < {high}").admits(version) == inside
    assert VersionRange(low).admits(version) == (compared(low, version) == 0)
    assert VersionRange("").admits(version)


@pytest.mark.parametrize("text", [">=", ">>1.0.0", "~1.0.0", ">=1", "1.0.0 or so", "<=x.y.z"])
def test_what_is_no_range_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (bound|semver)"):
        VersionRange(text)


@pytest.mark.parametrize(("version", "minor"), [("1.36", 36), ("v1.36", 36), ("1.36.3", 36), ("v1.9.0-rc.1", 9), ("v1.33+", 33)])
def test_a_kubernetes_version_has_a_minor(version: str, minor: int) -> None:
    assert minor_number(version) == minor


@pytest.mark.parametrize("version", ["", "1", "2.0", "x.y", "1.x", "1.3_6", "1."])
def test_what_is_no_kubernetes_version_is_no_number(version: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        minor_number(version)


def test_a_range_of_kubernetes_holds_both_its_ends() -> None:
    closed, open_end = KubernetesRange("1.30", "1.36", ""), KubernetesRange("1.9", "", "")
    assert [closed.admits(minor) for minor in ("1.29", "1.30", "1.36", "1.37")] == [False, True, True, False]
    assert [open_end.admits(minor) for minor in ("1.8", "1.9", "1.100")] == [False, True, True]
    assert (str(closed), str(open_end)) == ("1.30 to 1.36", "1.9 and newer")


@pytest.mark.parametrize(
    ("text", "value", "answer"),
    [
        (">=580", "580.95.05", True),
        (">=580", "575.57", False),
        ("<=2.1", "2.1.5", True),
        (">2.1", "2.1.5", False),
        (">=1.7 <=2.3", "2.3.9", True),
        (">=1.7 <=2.3", "2.4", False),
        ("=13.0", "13.0.2", True),
        (">=5.15", "6.8.0-52-generic", True),
        (">=2.0", "2", True),
        (">=580.82", "580", None),
        ("=580.82", "580", None),
        (">=1.7 <=2.3", "2", None),
        (">=580.82 <600", "610", False),
    ],
)
def test_a_number_is_compared_as_far_as_both_say(text: str, value: str, answer: bool | None) -> None:
    assert number_range(text)(value) is answer


@given(
    st.lists(NUMBERS, min_size=1, max_size=3),
    st.lists(NUMBERS, min_size=1, max_size=3),
    st.sampled_from([">=", "<=", ">", "<", "="]),
)
def test_what_is_known_coarsely_is_answered_as_all_that_it_may_be(value: list[int], bound: list[int], operator: str) -> None:
    text = operator + ".".join(map(str, bound))
    said = number_range(text)(".".join(map(str, value)))
    finer = [value + tail for tail in ([], [0], [0, 0], [50], [50, 50], [0, 50], bound[len(value) :])]
    answers = {number_range(text)(".".join(map(str, one))) for one in finer if len(one) >= len(bound)}
    if said is not None:
        assert answers == {said}


def test_what_begins_with_no_number_is_none() -> None:
    assert number("v6.8.0-52-generic") == (6, 8, 0)
    for text in ("", "x", "-1"):
        with pytest.raises(ValueError, match="is no number"):
            number(text)

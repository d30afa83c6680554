from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolchain.pins import Accept
from toolchain.versions import accepts, parse

numbers = st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))


def text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize(
    ("found", "pinned", "rule", "good"),
    [
        ("1.36.3", "1.36.3", "exact", True),
        ("1.36.4", "1.36.3", "exact", False),
        ("1.36.0", "1.36.3", "minor", True),
        ("1.37.0", "1.36.3", "minor", False),
        ("1.3.6", "1.36.3", "minor", False),
        ("3.280.1", "3.276.0", "newer", True),
        ("3.99.9", "3.276.0", "newer", False),
        ("4.0.0", "3.276.0", "newer", False),
        ("unknown", "3.276.0", "newer", False),
        ("2.8.2", "2.8", "since", True),
        ("3.1.2", "2.8", "since", True),
        ("2.7.1", "2.8", "since", False),
        ("", "2.8", "since", False),
        ("", "", "exact", False),
    ],
)
def test_a_program_on_path_is_used_only_when_its_version_fits(found: str, pinned: str, rule: Accept, good: bool) -> None:
    assert accepts(found, pinned, rule) is good


@pytest.mark.parametrize("written", ["1.26.8", "v1.26.8", "go1.26.8", "go1.26.8-custom 7"])
def test_versions_are_read_as_programs_write_them(written: str) -> None:
    assert parse(written) == (1, 26, 8)


@given(numbers)
def test_a_version_always_fits_itself(version: tuple[int, ...]) -> None:
    assert all(accepts(text(version), text(version), rule) for rule in ("exact", "minor", "newer", "since"))


@given(numbers, numbers)
def test_the_rules_are_ordered_from_strict_to_loose_at_one_minor(found: tuple[int, ...], pinned: tuple[int, ...]) -> None:
    if accepts(text(found), text(pinned), "exact"):
        assert accepts(text(found), text(pinned), "minor")
        assert accepts(text(found), text(pinned), "newer")
    assert accepts(text(found), text(pinned), "newer") == (found[0] == pinned[0] and found >= pinned)

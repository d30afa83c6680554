"""YAML is read with positions, strictly, and never with an exception."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.yamltree import Leaf, Table, locate, parse, plain


def tree(text: str) -> object:
    node, problems = parse(text.encode(), "f.yaml")
    assert node is not None
    assert not problems, problems
    return plain(node)


def problems(data: bytes | str) -> list[str]:
    _, found = parse(data.encode() if isinstance(data, str) else data, "f.yaml")
    return [str(problem) for problem in found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"), ("on", "on"), ("1.30", 1.3), ("0o17", 15), ("0x1f", 31), ("010", 10), ("1:30", "1:30"), ("true", True),
        ("~", None), ("'8'", "8"), ("1e3", 1000.0), (".5", 0.5), ("-1", -1), ("2024-01-01", "2024-01-01"),
        ("|\n  a\n  b\n", "a\nb\n"), ("1" * 5000, "1" * 5000),
    ],
)  # fmt: skip
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    assert tree(f"a: {text}") == {"a": value}


def test_infinity_and_nan_are_numbers() -> None:
    found = tree("[.inf, -.inf, .nan]")
    assert isinstance(found, list)
    assert found[:2] == [math.inf, -math.inf]
    assert math.isnan(found[2])


def test_the_text_of_a_number_is_kept() -> None:
    node, _ = parse(b"kubernetes: 1.30", "f.yaml")
    assert isinstance(node, Table)
    leaf = node.entries["kubernetes"].node
    assert isinstance(leaf, Leaf)
    assert leaf.text == "1.30"


def test_positions_lead_to_the_field_or_to_the_parent_of_a_missing_one() -> None:
    node, _ = parse(b"a:\n  - b: 1\n    c: 2\n", "f.yaml")
    assert node is not None
    assert str(locate(node, ["a", 0, "c"])) == "f.yaml:3:5"
    assert str(locate(node, ["a", 0, "nope"])) == "f.yaml:2:5"
    assert str(locate(node, [])) == "f.yaml:1:1"


def test_every_tab_in_the_indentation_is_named() -> None:
    assert problems("a:\n\tb: 1\n\tc: 2\n") == [
        "f.yaml:2:1: a tab in the indentation (indent with spaces)",
        "f.yaml:3:1: a tab in the indentation (indent with spaces)",
    ]


def test_a_tab_inside_of_a_text_is_no_problem() -> None:
    assert tree("a: |\n  x\ty\n") == {"a": "x\ty\n"}


def test_every_duplicate_key_is_named_with_the_first_one() -> None:
    assert problems("a: 1\nb: {c: 1, c: 2}\na: 3\n") == [
        "f.yaml:2:11: b.c: appears twice (first in line 2) (keep one of them)",
        "f.yaml:3:1: a: appears twice (first in line 1) (keep one of them)",
    ]


def test_an_alias_is_refused_where_it_stands() -> None:
    assert problems("a: &x [1]\nb: *x\n") == ["f.yaml:2:4: alias *x is not supported (write the value out)"]


def test_a_bomb_of_aliases_is_refused_before_it_goes_off() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    assert len(problems("\n".join(lines))) == 81


def test_a_node_that_holds_itself_is_refused() -> None:
    assert problems("&a [*a]") == ["f.yaml:1:5: alias *a is not supported (write the value out)"]


@pytest.mark.parametrize("text", ["a: !!python/object:os.system x", "!!str 5", "a: !secret x", "a: !!set {x}"])
def test_tags_are_refused(text: str) -> None:
    assert "is not supported" in problems(text)[0]


def test_merge_keys_are_refused() -> None:
    assert "merge keys are not supported" in problems("a: {<<: {b: 1}}")[0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: \xff\n", "f.yaml:1:4: is not UTF-8 (byte 0xff) (save the file as UTF-8)"),
        (b"ok: 1\nb: \xc3(\n", "f.yaml:2:4: is not UTF-8 (byte 0xc3) (save the file as UTF-8)"),
        (b"", "f.yaml:1:1: the file says nothing (write at least one field)"),
        (b"# only a comment\n", "f.yaml:1:1: the file says nothing (write at least one field)"),
        (b"a: 1\n---\nb: 1\n", "expected a single document"),
        (b"a: [1\n", "is not YAML"),
        (b"a: \x00\n", "is not YAML"),
        (b"? [a]\n: b\n", "a key must be a word"),
        (b"[" * 100_000, "is not YAML"),
        (b"- " * 900 + b"x", "nested more than 64 levels deep"),
        (b"x" * (5 * 1024 * 1024), "bytes are too large"),
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_yaml_is_a_problem_with_a_place(data: bytes, message: str) -> None:
    found = problems(data)
    assert found
    assert message in found[0]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    assert tree("\ufeffa: 1") == {"a": 1}


@given(st.binary(max_size=400))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    node, found = parse(data, "f.yaml")
    assert node is not None or found


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`?, \n\t~<=.0159", max_size=120))
def test_no_text_of_yaml_signs_makes_it_raise(text: str) -> None:
    node, found = parse(text.encode(), "f.yaml")
    assert node is not None or found

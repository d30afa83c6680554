"""What is kept with a cluster is read back as it was, and is never forgotten in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import InvalidInput, NotFound
from catalog.plan import Facts
from catalog.records import load_choice, load_facts, save_choice, save_facts
from catalog.resolve.choice import Choice


def test_facts_and_choice_come_back(tmp_path: Path) -> None:
    nodes = {"driver": ("580.95.05", "615.71.09"), "os": ("ubuntu",)}
    facts = Facts("cluster", "1.36", tmp_path / "k", "uid", tmp_path, kai_binaries=tmp_path / "kai", context="c", nodes=nodes)
    save_facts(tmp_path, facts)
    assert load_facts(tmp_path) == facts
    save_choice(tmp_path, Choice("kai-reference", "why"))
    assert load_choice(tmp_path) == Choice("kai-reference", "why", fresh=False)


def test_nothing_is_known_of_a_cluster_that_nobody_has_looked_at(tmp_path: Path) -> None:
    assert load_choice(tmp_path) is None
    with pytest.raises(NotFound):
        load_facts(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", "\x00"])
def test_a_damaged_record_is_an_error_that_names_the_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "choice.json").write_text(content)
    with pytest.raises(InvalidInput, match=r"choice\.json"):
        load_choice(tmp_path)

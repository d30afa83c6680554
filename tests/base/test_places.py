from __future__ import annotations

from pathlib import Path

import pytest

from base.places import REPOSITORY, cache_dir, state_dir


def test_the_cache_is_where_the_user_says_else_where_the_desktop_says_else_at_home(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CHANDLERY_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_dir() == tmp_path / ".cache" / "chandlery"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_dir() == tmp_path / "xdg" / "chandlery"
    monkeypatch.setenv("CHANDLERY_CACHE", "~/mine")
    assert cache_dir() == tmp_path / "mine"
    assert not cache_dir().exists()


def test_the_state_belongs_to_the_checkout_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("CHANDLERY_STATE", raising=False)
    assert state_dir() == REPOSITORY / ".chandlery"
    assert (REPOSITORY / "pyproject.toml").exists()
    monkeypatch.setenv("CHANDLERY_STATE", str(tmp_path / "s"))
    assert state_dir() == tmp_path / "s"

"""Which engine renders charts is the user's choice, and a word that means none is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolchain
from base.errors import InvalidInput
from base.events import QuietReporter, Reporter
from catalog.package.helm_program import HelmProgram
from catalog.package.render import HelmLibrary
from cli.context import App
from cli.session import renderer


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path, as_json=False, reporter=QuietReporter())


@pytest.mark.parametrize("word", [None, "", "library"])
def test_the_library_renders_unless_somebody_says_otherwise(app: App, word: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHANDLERY_RENDERER", raising=False)
    if word is not None:
        monkeypatch.setenv("CHANDLERY_RENDERER", word)
    assert isinstance(renderer(app), HelmLibrary)


def test_the_helm_program_is_the_toolchains(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def obtain(name: str, reporter: Reporter, **_: object) -> Path:
        del reporter
        asked.append(name)
        return Path("helm")

    monkeypatch.setenv("CHANDLERY_RENDERER", "helm")
    monkeypatch.setattr(toolchain, "obtain", obtain)
    assert isinstance(renderer(app), HelmProgram)
    assert asked == ["helm"]


def test_another_word_is_refused(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANDLERY_RENDERER", "kustomize")
    with pytest.raises(InvalidInput, match="CHANDLERY_RENDERER is 'kustomize'"):
        renderer(app)

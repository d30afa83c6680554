"""A real cluster for the engine's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from base.events import QuietReporter
from tests.schedulers.lab import Lab, lab
from toolchain import obtain_all
from validation.targets.embedded import TOOLS


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The cluster's programs. They are not built here: `make test` obtains them first, which may take long."""
    return obtain_all(TOOLS, QuietReporter(), offline=True)


@pytest.fixture(scope="module")
def live(tools: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab(tools, tmp_path_factory.mktemp("lab")) as made:
        yield made

"""Real programs for the tests that start a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.events import QuietReporter
from toolchain import obtain_all
from validation.targets.embedded import TOOLS


@pytest.fixture(scope="session")
def tools() -> dict[str, Path]:
    """The cluster's programs. They are not built here: `make test` obtains them first, which may take long."""
    return obtain_all(TOOLS, QuietReporter(), offline=True)

"""The suite needs the runner, which says which cluster is meant and brings the fixtures (:mod:`validation.run.fixtures`)."""

from __future__ import annotations

import pytest

from validation.run.session import Session


def pytest_collection(session: pytest.Session) -> None:
    if Session.of(session.config) is None:
        raise pytest.UsageError("the suite needs to know its cluster: start it with `chandlery validate run -c SPEC`")

"""What a check may ask for: the run's context, the cluster, a laboratory, and, once per case, an add-on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from base.kube import Cluster
from validation import checks
from validation.context import Context
from validation.harness import Lab
from validation.run.session import Session


def _session(config: pytest.Config) -> Session:
    found = Session.of(config)
    if found is None:
        raise pytest.UsageError("the suite needs to know its cluster: start it with `chandlery validate run -c SPEC`")
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A check of every add-on has one case per add-on of the plan."""
    if "addon" in metafunc.fixturenames:
        installed = _session(metafunc.config).context.installed
        metafunc.parametrize("addon", installed, ids=[item.addon for item in installed])


@pytest.fixture
def context(pytestconfig: pytest.Config) -> Context:
    return _session(pytestconfig).context


@pytest.fixture
def cluster(pytestconfig: pytest.Config) -> Cluster:
    return _session(pytestconfig).cluster


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A laboratory of the check's own; see :class:`validation.harness.lab.Lab`."""
    session = _session(request.config)
    info = checks.of(request.function)
    assert info is not None, "a test function without @check"
    made = Lab(info, session.context, session.cluster, session.timeline, session.times)
    session.labs[made.names.lab] = session.current
    try:
        made.open()
        yield made
    finally:
        made.close()

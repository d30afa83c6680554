"""What the fixtures of one pytest session share, and where pytest keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from base.kube import Cluster
from validation.context import Context
from validation.harness.timeline import Timeline
from validation.harness.times import Times

__all__ = ["Session"]


@dataclass(slots=True)
class Session:
    """``timeline`` is the running check's; ``labs`` says which check (as ``T10`` or ``I01[case]``) made which laboratory."""

    context: Context
    cluster: Cluster
    times: Times
    timeline: Timeline = field(default_factory=Timeline)
    current: str = ""
    labs: dict[str, str] = field(default_factory=dict)

    def attach(self, config: pytest.Config) -> None:
        config.stash[_KEY] = self

    @classmethod
    def of(cls, config: pytest.Config) -> Session | None:
        return config.stash.get(_KEY, None)


_KEY = pytest.StashKey[Session]()

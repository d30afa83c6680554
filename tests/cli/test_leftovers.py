"""Which queues of a cluster count as left over from an earlier spec."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cli import session
from cli.session import Session
from components.objects import ADDON_ANNOTATION


def test_only_queues_that_a_stack_made_and_the_spec_does_not_name_are_left_over(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {"annotations": {ADDON_ANNOTATION: "kai-scheduler"}}
    managed = {"labels": {"app.kubernetes.io/managed-by": "chandlery"}}
    live: list[dict[str, Any]] = [
        {"metadata": {"name": "vision", **ours}},
        {"metadata": {"name": "language", **ours}},
        {"metadata": {"name": "of-a-running-check", **managed}},
        {"metadata": {"name": "somebody-elses"}},
    ]

    class Found:
        def __init__(self, *_: object, **__: object) -> None: ...

        def __enter__(self) -> Found:
            return self

        def __exit__(self, *_: object) -> None: ...

        def list(self, *_: object) -> tuple[list[dict[str, Any]], str]:
            return live, "1"

    monkeypatch.setattr(session, "Cluster", Found)
    opened = cast(Session, SimpleNamespace(facts=SimpleNamespace(kubeconfig=Path("k"), context="")))
    assert session.leftover_queues(opened, ["vision"]) == ("language",)

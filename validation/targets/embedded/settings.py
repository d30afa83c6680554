"""``target.json``: what was decided for one cluster and must stay as it is for as long as the cluster lives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from base.errors import InvalidInput
from base.files import write_json
from spec.model import NodePool
from validation.targets.embedded.addressing import Addressing
from validation.targets.embedded.claims import Claim
from validation.targets.embedded.layout import Layout


@dataclass(frozen=True, slots=True)
class Settings:
    """``kubernetes`` is the minor (``1.36``); ``ports`` are TCP ports on 127.0.0.1; ``tools`` the programs last used."""

    kubernetes: str
    slot: int
    ports: Mapping[str, int]
    pools: tuple[NodePool, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)

    @property
    def addressing(self) -> Addressing:
        return Addressing(self.slot)

    @property
    def claim(self) -> Claim:
        return Claim(self.slot, self.ports)

    @property
    def server(self) -> str:
        return f"https://127.0.0.1:{self.ports['api']}"


def load(layout: Layout) -> Settings | None:
    """What is written, or None for a cluster that was never begun. InvalidInput where the file cannot be read."""
    try:
        raw: dict[str, Any] = json.loads(layout.settings.read_text())
        pools = tuple(NodePool(**pool) for pool in raw["pools"])
        return Settings(raw["kubernetes"], raw["slot"], dict(raw["ports"]), pools, dict(raw["tools"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"the target's settings cannot be read ({error})",
            where=str(layout.settings),
            todo="delete the cluster with `chandlery target down` and make it anew",
        ) from error


def save(layout: Layout, settings: Settings) -> None:
    """Write, unless that very content is there already."""
    if load(layout) != settings:
        write_json(layout.settings, asdict(settings))


def tools_of(tools: Mapping[str, Path]) -> dict[str, str]:
    return {name: str(path) for name, path in sorted(tools.items())}

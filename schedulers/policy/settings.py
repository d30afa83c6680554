"""How one shard of the scheduler is set: what a SchedulingShard says, with KAI's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Strategy = Literal["binpack", "spread"]
Action = Literal["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]

#: The order in which KAI acts (pkg/apis/kai/v1/schedulingshard_types.go, default action priorities).
ACTIONS: tuple[Action, ...] = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations are in seconds.

    ``preempt_min_runtime`` and ``reclaim_min_runtime`` hold where no queue says anything; ``reclaim_resolve`` is how the tree
    is walked for the latter (plugins/minruntime). ``staleness_grace`` below zero never evicts (actions/stalegangeviction).
    ``max_consolidated`` groups may be moved for one waiting group and one more, as in KAI v0.17.0; 0 turns consolidation off, -1
    lifts the bound (actions/consolidation). ``restrict_nodes`` keeps GPU work on nodes labelled for it (T62).
    """

    gpu_strategy: Strategy = "binpack"
    cpu_strategy: Strategy = "binpack"
    k_value: float = 1.0
    saturation_multiplier: float = 1.0
    preempt_min_runtime: float = 0.0
    reclaim_min_runtime: float = 0.0
    reclaim_resolve: Literal["lca", "queue"] = "lca"
    staleness_grace: float = 60.0
    max_consolidated: int = 16
    restrict_nodes: bool = False
    actions: tuple[Action, ...] = ACTIONS

    def does(self, action: Action) -> bool:
        """True when this action is part of a cycle. Spreading and consolidating exclude each other."""
        if action == "consolidation" and (self.max_consolidated == 0 or "spread" in (self.gpu_strategy, self.cpu_strategy)):
            return False
        return action in self.actions


DEFAULTS = Settings()

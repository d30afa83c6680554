"""SchedulingShard (``kai.scheduler/v1``)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from base.kube.kinds import SCHEDULING_SHARD, Kind
from schedulers.kai.model import QUALIFIED_NAME_PATTERN, Duration, Int64, Model, Quantity, Resource, Time

_WINDOW_PATTERN = r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$"


class PlacementStrategy(Model):
    """``binpack`` (the default) or ``spread``, for pods with and without GPUs."""

    gpu: str | None = None
    cpu: str | None = None


class ActionConfig(Model):
    """Switches or reorders one action."""

    enabled: bool | None = None
    priority: int | None = None


class PluginConfig(ActionConfig):
    """Switches, reorders or configures one plugin."""

    arguments: dict[str, str] | None = None


class MinRuntime(Model):
    """How long a workload runs before it may be a victim, where its queue does not say."""

    preempt_min_runtime: Duration | None = None
    reclaim_min_runtime: Duration | None = None


class SearchBudgets(Model):
    """Limits of the search for victims."""

    max_action_search_duration: dict[str, Duration] | None = None
    max_generator_search_duration: dict[str, Duration] | None = None
    max_job_search_duration: Duration | None = None
    min_job_search_duration: Duration | None = None


class UsageParams(Model):
    """How past use counts in time-based fair share."""

    window_size: Annotated[str, Field(pattern=_WINDOW_PATTERN)] | None = None
    window_type: str | None = None
    half_life_period: Duration | None = None
    fetch_interval: Duration | None = None
    staleness_period: Duration | None = None
    wait_timeout: Duration | None = None
    tumbling_window_start_time: Time | None = None
    cron_string: str | None = None
    extra_params: dict[str, str] | None = None


class UsageDb(Model):
    """Where past use is read from."""

    client_type: str
    connection_string: str | None = None
    connection_string_env_var: str | None = None
    usage_params: UsageParams | None = None


class SchedulingShardSpec(Model):
    """One scheduler for one node pool. ``args`` are flags of the scheduler, values as strings."""

    partition_label_value: str | None = None
    args: dict[str, str] | None = None
    placement_strategy: PlacementStrategy | None = None
    plugins: dict[str, PluginConfig] | None = None
    actions: dict[str, ActionConfig] | None = None
    k_value: float | None = None
    min_runtime: MinRuntime | None = None
    queue_depth_per_action: dict[str, int] | None = None
    scenario_search_budgets: SearchBudgets | None = None
    go_mem_limit: Quantity | None = None
    go_mem_limit_ratio: (
        Annotated[float, Field(json_schema_extra={"minimum": 0, "exclusiveMinimum": True, "maximum": 1})] | None
    ) = None
    usage_db_config: UsageDb | None = None


class Condition(Model):
    """A Kubernetes condition."""

    type: Annotated[
        str,
        Field(
            max_length=316,
            pattern=QUALIFIED_NAME_PATTERN,
        ),
    ]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    message: Annotated[str, Field(max_length=32768)]
    last_transition_time: Time
    observed_generation: Annotated[Int64, Field(ge=0)] | None = None


class SchedulingShardStatus(Model):
    """Whether the shard is served."""

    conditions: list[Condition] | None = None


class SchedulingShard(Resource):
    """A node pool with a scheduler of its own."""

    kind_info: ClassVar[Kind] = SCHEDULING_SHARD
    spec: SchedulingShardSpec | None = None
    status: SchedulingShardStatus | None = None

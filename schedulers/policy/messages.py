"""The sentences that users read about a decision. Fragments follow KAI v0.17.0, which its users search their logs for.

Source: pkg/scheduler/api/unschedule_info.go, api/common_info/{job,pod}_errors.go, actions/common/allocate.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schedulers.policy.resources import UNLIMITED, Amounts

QUEUE_DOES_NOT_EXIST = "QueueDoesNotExist"
NON_PREEMPTIBLE_OVER_QUOTA = "NonPreemptibleOverQuota"
OVER_LIMIT = "OverLimit"
POD_SCHEDULING_ERRORS = "PodSchedulingErrors"
PREEMPTION_DELAY = "PreemptionDelayNotElapsed"
UNSUPPORTED = "UnsupportedByReference"

NO_NODES = "no nodes with enough resources were found"
PODS_EXCEEDED = "node(s) pod number exceeded"
DEFAULT_POD_ERROR = "Unable to schedule pod"
DEFAULT_GROUP_ERROR = "Unable to schedule podgroup"

_BREAK = ". \n"
_UNITS = ((1.0, "GPUs", "GPUs", "GPUs"), (1000.0, "CPU cores", "cores", "CPU cores"), (1e9, "memory", "GB", "GB memory"))


def number(amount: float, unit: float = 1.0) -> str:
    """At most three decimals and no trailing zeros; -1 reads as Unlimited."""
    if amount == UNLIMITED:
        return "Unlimited"
    text = f"{amount / unit:.3f}".rstrip("0").rstrip(".")
    return "0" if text in {"", "-0"} else text


def amounts(value: Amounts) -> str:
    """All three resources in the units people use: GPUs, cores, GB."""
    return f"GPU: {number(value[0])}, CPU: {number(value[1], 1000)} (cores), memory: {number(value[2], 1e9)} (GB)"


def lacks(resource: str) -> str:
    """One node's reason: not enough of a resource."""
    return f"node(s) didn't have enough resources: {resource}"


def resource_name(resource: int) -> str:
    """How fit errors name a resource of :class:`Amounts`."""
    return _UNITS[resource][1]


def queue_missing(queue: str) -> str:
    return f"Queue '{queue}' does not exist"


def over_limit(queue: str, resource: int, limit: float, allocated: float, requested: float) -> str:
    unit, name, short, _ = _UNITS[resource]
    return (
        f"{queue} quota has reached the allowable limit of {name}. Limit is {number(limit, unit)} {short}, currently "
        f"{number(allocated, unit)} {short} allocated and workload requested {number(requested, unit)} {short}"
    )


def over_quota(queue: str, resource: int, deserved: float, allocated: float, requested: float) -> str:
    unit, _, short, long = _UNITS[resource]
    return (
        f"Non-preemptible workload is over quota. Workload requested {number(requested, unit)} {long}, but {queue} quota is "
        f"{number(deserved, unit)} {short}, while {number(allocated, unit)} {short} are already allocated for non-preemptible "
        "pods. Use a preemptible workload to go over quota."
    )


def fit(counts: Mapping[str, int]) -> str:
    """What kept a pod off the nodes: how many nodes for each reason."""
    reasons = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"{NO_NODES}: {_BREAK.join(reasons)}." if reasons else NO_NODES


def gang(found: int, required: int, because: str) -> str:
    return (
        f"Resources were found for {found} pods while {required} are required for gang scheduling. "
        f"Additional pods cannot be scheduled due to: {because}"
    )


def single(pod: str, because: str) -> str:
    return f"Resources were not found for pod {pod} due to: {because}"


def group(reasons: Sequence[tuple[str, str]]) -> str:
    """One sentence for a whole group out of (reason, message) pairs."""
    head = reasons[0][0] if len(reasons) == 1 else DEFAULT_GROUP_ERROR
    texts = sorted({message for _, message in reasons})
    return f"{head}: {_BREAK.join(texts)}." if texts else head


def not_ready(required: int, alive: int, gated: int) -> str:
    return f"Job is not ready for scheduling. Waiting for {required} pods, currently {alive} exist, {gated} are gated"


def preempted(victim: str, preemptor: str) -> str:
    return f"Pod {victim} was preempted by higher priority workload {preemptor}"


def reclaimed(victim: str, reclaimer: str, victim_queue: str, reclaimer_queue: str) -> str:
    return f"Pod {victim} was preempted by workload {reclaimer}.\n{victim_queue}\n{reclaimer_queue}"


def queue_figures(queue: str, used: Amounts, quota: Amounts, fair: Amounts, priority: int) -> str:
    return (
        f"{queue} uses <{amounts(used)}> with a quota of <{amounts(quota)}>, fair-share of <{amounts(fair)}> "
        f"and queue priority of <{priority}>."
    )


def gang_part(found: int, part: str, required: int, because: str) -> str:
    return (
        f"Resources were found for {found} pods from all sub-groups while sub-group {part} requires {required} pods for gang "
        f"scheduling. Additional pods cannot be scheduled in this sub-group due to: {because}"
    )


def stray(subgroup: str, group: str) -> str:
    return f'Pod references subgroup "{subgroup}", which does not exist in PodGroup {group}'


def consolidated(victim: str) -> str:
    return f"Pod {victim} was preempted and rescheduled due to bin packing (resource consolidation) procedure"


def stale(pod: str, minimum: int, part: str) -> str:
    where = f" in sub-group {part}" if part else ""
    return f"Workload doesn't meet the minimum required number of pods ({minimum}){where}, evicting remaining pod: {pod}"


def delayed(seconds: float) -> str:
    return f"The preemption delay of the workload has not elapsed, {number(seconds)} seconds are left"

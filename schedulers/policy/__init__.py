"""An executable model of KAI's documented policy: a snapshot goes in, decisions come out.

:func:`fair_share` says what every queue may have; :func:`cycle` says what is bound, evicted and left waiting, and why.
"""

from schedulers.policy.cycle import cycle
from schedulers.policy.decisions import Bind, Decisions, Eviction, Pipelined, QueueFigures, Reason, Waiting
from schedulers.policy.queues import Share, fair_share
from schedulers.policy.resources import UNBOUNDED, UNLIMITED, ZERO, Amounts
from schedulers.policy.snapshot import (
    Constraints,
    Node,
    NodeTerm,
    Pod,
    PodGroup,
    PodState,
    Queue,
    Requirement,
    Snapshot,
    Strategy,
    Taint,
    Toleration,
)

__all__ = [
    "UNBOUNDED",
    "UNLIMITED",
    "ZERO",
    "Amounts",
    "Bind",
    "Constraints",
    "Decisions",
    "Eviction",
    "Node",
    "NodeTerm",
    "Pipelined",
    "Pod",
    "PodGroup",
    "PodState",
    "Queue",
    "QueueFigures",
    "Reason",
    "Requirement",
    "Share",
    "Snapshot",
    "Strategy",
    "Taint",
    "Toleration",
    "Waiting",
    "cycle",
    "fair_share",
]

"""An executable model of KAI's documented policy: a snapshot goes in, decisions come out.

:func:`fair_share` says what every queue may have; :func:`cycle` says what is bound, evicted and left waiting, and why.
"""

from schedulers.policy.cycle import cycle
from schedulers.policy.decisions import Bind, Decisions, Eviction, Pipelined, QueueFigures, Reason, Waiting
from schedulers.policy.fit import Constraints, NodeTerm, Requirement, Taint, Toleration
from schedulers.policy.queues import Share, fair_share
from schedulers.policy.resources import UNBOUNDED, UNLIMITED, ZERO, Amounts
from schedulers.policy.settings import ACTIONS, Action, Settings, Strategy
from schedulers.policy.snapshot import Node, Queue, Snapshot, Topology
from schedulers.policy.workload import GpuShare, Pod, PodGroup, PodState, SubGroup, TopologyConstraint

__all__ = [
    "ACTIONS",
    "UNBOUNDED",
    "UNLIMITED",
    "ZERO",
    "Action",
    "Amounts",
    "Bind",
    "Constraints",
    "Decisions",
    "Eviction",
    "GpuShare",
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
    "Settings",
    "Share",
    "Snapshot",
    "Strategy",
    "SubGroup",
    "Taint",
    "Toleration",
    "Topology",
    "TopologyConstraint",
    "Waiting",
    "cycle",
    "fair_share",
]

"""The embedded target: a Kubernetes control plane of host processes on loopback, with simulated GPU nodes.

etcd, kube-apiserver, kube-controller-manager, kube-scheduler and KWOK run as they are; one process of our own, the host
agent, is kubelet and service proxy of the node ``host``, where the programs of add-ons run as real processes.
"""

from validation.targets.embedded.control_plane import TOOLS
from validation.targets.embedded.layout import Layout
from validation.targets.embedded.programs import Programs, RealProgram, load_programs, set_programs
from validation.targets.embedded.target import (
    ProcessStatus,
    TargetRequest,
    TargetStatus,
    down,
    kubeconfig,
    list_targets,
    names,
    status,
    sweep,
    up,
)
from validation.targets.embedded.webhooks import serving_certificate

__all__ = [
    "TOOLS",
    "Layout",
    "ProcessStatus",
    "Programs",
    "RealProgram",
    "TargetRequest",
    "TargetStatus",
    "down",
    "kubeconfig",
    "list_targets",
    "load_programs",
    "names",
    "serving_certificate",
    "set_programs",
    "status",
    "sweep",
    "up",
]

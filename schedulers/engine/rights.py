"""What the engine may do: every API verb that it uses, and no other. The package's ClusterRole is held to this."""

from __future__ import annotations

from typing import Any

_WATCH = ["get", "list", "watch"]

#: Rules of a ClusterRole (rbac.authorization.k8s.io/v1).
RULES: tuple[dict[str, Any], ...] = (
    {"apiGroups": [""], "resources": ["nodes"], "verbs": _WATCH},
    {"apiGroups": [""], "resources": ["pods"], "verbs": [*_WATCH, "patch", "delete"]},
    {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": _WATCH},
    {"apiGroups": ["scheduling.run.ai"], "resources": ["queues"], "verbs": _WATCH},
    {"apiGroups": ["scheduling.run.ai"], "resources": ["podgroups"], "verbs": [*_WATCH, "create"]},
    {"apiGroups": ["scheduling.run.ai"], "resources": ["bindrequests"], "verbs": [*_WATCH, "create", "patch", "delete"]},
    {"apiGroups": ["scheduling.run.ai"], "resources": ["queues/status", "podgroups/status"], "verbs": ["patch"]},
    {"apiGroups": ["kai.scheduler"], "resources": ["schedulingshards"], "verbs": _WATCH},
    {"apiGroups": ["kai.scheduler"], "resources": ["schedulingshards/status"], "verbs": ["patch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "create", "update"]},
    # Owners of pods, to find out how they are grouped. A kind that is missing here is passed over.
    {"apiGroups": ["apps"], "resources": ["deployments", "replicasets", "statefulsets", "daemonsets"], "verbs": ["get"]},
    {"apiGroups": ["batch"], "resources": ["jobs", "cronjobs"], "verbs": ["get"]},
)

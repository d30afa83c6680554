"""Kinds of objects, as far as a REST path needs to know them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from base.errors import NotFound


@dataclass(frozen=True, slots=True)
class Kind:
    """``api_version`` is ``v1`` or ``group/version``; ``plural`` is the resource name in the REST path."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool = True

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """REST path below the server's address. Without a namespace a namespaced kind means all namespaces."""
        root = "/api/v1" if self.api_version == "v1" else f"/apis/{self.api_version}"
        scope = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        tail = "".join(f"/{part}" for part in (name, subresource) if part)
        return f"{root}{scope}/{self.plural}{tail}"


POD = Kind("v1", "Pod", "pods")
NODE = Kind("v1", "Node", "nodes", namespaced=False)
NAMESPACE = Kind("v1", "Namespace", "namespaces", namespaced=False)
SERVICE = Kind("v1", "Service", "services")
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")
SECRET = Kind("v1", "Secret", "secrets")
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
EVENT = Kind("v1", "Event", "events")
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
STATEFUL_SET = Kind("apps/v1", "StatefulSet", "statefulsets")
JOB = Kind("batch/v1", "Job", "jobs")
PRIORITY_CLASS = Kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", namespaced=False)
CRD = Kind("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False)
CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
VALIDATING_WEBHOOK = Kind(
    "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", namespaced=False
)
MUTATING_WEBHOOK = Kind(
    "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", namespaced=False
)
POD_DISRUPTION_BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
CONTROLLER_REVISION = Kind("apps/v1", "ControllerRevision", "controllerrevisions")
ENDPOINT_SLICE = Kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
QUEUE = Kind("scheduling.run.ai/v2", "Queue", "queues", namespaced=False)
POD_GROUP = Kind("scheduling.run.ai/v2alpha2", "PodGroup", "podgroups")
BIND_REQUEST = Kind("scheduling.run.ai/v1alpha2", "BindRequest", "bindrequests")
SCHEDULING_SHARD = Kind("kai.scheduler/v1", "SchedulingShard", "schedulingshards", namespaced=False)
KAI_CONFIG = Kind("kai.scheduler/v1", "Config", "configs", namespaced=False)
TOPOLOGY = Kind("kai.scheduler/v1alpha1", "Topology", "topologies", namespaced=False)

_KNOWN = {(k.api_version, k.kind): k for k in list(globals().values()) if isinstance(k, Kind)}


def kind_of(obj: Mapping[str, Any]) -> Kind:
    """The known kind of an object; kinds outside this table are found by :meth:`Cluster.discover`."""
    key = (str(obj.get("apiVersion")), str(obj.get("kind")))
    if key not in _KNOWN:
        raise NotFound(f"kind {key[1]} of {key[0]} is not known here", todo="look it up with Cluster.discover")
    return _KNOWN[key]

"""Rights that are worth more than they say. Pure.

From Kubernetes' own list (RBAC good practices: privilege escalation risks), each with what can be done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

__all__ = ["DANGERS", "dangers"]

_READ = frozenset({"get", "list", "watch"})
_WRITE = frozenset({"create", "update", "patch"})
_RBAC = "rbac.authorization.k8s.io"
_ROLES = ("roles", "clusterroles")
_BINDINGS = ("rolebindings", "clusterrolebindings")
_WEBHOOKS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")

#: Id of a danger, and what it is worth.
DANGERS: Mapping[str, str] = {
    "wildcard": "all verbs, resources or groups, also those that come later",
    "secrets-read": "reads every Secret, tokens and keys among them",
    "secrets-read-namespace": "reads every Secret of the namespace",
    "escalate": "writes roles with rights that it does not have itself",
    "bind": "binds roles with rights that it does not have itself",
    "impersonate": "acts as any user, group or service account",
    "roles-write": "changes roles; what it may put in is bounded by its own rights",
    "exec": "runs commands in any pod",
    "nodes-proxy": "reaches the kubelet's whole interface, past admission and audit",
    "token-create": "makes tokens of other service accounts",
    "webhooks-write": "sees and changes any object that is written",
    "admission-write": "changes what the cluster admits",
    "crds-write": "changes or deletes kinds, and every object of them with a kind",
    "pods-create": "runs any pod, with any service account of the namespace",
    "csr-approve": "issues client certificates",
    "nodes-write": "taints, labels and marks nodes",
}


def dangers(namespace: str, group: str, resource: str, name: str, verbs: Collection[str]) -> tuple[str, ...]:
    """The dangers of one right, by id. A right on named objects only is told where the name does not make it harmless."""
    if resource.startswith("/"):
        return ("wildcard",) if resource == "/*" and "*" in verbs else ()
    found = [id_ for id_, test in _TESTS.items() if test(_Asked(namespace, group, resource, name, frozenset(verbs)))]
    # What a wildcard contains is not spelled out again.
    return ("wildcard",) if "wildcard" in found and "*" in (group, resource) else tuple(found)


class _Asked:
    def __init__(self, namespace: str, group: str, resource: str, name: str, verbs: frozenset[str]) -> None:
        self.namespace, self.name, self.verbs = namespace, name, verbs
        self._group, self._resource = group, resource

    def on(self, group: str, *resources: str) -> bool:
        return self._group in ("*", group) and (self._resource == "*" or self._resource in resources)

    def may(self, verbs: Collection[str]) -> bool:
        return "*" in self.verbs or bool(self.verbs & set(verbs))

    @property
    def wild(self) -> bool:
        return "*" in (self._group, self._resource) or "*" in self.verbs


def _pods(asked: _Asked) -> bool:
    workloads = asked.on("", "pods", "replicationcontrollers") or asked.on("apps", "deployments", "daemonsets", "statefulsets")
    jobs = asked.on("batch", "jobs", "cronjobs")
    return not asked.namespace and (workloads or jobs) and asked.may({"create"})


_TESTS: Mapping[str, Callable[[_Asked], bool]] = {
    "wildcard": lambda a: a.wild,
    "secrets-read": lambda a: a.on("", "secrets") and a.may(_READ) and not a.namespace and not a.name,
    "secrets-read-namespace": lambda a: a.on("", "secrets") and a.may(_READ) and bool(a.namespace) and not a.name,
    "escalate": lambda a: a.on(_RBAC, *_ROLES) and a.may({"escalate"}),
    "bind": lambda a: a.on(_RBAC, *_ROLES) and a.may({"bind"}),
    "impersonate": lambda a: a.may({"impersonate"}),
    "roles-write": lambda a: a.on(_RBAC, *_ROLES, *_BINDINGS) and a.may(_WRITE),
    "exec": lambda a: a.on("", "pods/exec", "pods/attach", "pods/ephemeralcontainers") and a.may({"create", "get", *_WRITE}),
    "nodes-proxy": lambda a: a.on("", "nodes/proxy") and a.may({"create", *_READ}),
    "token-create": lambda a: a.on("", "serviceaccounts/token") and a.may({"create"}),
    "webhooks-write": lambda a: a.on("admissionregistration.k8s.io", *_WEBHOOKS) and a.may(_WRITE),
    "admission-write": lambda a: a.on("admissionregistration.k8s.io", "validatingadmissionpolicies") and a.may(_WRITE),
    "crds-write": lambda a: a.on("apiextensions.k8s.io", "customresourcedefinitions") and a.may({*_WRITE, "delete"}),
    "pods-create": _pods,
    "csr-approve": lambda a: a.on("certificates.k8s.io", "certificatesigningrequests/approval") and a.may(_WRITE),
    "nodes-write": lambda a: a.on("", "nodes", "nodes/status") and a.may({"update", "patch"}),
}

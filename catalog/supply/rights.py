"""What add-ons may do: their RBAC objects as single grants, with the dangerous ones named. Pure.

A grant is one verb on one resource. Versions are compared by what their grants allow, not by how their roles are cut: a rule
that was split, renamed or moved to another role is no change, one verb more is. Service accounts are left out of the comparison,
for what counts is what the add-on may do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.supply.dangers import dangers

__all__ = ["Grant", "Right", "Rights", "new_rights", "rights_of", "summed"]

Object = Mapping[str, Any]

_RBAC = "rbac.authorization.k8s.io"
#: Roles that every cluster has, as far as add-ons are bound to them. Kubernetes' own policy (plugin/pkg/auth/authorizer/rbac).
_BUILT_IN: Mapping[str, tuple[Object, ...]] = {
    "cluster-admin": ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}),
    "system:auth-delegator": (
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ),
    "extension-apiserver-authentication-reader": (
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["extension-apiserver-authentication"],
            "verbs": ["get", "list", "watch"],
        },
    ),
}
#: Who may stand behind a binding beside service accounts: everybody, in effect.
_EVERYBODY = ("system:authenticated", "system:unauthenticated", "system:anonymous", "system:serviceaccounts")


@dataclass(frozen=True, slots=True, order=True)
class Grant:
    """``namespace`` is empty for the whole cluster. ``group`` is empty for the core group; ``resource`` may be ``pods/exec``, or
    a URL that is no resource; ``name`` is empty for all objects."""

    namespace: str
    group: str
    resource: str
    name: str
    verb: str

    def covers(self, other: Grant) -> bool:
        """Whether whoever has this grant has the other one too."""
        return (
            self.namespace in ("", other.namespace)
            and self.group in ("*", other.group)
            and _resource_covers(self.resource, other.resource)
            and self.name in ("", other.name)
            and self.verb in ("*", other.verb)
        )


@dataclass(frozen=True, slots=True)
class Right:
    """Grants that differ in their verbs only. ``dangers`` say what such a right is worth to whoever gets hold of it."""

    namespace: str
    group: str
    resource: str
    name: str
    verbs: tuple[str, ...]
    dangers: tuple[str, ...]

    @property
    def what(self) -> str:
        """``secrets``, ``pods/exec``, ``deployments.apps/web`` and the like, for people."""
        if self.resource.startswith("/"):
            return self.resource
        head, slash, tail = self.resource.partition("/")
        where = f"{head}.{self.group}" if self.group else head
        return f"{where}{slash}{tail}" + (f" {self.name}" if self.name else "")


@dataclass(frozen=True, slots=True)
class Rights:
    """``cluster`` and ``namespaced`` are what the add-on's subjects may do. ``extends`` are rights that its roles add to roles of
    the cluster (``view``, ``edit``, ``admin``) for people. ``subjects`` are who has them; ``notes`` say what is not known."""

    cluster: frozenset[Grant]
    namespaced: frozenset[Grant]
    extends: Mapping[str, frozenset[Grant]]
    subjects: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def all(self) -> frozenset[Grant]:
        return self.cluster | self.namespaced


def rights_of(objects: Iterable[Object], *, around: Iterable[Object] = ()) -> Rights:
    """What one add-on's rendered objects allow. ``around`` are objects of the other add-ons of the cluster: roles of theirs may
    be aggregated into this one's, and bound by it."""
    own = [obj for obj in objects if str(obj["apiVersion"]).startswith(f"{_RBAC}/")]
    others = [obj for obj in around if str(obj["apiVersion"]).startswith(f"{_RBAC}/")]
    roles = [obj for obj in (*own, *others) if obj["kind"] == "ClusterRole"]
    local = {(obj["metadata"].get("namespace", ""), obj["metadata"]["name"]): obj for obj in own if obj["kind"] == "Role"}
    cluster: set[Grant] = set()
    namespaced: set[Grant] = set()
    subjects: set[str] = set()
    notes: list[str] = []
    for binding in own:
        if binding["kind"] not in ("ClusterRoleBinding", "RoleBinding") or not binding.get("subjects"):
            continue
        label = f"{binding['kind']} {binding['metadata']['name']}"
        subjects.update(_subjects(binding, label, notes))
        place = "" if binding["kind"] == "ClusterRoleBinding" else str(binding["metadata"].get("namespace", ""))
        rules = _rules(binding["roleRef"], place, roles, local)
        if rules is None:
            notes.append(f"{label} binds {binding['roleRef']['kind']} {binding['roleRef']['name']}, which is not of this package")
            continue
        (namespaced if place else cluster).update(_grants(rules, place))
    extends: dict[str, set[Grant]] = {}
    for role in own:
        for name in _aggregated_to(role) if role["kind"] == "ClusterRole" else ():
            extends.setdefault(name, set()).update(_grants(role.get("rules") or (), ""))
    return Rights(
        frozenset(cluster),
        frozenset(namespaced),
        {name: frozenset(found) for name, found in sorted(extends.items())},
        tuple(sorted(subjects)),
        tuple(dict.fromkeys(notes)),
    )


def new_rights(old: Rights, new: Rights) -> frozenset[Grant]:
    """Grants of ``new`` that no grant of ``old`` covers."""
    wide = [grant for grant in old.all if "*" in (grant.group, grant.verb, grant.resource) or "*" in grant.resource]
    wide += [grant for grant in old.all if not grant.namespace or not grant.name]
    had = old.all
    return frozenset(grant for grant in new.all if grant not in had and not any(other.covers(grant) for other in wide))


def summed(grants: Iterable[Grant]) -> tuple[Right, ...]:
    """Grants put together by what they are on: the dangerous first, then in order."""
    verbs: dict[tuple[str, str, str, str], list[str]] = {}
    for grant in sorted(grants):
        verbs.setdefault((grant.namespace, grant.group, grant.resource, grant.name), []).append(grant.verb)
    found = [Right(*key, tuple(value), dangers(*key, value)) for key, value in verbs.items()]
    return tuple(sorted(found, key=lambda right: (not right.dangers, right.namespace, right.group, right.resource, right.name)))


def _rules(
    ref: Object, namespace: str, roles: Sequence[Object], local: Mapping[tuple[str, str], Object]
) -> Sequence[Object] | None:
    name = str(ref["name"])
    if ref["kind"] == "Role":
        found = local.get((namespace, name))
        if found is not None:
            return list(found.get("rules") or ())
        return _BUILT_IN.get(name) if namespace == "kube-system" else None
    role = next((role for role in roles if role["metadata"]["name"] == name), None)
    if role is None:
        return _BUILT_IN.get(name)
    return [*(role.get("rules") or ()), *_aggregated(role, roles)]


def _aggregated(role: Object, roles: Sequence[Object]) -> Iterator[Object]:
    """Rules of the roles whose labels an aggregation rule selects; the controller writes them into the role."""
    for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
        for other in roles:
            if other is not role and _selects(selector, other["metadata"].get("labels") or {}):
                yield from other.get("rules") or ()


def _selects(selector: Object, labels: Mapping[str, str]) -> bool:
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for term in selector.get("matchExpressions") or ():
        value, values = labels.get(term["key"]), term.get("values") or ()
        holds = {
            "In": value in values,
            "NotIn": value not in values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
        }
        if not holds.get(term["operator"], False):
            return False
    return True


def _aggregated_to(role: Object) -> Iterator[str]:
    prefix = f"{_RBAC}/aggregate-to-"
    for key, value in sorted((role["metadata"].get("labels") or {}).items()):
        if key.startswith(prefix) and value == "true":
            yield key.removeprefix(prefix)


def _grants(rules: Iterable[Object], namespace: str) -> Iterator[Grant]:
    for rule in rules:
        for verb in rule.get("verbs") or ():
            for url in rule.get("nonResourceURLs") or ():
                if not namespace:  # a role in a namespace grants no URL
                    yield Grant("", "", url if url.startswith("/") else f"/{url}", "", verb)
            for group in rule.get("apiGroups") or ():
                for resource in rule.get("resources") or ():
                    for name in rule.get("resourceNames") or ("",):
                        yield Grant(namespace, group, resource, name, verb)


def _subjects(binding: Object, label: str, notes: list[str]) -> Iterator[str]:
    for subject in binding["subjects"]:
        name = f"{subject['namespace']}/{subject['name']}" if subject.get("namespace") else str(subject["name"])
        if subject["kind"] != "ServiceAccount" and str(subject["name"]).startswith(_EVERYBODY):
            notes.append(f"{label} is for {subject['name']}: everybody there has these rights")
        yield f"{subject['kind']} {name}"


def _resource_covers(wide: str, narrow: str) -> bool:
    if wide == narrow:
        return True
    if wide.startswith("/") or narrow.startswith("/"):
        return wide.startswith("/") and wide.endswith("*") and narrow.startswith(wide[:-1])
    if wide == "*":
        return True
    return wide.startswith("*/") and narrow.partition("/")[2] == wide[2:]

"""What rendered RBAC allows, what of it is dangerous, and what a new version newly allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.supply.dangers import DANGERS, dangers
from catalog.supply.rights import Grant, new_rights, rights_of, summed
from tests.catalog.supply.made import binding, role, rule

ROLES = "rbac.authorization.k8s.io"


def allowed(*objects: dict[str, Any], around: tuple[dict[str, Any], ...] = ()) -> set[tuple[str, str, str]]:
    """Where, on what, verb."""
    rights = rights_of(objects, around=around)
    return {(right.namespace, right.what, verb) for right in summed(rights.all) for verb in right.verbs}


def test_a_role_that_nobody_is_bound_to_allows_nothing() -> None:
    assert allowed(role("r", rule("get", "pods"))) == set()
    assert allowed(role("r", rule("get", "pods")), {**binding("r"), "subjects": []}) == set()


def test_cluster_wide_and_namespaced_rights_are_kept_apart() -> None:
    rights = rights_of(
        [
            role("r", rule("get", "pods")),
            binding("r"),
            role("n", rule("get", "secrets"), namespace="ops"),
            binding("n", namespace="ops"),
        ]
    )
    assert rights.cluster == {Grant("", "", "pods", "", "get")}
    assert rights.namespaced == {Grant("ops", "", "secrets", "", "get")}
    assert rights.subjects == ("ServiceAccount ops/operator",)


def test_a_cluster_role_bound_in_a_namespace_holds_there_only() -> None:
    found = rights_of([role("r", rule("get", "pods")), binding("r", namespace="ops", kind="ClusterRole")])
    assert not found.cluster
    assert found.namespaced == {Grant("ops", "", "pods", "", "get")}


def test_names_urls_and_subresources_are_told() -> None:
    urls = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    assert allowed(
        role("r", rule("get", "pods/exec", "", "a"), rule("list", "things/scale", "demo.invalid"), urls), binding("r")
    ) == {
        ("", "pods/exec a", "get"),
        ("", "things.demo.invalid/scale", "list"),
        ("", "/metrics", "get"),
    }


def test_an_aggregated_role_has_the_rules_of_the_roles_that_it_selects() -> None:
    whole = role("r", aggregationRule={"clusterRoleSelectors": [{"matchLabels": {"to": "r"}}]})
    part, other = role("p", rule("get", "pods"), labels={"to": "r"}), role("o", rule("get", "nodes"), labels={"to": "x"})
    assert allowed(whole, part, other, binding("r")) == {("", "pods", "get")}
    assert allowed(whole, binding("r"), around=(part,)) == {("", "pods", "get")}, "of another add-on"


@pytest.mark.parametrize(
    ("term", "selected"),
    [
        ({"key": "to", "operator": "In", "values": ["r", "s"]}, True),
        ({"key": "to", "operator": "NotIn", "values": ["r"]}, False),
        ({"key": "to", "operator": "Exists"}, True),
        ({"key": "to", "operator": "DoesNotExist"}, False),
        ({"key": "of", "operator": "DoesNotExist"}, True),
    ],
)
def test_selectors_with_expressions_are_followed(term: dict[str, Any], selected: bool) -> None:
    whole = role("r", aggregationRule={"clusterRoleSelectors": [{"matchExpressions": [term]}]})
    assert bool(allowed(whole, role("p", rule("get", "pods"), labels={"to": "r"}), binding("r"))) is selected


def test_a_role_that_adds_to_the_clusters_own_is_told_apart() -> None:
    found = rights_of([role("v", rule("get", "things", "demo.invalid"), labels={f"{ROLES}/aggregate-to-view": "true"})])
    assert found.all == frozenset()
    assert found.extends == {"view": {Grant("", "demo.invalid", "things", "", "get")}}


def test_a_binding_to_a_role_of_the_cluster_is_known_or_noted() -> None:
    assert ("", "*.*", "*") in allowed(binding("cluster-admin"))
    assert allowed(binding("system:auth-delegator")) >= {("", "tokenreviews.authentication.k8s.io", "create")}
    assert allowed(binding("extension-apiserver-authentication-reader", namespace="kube-system"))
    found = rights_of([binding("somebody-elses")])
    assert found.notes == ("ClusterRoleBinding somebody-elses binds ClusterRole somebody-elses, which is not of this package",)


def test_a_binding_for_everybody_is_noted() -> None:
    who = {"kind": "Group", "name": "system:authenticated"}
    (note,) = rights_of([role("r", rule("get", "pods")), binding("r", subject=who)]).notes
    assert "system:authenticated: everybody" in note


DANGEROUS: list[tuple[str, str, dict[str, Any]]] = [
    ("wildcard", "", rule("*", "pods")),
    ("wildcard", "", rule("get", "*")),
    ("wildcard", "", rule("get", "pods", "*")),
    ("wildcard", "", {"nonResourceURLs": ["*"], "verbs": ["*"]}),
    ("secrets-read", "", rule("list", "secrets")),
    ("secrets-read-namespace", "ops", rule("get", "secrets")),
    ("escalate", "", rule("escalate", "clusterroles", ROLES)),
    ("bind", "", rule("bind", "roles", ROLES)),
    ("impersonate", "", rule("impersonate", "users")),
    ("roles-write", "", rule("patch", "clusterrolebindings", ROLES)),
    ("exec", "", rule("create", "pods/exec")),
    ("nodes-proxy", "", rule("get", "nodes/proxy")),
    ("token-create", "", rule("create", "serviceaccounts/token")),
    ("webhooks-write", "", rule("update", "mutatingwebhookconfigurations", "admissionregistration.k8s.io")),
    ("admission-write", "", rule("create", "validatingadmissionpolicies", "admissionregistration.k8s.io")),
    ("crds-write", "", rule("delete", "customresourcedefinitions", "apiextensions.k8s.io")),
    ("pods-create", "", rule("create", "deployments", "apps")),
    ("csr-approve", "", rule("update", "certificatesigningrequests/approval", "certificates.k8s.io")),
    ("nodes-write", "", rule("patch", "nodes")),
]
HARMLESS = [
    rule("get", "pods"),
    rule("get", "secrets", "", "one"),
    rule("create", "secrets"),
    rule("get", "roles", ROLES),
    rule("get", "customresourcedefinitions", "apiextensions.k8s.io"),
    rule("delete", "pods"),
    rule("get", "nodes"),
    rule("create", "tokenreviews", "authentication.k8s.io"),
    {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
]


@pytest.mark.parametrize(("danger", "namespace", "grant"), DANGEROUS)
def test_a_right_that_is_worth_more_than_it_says_is_named(danger: str, namespace: str, grant: dict[str, Any]) -> None:
    found = rights_of([role("r", grant, namespace=namespace), binding("r", namespace=namespace)])
    assert danger in {one for right in summed(found.all) for one in right.dangers}


def test_every_danger_has_an_example() -> None:
    assert {danger for danger, _, _ in DANGEROUS} == set(DANGERS)


@pytest.mark.parametrize("grant", HARMLESS)
def test_an_ordinary_right_is_not(grant: dict[str, Any]) -> None:
    found = rights_of([role("r", grant), binding("r")])
    assert [right.dangers for right in summed(found.all)] == [()]


def test_the_dangerous_come_first() -> None:
    found = rights_of([role("r", rule("get", "apples"), rule("get", "secrets")), binding("r")])
    assert [right.what for right in summed(found.all)] == ["secrets", "apples"]


def test_what_is_new_is_told_by_what_it_allows_not_by_how_roles_are_cut() -> None:
    old = rights_of([role("r", rule("get list", "pods nodes")), binding("r")])
    cut = rights_of(
        [role("a", rule("list", "nodes"), rule("get", "pods")), binding("a"), role("b", rule("get", "nodes")), binding("b")]
    )
    assert new_rights(old, cut) == frozenset()
    more = rights_of([role("r", rule("get list watch", "pods nodes")), binding("r")])
    assert new_rights(old, more) == {Grant("", "", "pods", "", "watch"), Grant("", "", "nodes", "", "watch")}


@pytest.mark.parametrize(
    ("old", "new", "covered"),
    [
        (("", "", "pods", "", "*"), ("", "", "pods", "", "get"), True),
        (("", "*", "*", "", "*"), ("", "apps", "deployments/scale", "", "patch"), True),
        (("", "", "*/scale", "", "get"), ("", "", "pods/scale", "", "get"), True),
        (("", "", "*/scale", "", "get"), ("", "", "pods", "", "get"), False),
        (("", "", "pods", "", "get"), ("ops", "", "pods", "", "get"), True),
        (("ops", "", "pods", "", "get"), ("", "", "pods", "", "get"), False),
        (("", "", "pods", "", "get"), ("", "", "pods", "a", "get"), True),
        (("", "", "pods", "a", "get"), ("", "", "pods", "", "get"), False),
        (("", "", "/healthz/*", "", "get"), ("", "", "/healthz/live", "", "get"), True),
        (("", "*", "*", "", "*"), ("", "", "/metrics", "", "get"), False),
    ],
)
def test_a_wider_right_covers_a_narrower_one(old: tuple[str, ...], new: tuple[str, ...], covered: bool) -> None:
    assert Grant(*old).covers(Grant(*new)) is covered


GRANTS = st.builds(
    Grant,
    st.sampled_from(["", "ops"]),
    st.sampled_from(["", "apps", "*"]),
    st.sampled_from(["pods", "pods/exec", "*", "*/exec", "/a", "/a/*"]),
    st.sampled_from(["", "n"]),
    st.sampled_from(["get", "list", "*"]),
)


@settings(deadline=None)
@given(st.frozensets(GRANTS, max_size=6), st.frozensets(GRANTS, max_size=6))
def test_what_is_new_is_exactly_what_no_old_grant_covers(old: frozenset[Grant], new: frozenset[Grant]) -> None:
    def rights(grants: frozenset[Grant]) -> Any:
        found = rights_of([])
        return type(found)(grants, frozenset(), {}, (), ())

    fresh = new_rights(rights(old), rights(new))
    assert fresh == {grant for grant in new if not any(other.covers(grant) for other in old)}
    assert new_rights(rights(new), rights(new)) == frozenset()


def test_a_danger_is_not_spelled_out_again_below_a_wildcard() -> None:
    assert dangers("", "*", "*", "", ["*"]) == ("wildcard",)

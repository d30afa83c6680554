"""An object that two add-ons of one plan make is refused, with both."""

from __future__ import annotations

import pytest

from base.errors import Refused
from catalog.package.together import check_together, collisions
from tests.catalog.package.made import Object, obj


def role(name: str) -> Object:
    return obj("ClusterRole", name, "", "rbac.authorization.k8s.io/v1")


@pytest.mark.parametrize(
    "shared",
    [
        role("admin"),
        obj("PriorityClass", "high", "", "scheduling.k8s.io/v1"),
        obj("CustomResourceDefinition", "things.demo.invalid", "", "apiextensions.k8s.io/v1"),
        obj("ValidatingWebhookConfiguration", "check", "", "admissionregistration.k8s.io/v1"),
        obj("ConfigMap", "settings", "kube-system"),
    ],
)
def test_an_object_that_two_addons_make_is_told_with_both(shared: Object) -> None:
    (told,) = collisions({"b": [shared], "a": [dict(shared)], "c": [role("mine")]})
    assert told.startswith(shared["kind"])
    assert told.endswith("is made by a and b")


def test_another_version_of_the_same_api_is_the_same_object() -> None:
    assert collisions({"a": [role("x")], "b": [{**role("x"), "apiVersion": "rbac.authorization.k8s.io/v1beta1"}]})


def test_objects_of_their_own_and_a_shared_namespace_do_not_collide() -> None:
    shared = obj("Namespace", "demo", "")
    assert (
        collisions({"a": [role("a"), shared, obj("Secret", "s", "a")], "b": [role("b"), shared, obj("Secret", "s", "b")]}) == ()
    )


def test_every_collision_is_refused_at_once() -> None:
    with pytest.raises(Refused, match=r"(?s)ClusterRole x.*ClusterRole y"):
        check_together({"a": [role("x"), role("y")], "b": [role("x"), role("y")]})
    check_together({"a": [role("x")], "b": [role("y")]})

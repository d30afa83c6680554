"""What becomes of one rendered object."""

from __future__ import annotations

import pytest

from base.errors import InvalidInput
from components.objects import Stage, body_of, resources, retained, stage_of, token_of
from tests.components.synthetic import crd, obj, queue


@pytest.mark.parametrize(
    ("api_version", "kind", "token"),
    [
        ("v1", "Namespace", "kubernetes:core/v1:Namespace"),
        ("apps/v1", "Deployment", "kubernetes:apps/v1:Deployment"),
        ("kai.scheduler/v1alpha1", "Topology", "kubernetes:kai.scheduler/v1alpha1:Topology"),
    ],
)
def test_a_type_token_is_what_the_provider_reads_group_version_and_kind_from(api_version: str, kind: str, token: str) -> None:
    assert token_of(obj(api_version, kind, "x")) == token


def test_an_own_custom_resource_waits_for_the_operators_and_a_foreign_one_comes_before_them() -> None:
    certificate = obj("cert-manager.io/v1", "Certificate", "c", "ns")
    assert stage_of(certificate, frozenset({("cert-manager.io", "Certificate")})) is Stage.CUSTOM
    assert stage_of(certificate, frozenset()) is Stage.CONFIGURATION
    assert Stage.CONFIGURATION < Stage.WORKLOADS < Stage.ADMISSION < Stage.CUSTOM < Stage.TENANCY


def test_what_the_chart_keeps_is_retained_too() -> None:
    plain = obj("v1", "Namespace", "a")
    assert not retained(plain)
    assert retained(obj("v1", "Namespace", "a", metadata={"annotations": {"helm.sh/resource-policy": "keep"}}))
    assert retained(queue("q"))
    assert retained(crd("x.dev", "Thing"))


def test_the_applied_object_has_our_marks_and_nothing_that_the_server_sets() -> None:
    given = obj("v1", "ConfigMap", "c", "ns", data={"a": "1", "b": None}, status={"x": 1})
    given["metadata"] |= {"creationTimestamp": None, "uid": "u", "resourceVersion": "7"}
    body = body_of(given, "thing")
    assert body == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "c",
            "namespace": "ns",
            "labels": {"app": "synthetic", "app.kubernetes.io/managed-by": "chandlery"},
            "annotations": {
                "chandlery.dev/addon": "thing",
                "pulumi.com/patchFieldManager": "chandlery",
                "pulumi.com/patchForce": "true",
            },
        },
        "data": {"a": "1"},
    }
    assert given["data"] == {"a": "1", "b": None}, "the rendered object is left as it was"


def test_the_charts_own_managed_by_label_stays() -> None:
    body = body_of(obj("v1", "ConfigMap", "c", metadata={"labels": {"app.kubernetes.io/managed-by": "Helm"}}), "thing")
    assert body["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"


def test_a_namespace_on_a_kind_without_one_is_dropped() -> None:
    body = body_of(obj("rbac.authorization.k8s.io/v1", "ClusterRole", "r", "ns"), "thing")
    assert "namespace" not in body["metadata"]


def test_services_are_not_awaited_and_crds_are_until_established() -> None:
    service = body_of(obj("v1", "Service", "s", "ns"), "thing")
    assert service["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    definition = body_of(crd("x.dev", "Thing"), "thing")
    assert definition["metadata"]["annotations"]["pulumi.com/waitFor"] == "condition=Established"
    assert "status" not in definition


def test_queues_are_made_from_the_root_down_whatever_their_order() -> None:
    made = resources("k", (), [queue("leaf", "mid"), queue("mid", "top"), queue("top"), queue("lone", "not-ours")])
    assert [(r.body["metadata"]["name"], r.level) for r in made] == [("lone", 0), ("top", 0), ("mid", 1), ("leaf", 2)]


def test_queues_that_are_each_others_parents_are_refused() -> None:
    with pytest.raises(InvalidInput, match="each other's parents"):
        resources("k", (), [queue("a", "b"), queue("b", "a")])


def test_a_helm_hook_is_refused() -> None:
    hook = obj("batch/v1", "Job", "j", "ns", metadata={"annotations": {"helm.sh/hook": "pre-install"}})
    with pytest.raises(InvalidInput, match="Helm hook"):
        resources("k", (), [hook])


def test_one_object_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="twice"):
        resources("k", (), [obj("v1", "Namespace", "a"), obj("v1", "Namespace", "a")])


def test_an_object_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="without apiVersion, kind or name"):
        resources("k", (), [{"apiVersion": "v1", "kind": "Namespace", "metadata": {}}])


def test_order_of_rendering_does_not_matter() -> None:
    objects = [obj("v1", "Namespace", "a"), obj("v1", "ConfigMap", "c", "a"), queue("q")]
    assert resources("k", (), objects) == resources("k", (), objects[::-1])

"""Rendered objects are sorted out, completed with namespaces, searched for images and put in order."""

from __future__ import annotations

from typing import Any

import pytest

from base.errors import Refused
from catalog.model import DroppedHook
from catalog.package.images import images
from catalog.package.objects import flattened, label, namespaced, ordered, split_hooks, with_namespaces

Object = dict[str, Any]


def obj(kind: str, name: str = "x", namespace: str = "", api: str = "v1", **more: Any) -> Object:
    meta: Object = {"name": name} | ({"namespace": namespace} if namespace else {}) | more.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": meta, **more}


def crd(group: str, kind: str, scope: str) -> Object:
    spec = {"group": group, "names": {"kind": kind}, "scope": scope}
    return obj("CustomResourceDefinition", f"{kind.lower()}s.{group}", api="apiextensions.k8s.io/v1", spec=spec)


def hook(kind: str, name: str, event: str = "pre-install") -> Object:
    return obj(kind, name, metadata={"annotations": {"helm.sh/hook": event}})


def test_lists_are_taken_apart() -> None:
    nested = {"apiVersion": "v1", "kind": "List", "items": [obj("Pod", "a"), {"kind": "PodList", "items": [obj("Pod", "b")]}]}
    assert [o["metadata"]["name"] for o in flattened([nested], "x")] == ["a", "b"]


@pytest.mark.parametrize("bad", [{"kind": "Pod", "metadata": {"name": "x"}}, {"apiVersion": "v1", "kind": "Pod"}, obj("Pod", "")])
def test_what_is_no_object_is_refused(bad: Object) -> None:
    with pytest.raises(Refused, match="without apiVersion, kind or name"):
        list(flattened([bad], "x"))


def test_hooks_that_are_known_are_left_out_and_told() -> None:
    known = [DroppedHook("Job", "upgrade", "done otherwise"), DroppedHook("Pod", "", "tests")]
    kept, dropped = split_hooks([obj("Pod", "real"), hook("Job", "upgrade"), hook("Pod", "t", "test")], known, "x")
    assert [o["metadata"]["name"] for o in kept] == ["real"]
    assert dropped == ["Job upgrade (pre-install)", "Pod t (test)"]


def test_a_hook_that_only_puts_an_object_there_becomes_that_object() -> None:
    account = hook("ServiceAccount", "reader") | {"automount": True}
    account["metadata"]["annotations"]["team"] = "x"
    known = [DroppedHook("ServiceAccount", "reader", "others use it", "object")]
    kept, dropped = split_hooks([account], known, "x")
    assert kept == [obj("ServiceAccount", "reader", metadata={"annotations": {"team": "x"}}, automount=True)]
    assert dropped == ["ServiceAccount reader (pre-install)"]
    assert split_hooks([hook("ServiceAccount", "reader")], known, "x")[0] == [obj("ServiceAccount", "reader")]


def test_what_a_hook_job_would_apply_out_of_a_configmap_is_applied() -> None:
    manifest = hook("ConfigMap", "manifest") | {"data": {"a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"}}
    known = [DroppedHook("ConfigMap", "manifest", "x", "manifest"), DroppedHook("Job", "deployer", "x", "manifest")]
    kept, dropped = split_hooks([manifest, hook("Job", "deployer")], known, "x")
    assert kept == [obj("Secret", "s")]
    assert dropped == ["ConfigMap manifest (pre-install)", "Job deployer (pre-install)"]


def test_a_hook_that_nobody_looked_at_is_refused() -> None:
    with pytest.raises(Refused, match=r"renders the hook Job migrate \(pre-install\), which nobody has looked at"):
        split_hooks([hook("Job", "migrate")], [DroppedHook("Job", "upgrade", "x")], "x")


@pytest.mark.parametrize(
    ("candidate", "expected"),
    [
        (obj("Pod"), True),
        (obj("Namespace"), False),
        (obj("ClusterRole", api="rbac.authorization.k8s.io/v1"), False),
        (obj("Role", api="rbac.authorization.k8s.io/v1"), True),
        (obj("Thing", api="a.invalid/v1"), False),
        (obj("Part", api="a.invalid/v1"), True),
        (obj("Thing", api="b.invalid/v1"), None),
    ],
)
def test_whether_a_kind_has_a_namespace(candidate: Object, expected: bool | None) -> None:
    assert namespaced(candidate, [crd("a.invalid", "Thing", "Cluster"), crd("a.invalid", "Part", "Namespaced")]) is expected


def test_namespaced_objects_get_the_addons_namespace_and_the_namespace_itself() -> None:
    completed = with_namespaces([obj("Secret"), obj("Secret", "y", "kube-system")], [], "demo", "x")
    assert [label(o) for o in completed] == ["Secret demo/x", "Secret kube-system/y", "Namespace demo"]


def test_a_namespace_that_the_chart_brings_is_not_made_twice() -> None:
    completed = with_namespaces([obj("Secret"), obj("Namespace", "demo")], [], "demo", "x")
    assert [label(o) for o in completed] == ["Secret demo/x", "Namespace demo"]


def test_without_objects_in_it_no_namespace_is_made_and_cluster_scoped_objects_lose_theirs() -> None:
    role = obj("ClusterRole", namespace="demo", api="rbac.authorization.k8s.io/v1")
    assert [label(o) for o in with_namespaces([role], [], "demo", "x")] == ["ClusterRole x"]


def test_a_kind_of_unknown_scope_needs_its_namespace_written_out() -> None:
    assert with_namespaces([obj("Issuer", namespace="demo", api="c.invalid/v1")], [], "demo", "x")
    with pytest.raises(Refused, match="nothing here says whether it needs one"):
        with_namespaces([obj("Issuer", api="c.invalid/v1")], [], "demo", "x")


def test_completing_leaves_the_given_objects_alone() -> None:
    given = obj("Secret")
    with_namespaces([given], [], "demo", "x")
    assert given == obj("Secret")


def test_images_are_found_wherever_something_is_run() -> None:
    pod = {
        "containers": [{"image": "r/a:1", "args": ["--solver-image=r/b:1", "--image-pull-policy=x"]}],
        "initContainers": [{"image": "r/c:1"}],
    }
    found = images(
        [
            obj("Deployment", spec={"template": {"spec": pod}}),
            obj("Config", spec={"part": {"image": {"name": "d", "repository": "r", "tag": "1", "pullPolicy": "x"}}}),
            crd("a.invalid", "Thing", "Cluster") | {"example": {"image": "r/never:1"}},
        ]
    )
    assert found == ("r/a:1", "r/b:1", "r/c:1", "r/d:1")


def test_the_order_is_namespaces_first_and_custom_resources_last_whatever_comes_in() -> None:
    given = [
        obj("Queue", api="q.invalid/v1"),
        obj("Deployment", api="apps/v1"),
        obj("Secret", "b"),
        obj("Secret", "a"),
        obj("Namespace"),
    ]
    names = ["Namespace x", "Secret a", "Secret b", "Deployment x", "Queue x"]
    assert [label(o) for o in ordered(given)] == names
    assert [label(o) for o in ordered(reversed(given))] == names

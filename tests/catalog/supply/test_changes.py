"""What changes between two versions, part by part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from catalog.model import (
    AddonVersion,
    Catalogue,
    Compatibility,
    Constraint,
    Edge,
    Guard,
    Image,
    KnownIssue,
    KubernetesRange,
    VersionRange,
)
from catalog.supply.changes import Side, VersionChanges, between, edge_between
from catalog.supply.leaves import ABSENT, HIDDEN, compare_trees
from tests.catalog.crds.made import crd, field
from tests.catalog.supply.made import binding, rendered, role, rule
from tests.catalog.synthetic import addon, version

CATALOGUE = Catalogue({"demo": addon("demo")}, {}, {})


Objects = list[dict[str, Any]]


def changes(
    old: Objects, new: Objects, was: AddonVersion | None = None, now: AddonVersion | None = None, **more: Any
) -> VersionChanges:
    """Of two versions that render ``old`` and ``new``; ``crds`` and ``values`` (the chart's own) are pairs."""
    crds, values = more.get("crds", ([], [])), more.get("values", ({}, {}))
    return between(
        Side(was or version("demo"), rendered("demo", *old, crds=crds[0]), values[0], {}),
        Side(now or version("demo", "2.0.0"), rendered("demo", *new, crds=crds[1]), values[1], {}),
        CATALOGUE,
    )


def deployment(image: str = "x:1", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "op", "namespace": "ops", "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app": "op"}},
            "template": {"spec": {"containers": [{"name": "main", "image": image}]}},
        },
    }


def secret(value: str, *more: str) -> dict[str, Any]:
    data = {"token": value, **dict.fromkeys(more, value)}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "ops"}, "data": data}


def told(differences: Any) -> list[tuple[str, str]]:
    return [(one.path, one.how) for one in differences]


def test_nothing_changes_between_a_version_and_itself() -> None:
    same = version("demo")
    found = changes([deployment(), secret("a")], [deployment(), secret("a")], same, same, crds=([crd()], [crd()]))
    parts = [getattr(found, name) for name in found.__slots__ if name not in ("addon", "origin", "to", "edge")]
    assert not any(parts)


def test_default_values_are_compared_leaf_by_leaf() -> None:
    found = changes([], [], values=({"a": {"b": 1, "c": [1]}, "n": None}, {"a": {"b": 2, "d": {"e": 1}}, "n": ""}))
    assert told(found.defaults) == [("a.b", "changed"), ("a.c", "removed"), ("a.d.e", "added"), ("n", "changed")]


def test_objects_come_go_and_change_by_their_names() -> None:
    found = changes(
        [deployment(), secret("a")], [deployment("x:2"), {**secret("a"), "metadata": {"name": "t", "namespace": "ops"}}]
    )
    assert [(o.label, o.how, told(o.differences)) for o in found.objects] == [
        ("Secret ops/s", "removed", []),
        ("Secret ops/t", "added", []),
        ("Deployment ops/op", "changed", [("spec.template.spec.containers[main].image", "changed")]),
    ]


def test_a_new_version_of_an_api_is_the_same_object() -> None:
    (only,) = changes([deployment()], [{**deployment(), "apiVersion": "apps/v2"}]).objects
    assert told(only.differences) == [("apiVersion", "changed")]


def test_labels_that_only_say_the_version_are_no_change() -> None:
    labels = {"helm.sh/chart": "demo-1", "app.kubernetes.io/version": "1"}
    assert changes([deployment(**labels)], [deployment(**{**labels, "helm.sh/chart": "demo-2"})]).objects == ()
    assert changes([deployment(team="a")], [deployment(team="b")]).objects
    selecting = deployment()
    selecting["spec"]["selector"]["matchLabels"]["helm.sh/chart"] = "demo-2"
    assert changes([deployment()], [selecting]).objects, "a selector is no label"


def test_a_selector_that_changed_means_a_new_object() -> None:
    new = deployment()
    new["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    assert [o.replaced for o in changes([deployment()], [new]).objects] == [True]
    assert [o.replaced for o in changes([deployment()], [deployment("x:2")]).objects] == [False]


def test_what_is_in_a_secret_is_never_shown() -> None:
    found = changes([secret("hush", "old")], [secret("quiet", "new")])
    assert "hush" not in repr(found)
    assert "quiet" not in repr(found)
    assert {one.before for one in found.objects[0].differences} == {HIDDEN}
    assert told(found.objects[0].differences) == [("data.new", "added"), ("data.old", "removed"), ("data.token", "changed")]


def test_a_secret_that_comes_or_goes_or_changes_shape_does_not_show_itself_either() -> None:
    bare = {key: value for key, value in secret("hush").items() if key != "data"}
    for old, new in (([secret("hush")], []), ([], [secret("hush")]), ([bare], [secret("hush")]), ([secret("hush")], [bare])):
        assert "hush" not in repr(changes(old, new))
    odd = {**secret("hush"), "data": "hush"}
    assert "hush" not in repr(changes([odd], [secret("hush")]))


def test_rights_are_told_by_what_they_allow_and_not_as_objects() -> None:
    old = [role("r", rule("get", "pods")), binding("r")]
    new = [role("r", rule("get list", "pods")), binding("r")]
    found = changes(old, new)
    assert [(right.what, right.verbs) for right in found.rights_added] == [("pods", ("list",))]
    assert (found.rights_removed, found.objects) == ((), ())


def test_crds_are_judged() -> None:
    found = changes([], [], crds=([crd(field({"type": "string"}))], [crd()]))
    assert [change.rule for change in found.crds] == ["property-removed"]


def test_images_are_told_by_name() -> None:
    was = version("demo", images=(Image("r.invalid/a:1"), Image("r.invalid/b:1")))
    now = version("demo", "2.0.0", images=(Image("r.invalid/a:2"), Image("r.invalid/c:1")))
    assert told(changes([], [], was, now).images) == [
        ("r.invalid/a", "changed"),
        ("r.invalid/b", "removed"),
        ("r.invalid/c", "added"),
    ]


def test_the_catalogues_entries_are_compared_by_sentences() -> None:
    option = {"type": "object", "properties": {"a": {"properties": {"b": {"type": "integer", "default": 1, "description": "x"}}}}}
    wider = {"type": "object", "properties": {"a": {"properties": {"b": {"type": "integer", "default": 2, "description": "y"}}}}}
    needs = Compatibility(KubernetesRange("1.30", "1.36", "made up"))
    was = version("demo", config_schema=option, guards=(Guard("x.y", "why"),), issues=(KnownIssue("i", "bad", "ref"),))
    more = (Constraint("driver", "it breaks", "docs", ">=580"),)
    now = version(
        "demo",
        "2.0.0",
        config_schema=wider,
        guards=(Guard("x.z", "why"),),
        issues=(KnownIssue("i", "said otherwise", "ref", guard="x.z"), KnownIssue("j", "new", "ref")),
        compatibility=replace(needs, constraints=more),
    )
    found = changes([], [], was, now)
    assert told(found.config) == [("a.b", "changed")]
    assert told(found.guards) == [("x.y", "removed"), ("x.z", "added")]
    assert told(found.issues) == [("i", "changed"), ("j", "added")], "a guard came"
    assert told(found.compatibility) == [("driver", "added")]
    reworded = version("demo", "2.0.0", issues=(KnownIssue("i", "said otherwise", "ref"),))
    assert changes([], [], was, reworded).issues == ()


def test_the_edge_between_two_versions_is_found_by_its_range() -> None:
    edge = Edge("demo", VersionRange(">=1.0.0 <2.0.0"), "2.0.0", "manual", "code", "reason", False)
    known = replace(CATALOGUE, edges={"demo": (edge,)})
    assert edge_between(known, "demo", "1.5.0", "2.0.0") == edge
    assert edge_between(known, "demo", "0.9.0", "2.0.0") is None
    assert edge_between(known, "demo", "1.5.0", "2.1.0") is None


def test_lists_of_named_things_are_compared_by_name() -> None:
    old, new = [{"name": "a", "v": 1}, {"name": "b"}], [{"name": "b"}, {"name": "a", "v": 2}]
    assert told(compare_trees(old, new, "l")) == [("l[a].v", "changed")]
    assert told(compare_trees([1], [2], "l")) == [("l", "changed")]
    assert [(d.path, d.before) for d in compare_trees({}, {"a": True})] == [("a", ABSENT)]
    assert told(compare_trees({"a": 1}, {"a": True})) == [("a", "changed")], "one is not true"

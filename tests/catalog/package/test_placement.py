"""What a cluster asks of pods goes into the chart's values through the add-on's paths, and is looked for in every pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.model import AddonVersion
from catalog.package.placement import placed, unplaced
from spec.model import Placement
from tests.catalog.package.made import Object, obj, resource, workload
from tests.catalog.synthetic import version

INFRA = {"key": "infra", "operator": "Exists"}
TOLERATING = Placement(tolerations=(INFRA,))
SELECTING = Placement(node_selector={"role": "infra"})
RANKED = Placement(priority_class="high")
PULLING = Placement(pull_secrets=("mirror",))
TERMS = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}


def demo(**paths: Any) -> AddonVersion:
    return version("demo", paths={kind: tuple(places) for kind, places in paths.items()})


def test_each_path_of_a_kind_gets_it_and_nothing_else_is_touched() -> None:
    paths = {"tolerations": ("a.tolerations", "tolerations"), "priorityClassName": ("priority",), "nodeSelector": ("sel",)}
    placement = Placement((INFRA,), {"role": "infra"}, "high")
    assert placed({"a": {"b": 1}}, paths, placement, {}) == {
        "a": {"b": 1, "tolerations": [INFRA]},
        "tolerations": [INFRA],
        "priority": "high",
        "sel": {"role": "infra"},
    }


def test_nothing_asked_for_changes_nothing() -> None:
    assert placed({"a": 1}, {"tolerations": ("t",), "nodeSelector": ("n",)}, Placement(), {"t": [INFRA]}) == {"a": 1}


def test_lists_and_labels_are_added_to_the_values_or_else_to_the_charts_own() -> None:
    gpu = {"key": "nvidia.com/gpu", "operator": "Exists"}
    paths = {"tolerations": ("t",), "nodeSelector": ("n",), "imagePullSecrets": ("s",)}
    placement = Placement((INFRA,), {"role": "infra"}, pull_secrets=("mirror",))
    defaults = {"t": [gpu], "n": {"kubernetes.io/os": "linux"}, "s": ["bare"]}
    assert placed({}, paths, placement, defaults) == {
        "t": [gpu, INFRA],
        "n": {"kubernetes.io/os": "linux", "role": "infra"},
        "s": ["bare", "mirror"],
    }
    assert placed({"t": [INFRA], "s": [{"name": "own"}]}, paths, placement, defaults) == {
        "t": [INFRA],
        "n": {"kubernetes.io/os": "linux", "role": "infra"},
        "s": [{"name": "own"}, {"name": "mirror"}],
    }


def test_a_priority_class_of_the_values_stays() -> None:
    assert placed({"p": "own"}, {"priorityClassName": ("p",)}, RANKED, {}) == {"p": "own"}
    assert placed({"p": ""}, {"priorityClassName": ("p",)}, RANKED, {"p": "charts"}) == {"p": "high"}


def test_a_registry_is_replaced_and_keeps_its_path() -> None:
    mirror = Placement(registry="m.invalid/a")
    paths = {"registry": ("global.registry", "imageRegistry", "other")}
    made = placed({"global": {"registry": "ghcr.io/team/sub"}}, paths, mirror, {"imageRegistry": "quay.io", "other": ""})
    assert made == {"global": {"registry": "m.invalid/a/team/sub"}, "imageRegistry": "m.invalid/a"}


def test_where_a_chart_has_no_node_selector_its_affinity_does_the_work() -> None:
    made = placed({}, {"affinity": ("aff",)}, SELECTING, {"aff": {"podAffinity": {"x": 1}}})
    assert made["aff"]["podAffinity"] == {"x": 1}
    assert unplaced([workload(affinity=made["aff"])], demo(), SELECTING) == ()
    # Terms are alternatives, so that each of them has to have the label.
    two = {"nodeAffinity": {next(iter(TERMS)): {"nodeSelectorTerms": [{"matchFields": [1]}, {"matchExpressions": [2]}]}}}
    made = placed({"aff": two}, {"affinity": ("aff",)}, SELECTING, {})
    terms = made["aff"]["nodeAffinity"][next(iter(TERMS))]["nodeSelectorTerms"]
    assert [term["matchExpressions"][-1]["key"] for term in terms] == ["role", "role"]


KINDS = ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Job", "CronJob", "Pod")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("placement", "pod", "path"),
    [
        (TOLERATING, {"tolerations": [{"key": "other"}, INFRA]}, "tolerations"),
        (RANKED, {"priorityClassName": "high"}, "priorityClassName"),
        (PULLING, {"imagePullSecrets": [{"name": "a"}, {"name": "mirror"}]}, "imagePullSecrets"),
    ],
)
def test_every_kind_of_pod_template_is_looked_at(kind: str, placement: Placement, pod: Object, path: str) -> None:
    assert unplaced([workload(kind, **pod)], demo(), placement) == ()
    (told,) = unplaced([workload(kind)], demo(**{path: ["here", "there"]}), placement)
    assert told.startswith(f"{kind} demo/x does not get ")
    assert told.endswith(f"none of here, there reaches it (`paths.{path}` of addon.yaml)")


def test_a_missing_path_is_told_as_missing() -> None:
    (told,) = unplaced([workload()], demo(), TOLERATING)
    assert told == (
        "Deployment demo/x does not get the toleration of infra: the add-on has no such path (`paths.tolerations` of addon.yaml)"
    )


def test_a_daemonset_that_is_held_to_the_selected_nodes_is_refused() -> None:
    (told,) = unplaced([workload("DaemonSet", nodeSelector={"role": "infra"})], demo(nodeSelector=["a", "worker"]), SELECTING)
    assert told == (
        "DaemonSet demo/x gets the node selector role=infra and leaves all other nodes out: "
        "one of the places a, worker must not be a path"
    )


def test_a_node_selector_is_wanted_of_all_but_daemonsets() -> None:
    assert unplaced([workload(nodeSelector={"role": "infra", "a": "b"}), workload("DaemonSet")], demo(), SELECTING) == ()
    assert len(unplaced([workload(nodeSelector={"role": "gpu"})], demo(), SELECTING)) == 1
    assert len(unplaced([workload(affinity={"nodeAffinity": TERMS})], demo(), SELECTING)) == 1


def test_an_absent_operator_is_equal() -> None:
    placement = Placement(tolerations=({"operator": "Equal", "key": "a", "value": "b"},))
    assert unplaced([workload(tolerations=[{"key": "a", "value": "b"}])], demo(), placement) == ()
    assert len(unplaced([workload(tolerations=[{"key": "a", "value": "c"}])], demo(), placement)) == 1


def test_a_pod_has_the_pull_secrets_of_its_service_account() -> None:
    account = obj("ServiceAccount", "runner", imagePullSecrets=[{"name": "mirror"}])
    assert unplaced([workload(serviceAccountName="runner"), account], demo(), PULLING) == ()
    assert len(unplaced([workload(serviceAccountName="other"), account], demo(), PULLING)) == 1


@pytest.mark.parametrize(
    ("make", "fine"),
    [
        (lambda: resource(template={"spec": {"containers": [{"image": "r.invalid/a:1"}], "tolerations": [INFRA]}}), True),
        (lambda: resource(template={"spec": {"containers": [{"image": "r.invalid/a:1"}]}}), False),
        (lambda: resource(image="r.invalid/a:1", daemonsets={"tolerations": [INFRA]}), True),
        (lambda: resource(image="r.invalid/a:1", daemonsets={"tolerations": []}), False),
        (lambda: resource(replicas=1), True),  # it runs nothing
    ],
)
def test_a_custom_resource_that_stands_for_pods_must_carry_it(make: Callable[[], Object], fine: bool) -> None:
    assert (unplaced([make()], demo(), TOLERATING) == ()) is fine


def test_a_custom_resource_may_write_pull_secrets_in_its_own_way() -> None:
    assert unplaced([resource(image="r.invalid/a:1", additionalImagePullSecrets=["mirror"])], demo(), PULLING) == ()

"""Which PodGroup a pod belongs to, from the pod and its owners. Pure.

Source: KAI v0.17.0 pkg/podgrouper (podgrouper/plugins/{defaultgrouper,job,deployment,cronjobs}, pod_controller.go).
Kinds that KAI groups with knowledge of their own (PyTorchJob, JobSet, RayCluster ...) get the default rule here: one
group for each top owner, one pod being enough to start.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from base.errors import InvalidInput
from base.kube import Object
from schedulers.kai import names
from schedulers.kai.models import PodGroup, PodGroupSpec

_PREEMPTIBILITY = {"preemptible": "preemptible", "non-preemptible": "non-preemptible"}
#: Copied from owners by ``kubectl apply``; says nothing about the group and may be large.
_NOT_COPIED = {"kubectl.kubernetes.io/last-applied-configuration"}


@dataclass(frozen=True, slots=True)
class Rule:
    """How pods of one kind of top owner are grouped. ``per_pod``: every pod is a group of its own."""

    per_pod: bool = False
    priority_class: str = names.TRAIN_CLASS
    min_member_annotation: bool = False


DEFAULT_RULE = Rule()
RULES: Mapping[tuple[str, str], Rule] = {
    ("apps", "Deployment"): Rule(per_pod=True, priority_class=names.INFERENCE_CLASS),
    ("batch", "Job"): Rule(min_member_annotation=True),
    ("kubeflow.org", "Notebook"): Rule(priority_class=names.BUILD_CLASS),
    ("serving.knative.dev", "Service"): Rule(priority_class=names.INFERENCE_CLASS),
}


def wants_group(pod: Object) -> bool:
    """False for a pod that opted out, and for one without owner that already names its group."""
    meta = pod["metadata"]
    annotations = meta.get("annotations") or {}
    if annotations.get(names.SKIP_PODGROUPER_ANNOTATION) == "true":
        return False
    return bool(meta.get("ownerReferences")) or names.POD_GROUP_ANNOTATION not in annotations


def pod_group(pod: Object, owners: Sequence[Object], classes: Container[str]) -> Object | None:
    """The manifest of the pod's PodGroup (``scheduling.run.ai/v2alpha2``), or None when it is not to be grouped.

    ``owners`` go from the pod's controller to its top owner; empty for a bare pod. ``classes`` are the names of existing
    PriorityClasses. InvalidInput for an annotation that cannot be read.
    """
    if not wants_group(pod) or any(_annotations(o).get(names.SKIP_PODGROUPER_ANNOTATION) == "true" for o in owners):
        return None
    top = owners[-1] if owners else pod
    rule = RULES.get(_kind(top), DEFAULT_RULE)
    about = [top] if rule is not DEFAULT_RULE or not owners else list(owners)
    if _kind(top) == ("batch", "CronJob") and len(owners) > 1:
        top = owners[-2]  # every run of a CronJob is a group: its Job, without the Job's own rule
        about = [top]
    itself = pod if rule.per_pod else top
    meta = itself["metadata"]
    spec = PodGroupSpec(
        min_member=_min_member(top) if rule.min_member_annotation else 1,
        queue=queue_of(top, pod),
        priority_class_name=_priority_class(about, pod, classes, rule),
        preemptibility=_preemptibility(about, pod),  # type: ignore[arg-type]
        preemption_delay=_annotation(about, pod, names.PREEMPTION_DELAY_ANNOTATION),
        staleness_grace_period=_annotation(about, pod, names.STALENESS_GRACE_PERIOD_ANNOTATION),
    )
    manifest = PodGroup.manifest(
        f"pg-{meta['name']}-{meta['uid']}",
        spec,
        namespace=pod["metadata"]["namespace"],
        labels=_group_labels(top, pod),
        annotations=_group_annotations(top),
    )
    constraint = _topology(top)
    if constraint:
        manifest["spec"]["topologyConstraint"] = constraint
    manifest["metadata"]["ownerReferences"] = [
        {"apiVersion": itself["apiVersion"], "kind": itself["kind"], "name": meta["name"], "uid": meta["uid"]}
    ]
    return manifest


def queue_of(top: Object, pod: Object) -> str:
    """The queue label of the top owner, then of the pod; else the project (with the pod's node pool); else the default queue."""
    for thing in (top, pod):
        queue = _labels(thing).get(names.QUEUE_LABEL)
        if queue is not None:
            return str(queue)
    project = _labels(top).get(names.PROJECT_LABEL) or _labels(pod).get(names.PROJECT_LABEL)
    if not project:
        return names.DEFAULT_QUEUE
    pool = _labels(pod).get(names.NODE_POOL_LABEL)
    return f"{project}-{pool}" if pool is not None else str(project)


def _min_member(job: Object) -> int:
    value = _annotations(job).get(names.BATCH_MIN_MEMBER_ANNOTATION)
    if value is None:
        return 1
    try:
        minimum = int(value)
    except ValueError:
        minimum = 0
    if minimum < 1:
        raise InvalidInput(
            f"annotation {names.BATCH_MIN_MEMBER_ANNOTATION} is {value!r}, not a whole number from 1 up",
            where=f"{job['kind']} {job['metadata'].get('namespace')}/{job['metadata']['name']}",
        )
    return minimum


def _priority_class(about: Sequence[Object], pod: Object, classes: Container[str], rule: Rule) -> str:
    """Label of an owner, label of the pod, the pod's own class; one that does not exist is passed over."""
    own = _labels(pod).get(names.PRIORITY_CLASS_LABEL) or pod.get("spec", {}).get("priorityClassName")
    for owner in about:
        name = _labels(owner).get(names.PRIORITY_CLASS_LABEL, own)
        if name and name in classes:
            return str(name)
    return rule.priority_class


def _preemptibility(about: Sequence[Object], pod: Object) -> str | None:
    for thing in (*about, pod):
        value = _PREEMPTIBILITY.get(str(_labels(thing).get(names.PREEMPTIBILITY_LABEL)))
        if value:
            return value
    return None


def _annotation(about: Sequence[Object], pod: Object, key: str) -> str | None:
    for thing in (*about, pod):
        value = _annotations(thing).get(key)
        if value:
            return str(value)
    return None


def _group_labels(top: Object, pod: Object) -> dict[str, str]:
    labels = dict(_labels(top))
    for key in (names.USER_LABEL, names.NODE_POOL_LABEL):
        if key not in labels and key in _labels(pod):
            labels[key] = _labels(pod)[key]
    return labels


def _group_annotations(top: Object) -> dict[str, str]:
    group, _, version = top["apiVersion"].rpartition("/")
    meta = top["metadata"]
    described = {"name": meta["name"], "uid": meta["uid"], "group": group or '""', "version": version, "kind": top["kind"]}
    text = "".join(f"{key}: {value}\n" for key, value in described.items())
    kept = {key: value for key, value in _annotations(top).items() if key not in _NOT_COPIED}
    return {names.TOP_OWNER_ANNOTATION: text, **kept}


def _topology(top: Object) -> dict[str, str]:
    annotations = _annotations(top)
    found = {
        "topology": annotations.get(names.TOPOLOGY_ANNOTATION),
        "requiredTopologyLevel": annotations.get(names.TOPOLOGY_REQUIRED_ANNOTATION),
        "preferredTopologyLevel": annotations.get(names.TOPOLOGY_PREFERRED_ANNOTATION),
    }
    return {key: value for key, value in found.items() if value}


def _kind(thing: Object) -> tuple[str, str]:
    return str(thing["apiVersion"]).rpartition("/")[0], str(thing["kind"])


def _labels(thing: Object) -> Mapping[str, Any]:
    return thing["metadata"].get("labels") or {}


def _annotations(thing: Object) -> Mapping[str, Any]:
    return thing["metadata"].get("annotations") or {}

"""The objects that checks make, as plain dictionaries. Pure; field names as in KAI's and Kubernetes' own APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from base.kube import Object
from validation.harness.names import KWOK_TAINT, LAB, QUEUE_LABEL, SCHEDULER_NAME, Names

__all__ = ["UNBOUNDED", "container", "job", "namespace", "node", "pod", "pod_group", "priority_class", "queue", "share"]

#: Small enough to fit anywhere and never pulled on simulated nodes.
IMAGE = "registry.k8s.io/pause:3.10"

#: CPU and memory of a check's queues are never what is looked at.
UNBOUNDED: Mapping[str, float] = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def share(quota: float, limit: float = -1, weight: float = 1) -> dict[str, float]:
    """One resource of a queue: GPUs deserved and allowed (-1 = without bound), weight of the surplus."""
    return {"quota": quota, "limit": limit, "overQuotaWeight": weight}


def namespace(names: Names) -> Object:
    return {"metadata": {"name": names.lab, "labels": names.labels()}}


def node(names: Names, name: str, *, gpus: int, cpus: int = 64, memory: str = "512Gi") -> Object:
    """A simulated GPU node, as KWOK and GPU feature discovery would show it, that only this check's pods tolerate."""
    amount = {"cpu": str(cpus), "memory": memory, "pods": "110", "nvidia.com/gpu": str(gpus)}
    labels = {
        **names.labels(),
        "type": "kwok",
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    }
    taints = [
        {"key": KWOK_TAINT, "value": "fake", "effect": "NoSchedule"},
        {"key": LAB, "value": names.lab, "effect": "NoSchedule"},
    ]
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {KWOK_TAINT: "fake"}},
        "spec": {"taints": taints},
        "status": {"allocatable": amount, "capacity": amount},
    }


def queue(names: Names, name: str, *, gpu: Mapping[str, float], parent: str = "", priority: int | None = None) -> Object:
    spec: dict[str, Any] = {"resources": {"gpu": dict(gpu), "cpu": dict(UNBOUNDED), "memory": dict(UNBOUNDED)}}
    if parent:
        spec["parentQueue"] = parent
    if priority is not None:
        spec["priority"] = priority
    return {"metadata": {"name": name, "labels": names.labels()}, "spec": spec}


def priority_class(names: Names, value: int) -> Object:
    text = "made by a check, gone with it"
    return {"metadata": {"name": names(f"p{value}"), "labels": names.labels()}, "value": value, "description": text}


def container(gpus: int) -> Object:
    resources: dict[str, Any] = {"requests": {"cpu": "10m", "memory": "10Mi"}}
    if gpus:
        resources["limits"] = {"nvidia.com/gpu": str(gpus)}
    return {"name": "work", "image": IMAGE, "resources": resources}


def pod(
    names: Names,
    name: str,
    *,
    gpus: int,
    queue: str,
    selector: Mapping[str, str],
    priority_class: str = "",
    preemptible: bool | None = None,
    group: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """A pod for the scheduler under test. With ``group`` it joins a PodGroup that the check itself made."""
    marks = {**names.labels(), **(labels or {}), **_queue_labels(queue, preemptible)}
    notes = dict(annotations or {})
    if group:
        notes |= {"pod-group-name": group, "kai.scheduler/skip-podgrouper": "true"}
    return {
        "metadata": {"name": name, "namespace": names.lab, "labels": marks, "annotations": notes},
        "spec": _pod_spec(names, gpus, selector, priority_class),
    }


def job(names: Names, name: str, *, pods: int, gpus: int, queue: str, selector: Mapping[str, str], minimum: int) -> Object:
    """A batch Job whose pods form one gang of ``minimum`` through the annotation that KAI's podgrouper reads."""
    template = {"metadata": {"labels": names.labels()}, "spec": _pod_spec(names, gpus, selector, "")}
    return {
        "metadata": {
            "name": name,
            "namespace": names.lab,
            "labels": {**names.labels(), **_queue_labels(queue, None)},
            "annotations": {"kai.scheduler/batch-min-member": str(minimum)},
        },
        "spec": {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": template},
    }


def pod_group(names: Names, name: str, *, queue: str, minimum: int, preemptible: bool | None = None) -> Object:
    spec: dict[str, Any] = {"minMember": minimum, "queue": queue}
    if preemptible is not None:
        spec["preemptibility"] = "preemptible" if preemptible else "non-preemptible"
    labels = {**names.labels(), QUEUE_LABEL: queue}
    return {"metadata": {"name": name, "namespace": names.lab, "labels": labels}, "spec": spec}


def _queue_labels(queue: str, preemptible: bool | None) -> dict[str, str]:
    labels = {QUEUE_LABEL: queue} if queue else {}
    if preemptible is not None:
        labels["kai.scheduler/preemptibility"] = "preemptible" if preemptible else "non-preemptible"
    return labels


def _pod_spec(names: Names, gpus: int, selector: Mapping[str, str], priority_class: str) -> Object:
    tolerations: Sequence[Object] = [
        {"key": KWOK_TAINT, "operator": "Exists", "effect": "NoSchedule"},
        {"key": LAB, "operator": "Equal", "value": names.lab, "effect": "NoSchedule"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]
    spec: dict[str, Any] = {
        "schedulerName": SCHEDULER_NAME,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "restartPolicy": "Never",
        "containers": [container(gpus)],
        "nodeSelector": dict(selector),
        "tolerations": list(tolerations),
    }
    if priority_class:
        spec["priorityClassName"] = priority_class
    return spec

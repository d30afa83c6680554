"""Single pods as the values that the policy decides on. Pure.

Sources: KAI pkg/scheduler/api/pod_info (NewTaskInfo), pkg/common/resources; KEP-753 for init containers; reference 2.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from base.kube import Object
from schedulers.engine import quantity
from schedulers.kai import names
from schedulers.policy import Amounts, Constraints, GpuShare, NodeTerm, Requirement, Toleration


def requests(spec: Mapping[str, Any]) -> tuple[Amounts, tuple[tuple[str, float], ...]]:
    """What a pod needs of a node: the larger of its containers together and of each init step, plus overhead (KEP-753)."""
    running: dict[str, float] = {}
    peak: dict[str, float] = {}
    for container in spec.get("initContainers") or ():
        wants = _requests(container)
        if container.get("restartPolicy") == "Always":
            _add(running, wants)
            wants = {}
        for name in {*running, *wants}:
            peak[name] = max(peak.get(name, 0.0), running.get(name, 0.0) + wants.get(name, 0.0))
    for container in spec.get("containers") or ():
        _add(running, _requests(container))
    whole = {name: max(running.get(name, 0.0), peak.get(name, 0.0)) for name in {*running, *peak}}
    _add(whole, {name: quantity.parse(value) for name, value in (spec.get("overhead") or {}).items()})
    amounts = Amounts(whole.pop(names.GPU_RESOURCE, 0.0), round(whole.pop("cpu", 0.0) * 1000), whole.pop("memory", 0.0))
    return amounts, tuple(sorted((name, amount) for name, amount in whole.items() if amount))


def constraints(spec: Mapping[str, Any]) -> Constraints:
    """Node selector, required node affinity and tolerations of a pod."""
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None
    if affinity is not None:
        terms = tuple(
            NodeTerm(_requirements(term.get("matchExpressions")), _requirements(term.get("matchFields")))
            for term in affinity.get("nodeSelectorTerms") or ()
        )
    return Constraints(
        selector=tuple(sorted((spec.get("nodeSelector") or {}).items())),
        affinity=terms,
        tolerations=tuple(
            Toleration(t.get("key", ""), t.get("operator") or "Equal", t.get("value", ""), t.get("effect", ""))
            for t in spec.get("tolerations") or ()
        ),
    )


def share(obj: Object) -> GpuShare | None:
    """The part of each GPU that annotations ask for; None without them and where they cannot be read, which admission refuses."""
    annotations = obj["metadata"].get("annotations") or {}
    devices = integer(annotations.get(names.GPU_DEVICES_ANNOTATION)) or 1
    if names.GPU_MEMORY_ANNOTATION in annotations:
        memory = integer(annotations[names.GPU_MEMORY_ANNOTATION])
        return GpuShare(devices, memory=float(memory)) if memory and memory > 0 else None
    try:
        portion = float(annotations.get(names.GPU_FRACTION_ANNOTATION, ""))
    except ValueError:
        return None
    return GpuShare(devices, portion=portion) if 0 < portion < 1 else None


def gpu_groups(obj: Object) -> tuple[str, ...]:
    """The shared GPUs that a pod was given: the label itself for one, a label each for several."""
    labels = obj["metadata"].get("labels") or {}
    several = sorted(
        key.removeprefix(f"{names.GPU_GROUP_LABEL}/") for key in labels if key.startswith(f"{names.GPU_GROUP_LABEL}/")
    )
    one = labels.get(names.GPU_GROUP_LABEL)
    return tuple(several) or ((str(one),) if one else ())


def reserves(obj: Object) -> bool:
    """A pod that only keeps a shared GPU from others; who shares it is what counts (IsResourceReservationTask)."""
    return (obj["metadata"].get("labels") or {}).get("app") == names.RESERVATION_APP


def unsupported(obj: Object, *, shares: bool) -> str:
    """What the pod asks for that is not known, so that it waits and says so instead of being placed wrongly."""
    spec, annotations = obj["spec"], obj["metadata"].get("annotations") or {}
    affinity = spec.get("affinity") or {}
    hard = "requiredDuringSchedulingIgnoredDuringExecution"
    wants_share = names.GPU_FRACTION_ANNOTATION in annotations or names.GPU_MEMORY_ANNOTATION in annotations
    if wants_share and (not shares or share(obj) is None):
        return "GPU fractions"
    if spec.get("resourceClaims"):
        return "resource claims"
    if any((affinity.get(kind) or {}).get(hard) for kind in ("podAffinity", "podAntiAffinity")):
        return "required pod affinity"
    if any(c.get("whenUnsatisfiable") == "DoNotSchedule" for c in spec.get("topologySpreadConstraints") or ()):
        return "topology spread constraints"
    if any("persistentVolumeClaim" in volume or "ephemeral" in volume for volume in spec.get("volumes") or ()):
        return "persistent volume claims"
    return ""


def _requests(container: Mapping[str, Any]) -> dict[str, float]:
    resources = container.get("resources") or {}
    wanted = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: quantity.parse(value) for name, value in wanted.items()}


def _add(total: dict[str, float], more: Mapping[str, float]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0.0) + amount


def _requirements(expressions: Any) -> tuple[Requirement, ...]:
    return tuple(Requirement(e["key"], e["operator"], tuple(e.get("values") or ())) for e in expressions or ())


def integer(value: Any) -> int | None:
    """A whole number, or None for anything else."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return None

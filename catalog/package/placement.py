"""What a cluster asks of add-on pods, put into the chart's values through the add-on's paths, and looked for afterwards. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from catalog.model import AddonVersion
from catalog.package.images import images, mirrored
from catalog.package.objects import CRD_KIND, built_in, label
from catalog.package.pods import keyed, pod_templates
from catalog.package.values import ABSENT, at, merge
from spec.model import Placement

__all__ = ["placed", "unplaced"]

_AFFINITY = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def placed(
    values: Mapping[str, Any], paths: Mapping[str, tuple[str, ...]], placement: Placement, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """``values`` with what ``placement`` asks for at every path of its kind.

    Lists are added to: what the values say already, or else what the chart's own ``defaults`` say, stays (a DaemonSet for GPU
    nodes tolerates their taint by default, and Helm would replace the list). A priority class that the values name stays. A
    registry keeps its path: ``ghcr.io/team`` becomes ``REGISTRY/team``. Where a chart has no place for a node selector but one
    for affinity, the selector becomes a required node affinity.
    """
    made = dict(values)

    def put(kind: str, change: Callable[[Any], Any]) -> None:
        nonlocal made
        for dotted in paths.get(kind, ()):
            path = dotted.split(".")
            now = at(made, path)
            made = merge(made, _nested(path, change(at(defaults, path) if now is ABSENT else now)))

    if placement.tolerations:
        put("tolerations", lambda now: _added(now, placement.tolerations))
    if placement.pull_secrets:
        put("imagePullSecrets", lambda now: _added(now, _secrets(now, placement.pull_secrets)))
    if placement.priority_class:
        for dotted in paths.get("priorityClassName", ()):
            if not at(values, dotted.split(".")) or at(values, dotted.split(".")) is ABSENT:
                made = merge(made, _nested(dotted.split("."), placement.priority_class))
    if placement.registry:
        for dotted in paths.get("registry", ()):
            now = at(made, dotted.split("."))
            now = at(defaults, dotted.split(".")) if now is ABSENT else now
            if isinstance(now, str) and now:  # host, or host and path
                made = merge(made, _nested(dotted.split("."), mirrored(now, placement.registry).rstrip("/")))
    if placement.node_selector and paths.get("nodeSelector"):
        put("nodeSelector", lambda now: {**(now if isinstance(now, Mapping) else {}), **placement.node_selector})
    elif placement.node_selector:
        put("affinity", lambda now: _with_affinity(now, placement.node_selector))
    return made


def unplaced(objects: Sequence[Mapping[str, Any]], version: AddonVersion, placement: Placement) -> tuple[str, ...]:
    """One sentence for each pod template that did not get what ``placement`` asks for, with the path that is missing.

    A DaemonSet serves the nodes that its own selector says, so it must not get the node selector of the cluster. A custom
    resource that names images stands for pods that an operator makes: it must carry the rest somewhere.
    """
    return tuple(_missing(objects, version, placement))


def _missing(objects: Sequence[Mapping[str, Any]], version: AddonVersion, placement: Placement) -> Iterator[str]:
    def told(owner: str, kind: str, what: str) -> str:
        places = version.paths.get(kind, ())
        why = f"none of {', '.join(places)} reaches it" if places else "the add-on has no such path"
        return f"{owner} does not get {what}: {why} (`paths.{kind}` of addon.yaml)"

    accounts = {
        (str(obj["metadata"].get("namespace", "")), str(obj["metadata"]["name"])): obj.get("imagePullSecrets")
        for obj in objects
        if obj["kind"] == "ServiceAccount"
    }
    for pod in pod_templates(objects):
        for kind, what, got in _wants(placement):
            if kind == "nodeSelector" and pod.kind == "DaemonSet":
                if got(pod.spec):
                    places = ", ".join((*version.paths.get("nodeSelector", ()), *version.paths.get("affinity", ())))
                    yield f"{pod.owner} gets {what} and leaves all other nodes out: one of the places {places} must not be a path"
                continue
            if got(pod.spec):
                continue
            account = accounts.get((pod.namespace, str(pod.spec.get("serviceAccountName", "default"))))
            if kind == "imagePullSecrets" and _carries(account, kind, placement):
                continue  # a pod has the pull secrets of its service account, too
            yield told(pod.owner, kind, what)
    for obj in objects:
        if built_in(obj) or obj["kind"] == CRD_KIND or not images([obj]) or any(pod_templates([obj])):
            continue
        for kind, what, _ in _wants(placement):
            if kind != "nodeSelector" and not any(_carries(value, kind, placement) for value in keyed(obj, kind)):
                yield told(label(obj), kind, what)


def _wants(placement: Placement) -> Iterator[tuple[str, str, Callable[[Mapping[str, Any]], bool]]]:
    if placement.tolerations:
        keys = ", ".join(str(one.get("key", "every taint")) for one in placement.tolerations)
        yield "tolerations", f"the toleration of {keys}", lambda pod: _carries(pod.get("tolerations"), "tolerations", placement)
    if placement.node_selector:
        labels = ", ".join(f"{key}={value}" for key, value in placement.node_selector.items())
        yield "nodeSelector", f"the node selector {labels}", lambda pod: _selects(pod, placement.node_selector)
    if placement.priority_class:
        name = f"priority class {placement.priority_class}"
        yield "priorityClassName", name, lambda pod: pod.get("priorityClassName") == placement.priority_class
    if placement.pull_secrets:
        names = f"pull secret {', '.join(placement.pull_secrets)}"
        yield "imagePullSecrets", names, lambda pod: _carries(pod.get("imagePullSecrets"), "imagePullSecrets", placement)


def _carries(value: Any, kind: str, placement: Placement) -> bool:
    if kind == "priorityClassName":
        return bool(value == placement.priority_class)
    there = value if isinstance(value, list) else []
    if kind == "imagePullSecrets":
        names = [one.get("name") if isinstance(one, Mapping) else one for one in there]
        return set(placement.pull_secrets) <= set(names)
    return all(any(_same(dict(wanted), one) for one in there) for wanted in placement.tolerations)


def _same(wanted: Mapping[str, Any], found: Any) -> bool:
    """Equal, but for what Kubernetes fills in: an absent operator is Equal."""
    return isinstance(found, Mapping) and {"operator": "Equal", **found} == {"operator": "Equal", **wanted}


def _selects(pod: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    selector = pod.get("nodeSelector") or {}
    if all(selector.get(key) == value for key, value in labels.items()):
        return True
    required: Any = pod.get("affinity") or {}
    for step in _AFFINITY:
        required = required.get(step) or {} if isinstance(required, Mapping) else {}
    terms = required.get("nodeSelectorTerms") or [] if isinstance(required, Mapping) else []
    wanted = _expressions(labels)
    return bool(terms) and all(all(one in (term.get("matchExpressions") or []) for one in wanted) for term in terms)


def _with_affinity(now: Any, labels: Mapping[str, str]) -> dict[str, Any]:
    """``now`` with the labels required in every one of its terms: terms are alternatives, so each has to have them."""
    base = dict(now) if isinstance(now, Mapping) else {}
    node = dict(base.get("nodeAffinity") or {})
    required = dict(node.get(_AFFINITY[1]) or {})
    terms = [dict(term) for term in required.get("nodeSelectorTerms") or [{}]]
    for term in terms:
        term["matchExpressions"] = [*(term.get("matchExpressions") or []), *_expressions(labels)]
    return {**base, "nodeAffinity": {**node, _AFFINITY[1]: {**required, "nodeSelectorTerms": terms}}}


def _expressions(labels: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]


def _added(now: Any, more: Sequence[Any]) -> list[Any]:
    there = list(now) if isinstance(now, list) else []
    return [*there, *(dict(one) if isinstance(one, Mapping) else one for one in more if one not in there)]


def _secrets(now: Any, names: Sequence[str]) -> list[Any]:
    """As objects with a name, as Kubernetes has them, or as bare names where the chart's own list has those."""
    bare = isinstance(now, list) and now and all(isinstance(one, str) for one in now)
    return list(names) if bare else [{"name": name} for name in names]


def _nested(path: Sequence[str], value: Any) -> dict[str, Any]:
    return {path[0]: value if len(path) == 1 else _nested(path[1:], value)}

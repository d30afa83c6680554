"""The ``placement`` of a spec: what the cluster asks of add-on pods, so that its nodes take them and can pull their images.

It says nothing to the embedded target, whose nodes are simulated and which runs add-ons as processes beside them. Names and
limits are those of the Kubernetes API (core/v1 Toleration, label syntax, DNS names).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from spec.model import Placement
from spec.reader import Section

_FIELDS = ("tolerations", "nodeSelector", "priorityClassName", "imagePullSecrets", "registry")
_TOLERATION = ("key", "operator", "value", "effect", "tolerationSeconds")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?\Z")
_LABEL_KEY = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\Z")
_REGISTRY = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9._-]+)*\Z")


def read_placement(root: Section) -> Placement:
    """The ``placement`` of a spec; what could not be read is left out, and noted."""
    table = root.mapping("placement", shape="a mapping such as {nodeSelector: {role: infra}}")
    if table is None:
        return Placement()
    section = Section(table, root.at("placement"), _FIELDS, root.problems)
    return Placement(
        tolerations=tuple(_toleration(one) for one in section.sections("tolerations", _TOLERATION)),
        node_selector=_selector(section),
        priority_class=_name(section, "priorityClassName", section.text("priorityClassName")),
        pull_secrets=tuple(_name(section, "imagePullSecrets", name) for name in section.words("imagePullSecrets")),
        registry=_registry(section),
    )


def _toleration(section: Section) -> Mapping[str, Any]:
    operator = section.text("operator", default="Equal", choices=("Equal", "Exists"))
    found: dict[str, Any] = {"operator": operator}
    if section.has("key"):
        found["key"] = section.text("key")
        if not _LABEL_KEY.match(found["key"]):
            section.bad("key", f"{found['key'][:60]!r} is no taint key")
    elif operator == "Equal":
        section.bad("key", "is missing", "only operator Exists goes without a key, and then tolerates every taint")
    if section.has("value"):
        found["value"] = section.text("value")
        if operator == "Exists":
            section.bad("value", "has no meaning beside operator Exists", "leave it out, or write operator: Equal")
    if section.has("effect"):
        found["effect"] = section.text("effect", choices=_EFFECTS)
    if section.has("tolerationSeconds"):
        found["tolerationSeconds"] = section.whole("tolerationSeconds", default=0, minimum=0, maximum=2**31 - 1)
        if found.get("effect") != "NoExecute":
            section.bad("tolerationSeconds", "has a meaning for effect NoExecute only")
    return found


def _selector(section: Section) -> dict[str, str]:
    table = section.mapping("nodeSelector", shape="labels, such as {role: infra}")
    if table is None:
        return {}
    labels = Section(table, section.at("nodeSelector"), tuple(table.entries), section.problems)
    found = {}
    for key in table.entries:
        value = labels.text(key, blank=True)
        if not _LABEL_KEY.match(key):
            labels.bad(key, f"{key[:60]!r} is no label key")
        elif not _LABEL_VALUE.match(value):
            labels.bad(key, f"{value[:60]!r} is no label value")
        found[key] = value
    return found


def _name(section: Section, field: str, name: str) -> str:
    if name and not _NAME.match(name):
        section.bad(field, f"{name[:60]!r} is no name of a Kubernetes object")
    return name


def _registry(section: Section) -> str:
    text = section.text("registry").rstrip("/")
    if text and not _REGISTRY.match(text):
        section.bad("registry", f"{text[:60]!r} is no registry", "write host/path, without a scheme and without a tag")
    return text

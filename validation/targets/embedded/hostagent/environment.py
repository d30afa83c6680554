"""A container's environment and command line, as the pod spec and the program table ask. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from base.errors import InvalidInput
from base.kube import Object
from validation.targets.embedded.programs import RealProgram

#: Reads ``(kind, name)`` of a Secret or ConfigMap of the pod's namespace as text by key; None where it does not exist.
Reader = Callable[[str, str], Mapping[str, str] | None]

_REFERENCE = re.compile(r"\$(\$|\(([A-Za-z0-9_.-]+)\))")
_PLACEHOLDER = re.compile(r"\{(pod_ip|namespace|pod|port|root|volume:([a-z0-9.-]+))\}")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_UNITS |= {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}


class NotYet(Exception):
    """Something that the container needs does not exist yet; ``reason`` is the container's waiting reason."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Place:
    """Where the container runs: its pod's address, its mounts below ``root``, and the directory of each volume."""

    pod_ip: str
    host_ip: str
    node: str
    root: Path
    volumes: Mapping[str, Path]


def environment(pod: Object, container: Object, place: Place, read: Reader) -> dict[str, str]:
    """The container's own variables; NotYet where a Secret or ConfigMap is missing that is not optional."""
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        for kind, key in (("Secret", "secretRef"), ("ConfigMap", "configMapRef")):
            if key in source:
                content = _content(read, kind, source[key])
                found |= {f"{source.get('prefix', '')}{name}": value for name, value in content.items()}
    for entry in container.get("env") or ():
        value = _value(pod, container, entry, place, read)
        if value is not None:
            found[entry["name"]] = expand(value, found) if "value" in entry else value
    return found


def command_line(
    program: RealProgram, pod: Object, container: Object, env: Mapping[str, str], place: Place, free_port: Callable[[], int]
) -> list[str]:
    """The program's command with its arguments, placeholders filled in."""
    own = [expand(argument, env) for argument in container.get("args") or ()]
    arguments: list[str] = []
    for argument in program.args or ("{args}",):
        arguments += own if argument == "{args}" else [fill(argument, pod, place, free_port)]
    return [*program.command, *arguments]


def expand(text: str, env: Mapping[str, str]) -> str:
    """``$(NAME)`` becomes the variable where there is one, ``$$`` a dollar sign (Kubernetes, expansion.Expand)."""

    def one(match: re.Match[str]) -> str:
        if match[1] == "$":
            return "$"
        return env.get(match[2], match[0])

    return _REFERENCE.sub(one, text)


def fill(text: str, pod: Object, place: Place, free_port: Callable[[], int]) -> str:
    """Placeholders of the program table. InvalidInput for a volume that the pod does not have."""

    def one(match: re.Match[str]) -> str:
        word = match[1]
        if word.startswith("volume:"):
            if match[2] not in place.volumes:
                raise InvalidInput(f"the pod has no volume {match[2]!r}, which its program's arguments name")
            return str(place.volumes[match[2]])
        values = {
            "pod_ip": place.pod_ip,
            "namespace": pod["metadata"]["namespace"],
            "pod": pod["metadata"]["name"],
            "root": str(place.root),
        }
        return values[word] if word in values else str(free_port())

    return _PLACEHOLDER.sub(one, text)


def field(pod: Object, path: str, place: Place) -> str:
    """A downward-API field of the pod (core/v1 ObjectFieldSelector)."""
    subscript = _SUBSCRIPT.fullmatch(path)
    meta, spec = pod["metadata"], pod["spec"]
    if subscript:
        return str((meta.get(subscript[1]) or {}).get(subscript[2], ""))
    values = {
        "metadata.name": meta["name"],
        "metadata.namespace": meta["namespace"],
        "metadata.uid": meta["uid"],
        "spec.nodeName": place.node,
        "spec.serviceAccountName": spec.get("serviceAccountName", "default"),
        "status.hostIP": place.host_ip,
        "status.hostIPs": place.host_ip,
        "status.podIP": place.pod_ip,
        "status.podIPs": place.pod_ip,
    }
    if path in {"metadata.labels", "metadata.annotations"}:
        pairs: Mapping[str, str] = meta.get(path.removeprefix("metadata.")) or {}
        return "\n".join(f'{key}="{value}"' for key, value in sorted(pairs.items()))
    if path not in values:
        raise InvalidInput(f"field {path!r} is not one that a pod's environment may name")
    return str(values[path])


def resource(container: Object, reference: Object) -> str:
    """``limits.cpu`` and the like, divided by the divisor and rounded up; without a limit the node's size (64 cores, 256 GiB)."""
    part, _, name = str(reference["resource"]).partition(".")
    resources = container.get("resources") or {}
    text = (resources.get(part) or {}).get(name)
    if text is None and part == "limits":
        text = {"cpu": "64", "memory": "256Gi"}.get(name, "0")
    return str(math.ceil(quantity(str(text or "0")) / (quantity(str(reference.get("divisor") or "0")) or Decimal(1))))


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity as a number: ``100m`` is 0.1, ``1Ki`` is 1024."""
    match = re.fullmatch(r"([0-9.]+(?:[eE][0-9+-]+)?)(m|k|[MGTP]|[KMGTP]i)?", text)
    if match is None:
        raise InvalidInput(f"{text!r} is not a quantity")
    return Decimal(match[1]) / 1000 if match[2] == "m" else Decimal(match[1]) * _UNITS[match[2] or ""]


def _value(pod: Object, container: Object, entry: Object, place: Place, read: Reader) -> str | None:
    source = entry.get("valueFrom")
    if source is None:
        return str(entry.get("value", ""))
    if "fieldRef" in source:
        return field(pod, source["fieldRef"]["fieldPath"], place)
    if "resourceFieldRef" in source:
        return resource(_container(pod, source["resourceFieldRef"].get("containerName")) or container, source["resourceFieldRef"])
    for kind, key in (("Secret", "secretKeyRef"), ("ConfigMap", "configMapKeyRef")):
        if key in source:
            content = _content(read, kind, source[key])
            if source[key]["key"] in content:
                return content[source[key]["key"]]
            if source[key].get("optional"):
                return None
            raise NotYet("CreateContainerConfigError", f"{kind} {source[key]['name']} has no key {source[key]['key']}")
    raise InvalidInput(f"variable {entry['name']}: this kind of source is not supported on the embedded target")


def _container(pod: Object, name: str | None) -> Object | None:
    containers: Sequence[Object] = pod["spec"]["containers"]
    return next((c for c in containers if c["name"] == name), None)


def _content(read: Reader, kind: str, reference: Object) -> Mapping[str, str]:
    content = read(kind, reference["name"])
    if content is not None:
        return content
    if reference.get("optional"):
        return {}
    raise NotYet("CreateContainerConfigError", f"{kind} {reference['name']} does not exist")

"""A pod's volumes as directories of this machine, and its containers' mounts as links to them."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from base.errors import InvalidInput
from base.files import room_errors, write_atomic
from base.kube import Object
from validation.targets.embedded.hostagent.environment import NotYet, Place, field

#: Content of a Secret or ConfigMap of the pod's namespace by key, None where it does not exist: ``(kind, name)``.
Content = Callable[[str, str], Mapping[str, bytes] | None]
#: A token for ``(audience, seconds)``.
Tokens = Callable[[str, int], str]


def files(pod: Object, volume: Object, place: Place, read: Content, token: Tokens) -> dict[str, bytes] | None:
    """Relative paths and content of one volume; None for one that starts empty and is the pod's own to write.

    NotYet where a Secret or ConfigMap is missing that is not optional.
    """
    for kind, key, name_key in (("Secret", "secret", "secretName"), ("ConfigMap", "configMap", "name")):
        if key in volume:
            return _keyed(kind, volume[key], volume[key][name_key], read)
    if "downwardAPI" in volume:
        return _downward(pod, volume["downwardAPI"], place)
    if "projected" in volume:
        found: dict[str, bytes] = {}
        for source in volume["projected"].get("sources") or ():
            if "serviceAccountToken" in source:
                ask = source["serviceAccountToken"]
                value = token(str(ask.get("audience") or ""), int(ask.get("expirationSeconds") or 3600))
                found[ask["path"]] = value.encode()
            elif "downwardAPI" in source:
                found |= _downward(pod, source["downwardAPI"], place)
            else:
                kind, key = ("Secret", "secret") if "secret" in source else ("ConfigMap", "configMap")
                if key in source:
                    found |= _keyed(kind, source[key], source[key]["name"], read)
        return found
    if "emptyDir" in volume or "hostPath" in volume:
        return None  # a host path of a real node means nothing here; the pod gets an empty directory
    raise InvalidInput(f"volume {volume['name']}: this kind is not supported on the embedded target")


def write(directory: Path, content: Mapping[str, bytes] | None) -> bool:
    """Make ``directory`` hold just ``content``, each file whole at any time; True when something changed."""
    with room_errors(directory):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if content is None:
        return False
    changed = False
    for name, data in content.items():
        path = _inside(directory, name)
        if not path.is_file() or path.read_bytes() != data:
            write_atomic(path, data, mode=0o600)
            changed = True
    for path in sorted(directory.rglob("*"), reverse=True):
        if path.is_file() and str(path.relative_to(directory)) not in content:
            path.unlink()
            changed = True
    return changed


def mount(root: Path, container: Object, volumes: Mapping[str, Path]) -> None:
    """Links below ``root`` at the container's mount paths, made anew. A mount inside another mount is left out."""
    shutil.rmtree(root, ignore_errors=True)
    with room_errors(root):
        (root / "tmp").mkdir(parents=True, mode=0o700)
        for entry in sorted(container.get("volumeMounts") or (), key=lambda m: str(m["mountPath"])):
            link = _inside(root, str(entry["mountPath"]).lstrip("/"))
            if entry["name"] not in volumes or any(parent.is_symlink() for parent in link.parents):
                continue
            source = volumes[entry["name"]]
            if entry.get("subPath"):
                source = _inside(source, str(entry["subPath"]))
            link.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                link.symlink_to(source)


def _inside(directory: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if ".." in parts or PurePosixPath(name).is_absolute():
        raise InvalidInput(f"path {name!r} leads out of the volume")
    return directory.joinpath(*parts)


def _keyed(kind: str, source: Object, name: str, read: Content) -> dict[str, bytes]:
    content = read(kind, name)
    if content is None:
        if source.get("optional"):
            return {}
        raise NotYet("ContainerCreating", f"{kind} {name} does not exist")
    items = source.get("items")
    if not items:
        return dict(content)
    missing = [item["key"] for item in items if item["key"] not in content]
    if missing and not source.get("optional"):
        raise NotYet("ContainerCreating", f"{kind} {name} has no key {missing[0]}")
    return {item["path"]: content[item["key"]] for item in items if item["key"] in content}


def _downward(pod: Object, source: Object, place: Place) -> dict[str, bytes]:
    found = {}
    for item in source.get("items") or ():
        if "fieldRef" in item:
            found[item["path"]] = field(pod, item["fieldRef"]["fieldPath"], place).encode()
    return found

"""Images that objects run: found, held against the pinned list, and rewritten to the bytes that were pinned. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from base.errors import Refused
from catalog.model import AddonVersion, Image
from catalog.package.objects import CRD_KIND, Object

__all__ = ["images", "listed", "mirrored", "rewritten"]

_IMAGE_ARGUMENT = re.compile(r"--[a-z0-9-]*image=(\S+)\Z")
_BLOCK = ("repository", "name", "tag")


def images(objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Every container image that the objects run or have others run, sorted.

    Found are ``image`` of containers, image blocks (repository, name, tag) of custom resources, and arguments such as
    ``--acme-http01-solver-image=``.
    """
    found: set[str] = set()
    for obj in objects:
        if obj["kind"] != CRD_KIND:  # a schema talks about images and runs none
            _collect(obj, found)
    return tuple(sorted(found))


def listed(found: Sequence[str], version: AddonVersion, origin: str, registry: str = "") -> tuple[str, ...]:
    """``found`` as the version lists it. Refused when it does not, and for a tag that moves.

    An image may be named out of the mirror ``registry`` already, where the chart has a value for its registry.

    An operator may complete what its resource names by the node's system (``driver:580.1`` is pulled as
    ``driver:580.1-ubuntu24.04``): there the operands that the version lists stand for it.
    """
    known = {image.reference for image in version.images}
    ours = {mirrored(reference, registry): reference for reference in known} | {reference: reference for reference in known}
    operands = [image.reference for image in version.images if image.operand]
    stands_for = {
        image: [ours[image]] if image in ours else [one for one in operands if _completed(one, image, registry)]
        for image in found
    }
    unknown = [image for image, names in stands_for.items() if not names]
    if unknown:
        moving = ", and a tag that may be another image tomorrow cannot be listed" if any(map(_moves, unknown)) else ""
        raise Refused(
            f"renders images that the catalogue does not name: {', '.join(unknown)}{moving}",
            where=origin,
            todo="values of the spec change an image, or the version file lacks one",
        )
    if moving := ", ".join(image for image in found if _moves(image) and image in ours):
        raise Refused(f"renders images whose tag may be another image tomorrow: {moving}", where=origin)
    return tuple(sorted({image for names in stands_for.values() for image in names}))


def _completed(operand: str, image: str, registry: str) -> bool:
    return operand.startswith(f"{image}-") or mirrored(operand, registry).startswith(f"{image}-")


def mirrored(reference: str, registry: str) -> str:
    """An image under the name that a mirror has for it: ``quay.io/a/b:1`` is ``REGISTRY/a/b:1``."""
    return f"{registry}/{reference.partition('/')[2]}" if registry else reference


def rewritten(objects: Iterable[Object], known: Iterable[Image], registry: str = "") -> list[Object]:
    """The objects with each listed image as ``name:tag@digest`` where its digest is pinned, and out of ``registry`` if given.

    The tag stays for people; the container runtime goes by the digest. Rewritten are whole references wherever they stand (a
    container, an argument, an environment variable, a field of a custom resource), and blocks of repository, name and tag,
    which operators join with a colon. Blocks of repository, image and version keep the version, because operators compare it
    and build other names from it; only their registry changes.
    """
    final = {image.reference: _pinned(image, registry) for image in known}
    final |= {mirrored(image.reference, registry): _pinned(image, registry) for image in known}
    changed = {reference: text for reference, text in final.items() if reference != text}
    if not changed and not registry:
        return list(objects)
    prefixes = {image.reference.partition("/")[0] for image in known}
    return [obj if obj["kind"] == CRD_KIND else _object(obj, changed, registry, prefixes) for obj in objects]


def _pinned(image: Image, registry: str) -> str:
    name = mirrored(image.reference, registry)
    return f"{name}@{image.digest}" if image.digest else name


def _moves(image: str) -> bool:
    if "@sha256:" in image:
        return False
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag in ("", "latest")


def _object(obj: Object, changed: Mapping[str, str], registry: str, prefixes: set[str]) -> Object:
    def walk(node: Any) -> Any:
        if isinstance(node, str):
            head, equals, reference = node.rpartition("=") if node.startswith("--") else ("", "", node)
            return f"{head}{equals}{changed[reference]}" if reference in changed else node
        if isinstance(node, list):
            return [walk(item) for item in node]
        if isinstance(node, Mapping):
            return _block({key: walk(value) for key, value in node.items()})
        return node

    def _block(node: dict[str, Any]) -> dict[str, Any]:
        repository = node.get("repository")
        if not isinstance(repository, str):
            return node
        if all(isinstance(node.get(part), str) for part in _BLOCK):
            whole = f"{repository}/{node['name']}:{node['tag']}"
            if whole in changed:
                name, _, tag = changed[whole].partition("@")[0].rpartition(":")
                digest = changed[whole].partition("@")[2]
                node |= {"repository": name.rpartition("/")[0], "tag": f"{tag}@{digest}" if digest else tag}
        elif registry and repository.partition("/")[0] in prefixes:
            node["repository"] = mirrored(repository, registry)
        return node

    return {key: value if key in ("metadata", "apiVersion", "kind") else walk(value) for key, value in obj.items()}


def _whole(node: Mapping[str, Any], image: str) -> Iterator[str]:
    """``image`` as it would be pulled: in an operator's own resources it may be a bare name beside a repository and a version.

    An operand that is off and has no repository names nothing that could be pulled.
    """
    repository, version = node.get("repository"), node.get("version", node.get("tag"))
    bare = ":" not in image and "/" not in image
    if bare and isinstance(repository, str) and repository and isinstance(version, str) and version:
        yield f"{repository}/{image}{'@' if version.startswith('sha256:') else ':'}{version}"
    elif not (bare and node.get("enabled") is False):
        yield image


def _collect(node: Any, found: set[str]) -> None:
    if isinstance(node, Mapping):
        image = node.get("image")
        if isinstance(image, str) and image:
            found.update(_whole(node, image))
        if {"repository", "name", "tag"} <= set(node) and all(isinstance(node[k], str) for k in ("repository", "name", "tag")):
            found.add(f"{node['repository']}/{node['name']}:{node['tag']}")
        for value in node.values():
            _collect(value, found)
    elif isinstance(node, list):
        for value in node:
            _collect(value, found)
    elif isinstance(node, str) and (match := _IMAGE_ARGUMENT.match(node)):
        found.add(match[1])

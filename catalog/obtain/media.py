"""Media types and descriptors of OCI artifacts: what a manifest names, read strictly. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from base.errors import Refused

__all__ = [
    "ACCEPT",
    "CHART",
    "CHART_CONFIG",
    "INDEX",
    "MANIFEST",
    "Descriptor",
    "Manifest",
    "chart_layer",
    "children",
    "is_digest",
    "is_index",
    "is_manifest",
]

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
_DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
#: What registries are told that we read. Without it some hand out an old format that has no digest of its own.
ACCEPT = ", ".join((MANIFEST, INDEX, _DOCKER_MANIFEST, _DOCKER_LIST))
#: Helm's media types (helm.sh/helm, pkg/registry).
CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json"

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
#: Larger than any blob that anybody stores; guards arithmetic, not disks.
_LARGEST = 1 << 50


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A blob as its parent names it. ``size`` is in bytes; ``platform`` is ``linux/amd64`` or ``linux/arm/v7``, or empty."""

    media_type: str
    digest: str
    size: int
    platform: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        """As it stands in an index or a manifest, without its platform."""
        made: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        return {**made, "annotations": dict(self.annotations)} if self.annotations else made


@dataclass(frozen=True, slots=True)
class Manifest:
    """The bytes of a manifest or an index, with the digest that they have."""

    data: bytes
    digest: str
    media_type: str

    def descriptor(self, annotations: Mapping[str, str] | None = None) -> Descriptor:
        return Descriptor(self.media_type, self.digest, len(self.data), annotations=annotations or {})


def is_digest(text: str) -> bool:
    """Whether ``text`` is ``sha256:`` and 64 hexadecimal digits. No other algorithm is in use."""
    return bool(_DIGEST.match(text))


def is_index(media_type: str) -> bool:
    """Whether it is a list of manifests, one for each platform."""
    return media_type in (INDEX, _DOCKER_LIST)


def is_manifest(media_type: str) -> bool:
    """Whether a blob names others: a manifest or an index."""
    return media_type in (MANIFEST, _DOCKER_MANIFEST) or is_index(media_type)


def media_type_of(data: bytes, where: str, said: str = "") -> str:
    """What a manifest is, by its own word, else by what was ``said`` beside it. Refused for what is no manifest."""
    raw = _object(data, where)
    found = raw.get("mediaType") or said.partition(";")[0].strip()
    if found not in (MANIFEST, INDEX, _DOCKER_MANIFEST, _DOCKER_LIST):
        found = INDEX if isinstance(raw.get("manifests"), list) else MANIFEST
    if raw.get("schemaVersion") != 2:
        raise Refused(f"is no manifest that can be used: its schemaVersion is {raw.get('schemaVersion')!r}, not 2", where=where)
    return str(found)


def children(manifest: Manifest, where: str, platforms: Sequence[str] = ()) -> tuple[Descriptor, ...]:
    """Everything that a manifest names: of an index the manifests (of ``platforms``, or all), else configuration and layers.

    Refused for what cannot be read. An index without a manifest for one of the platforms gives none for it.
    """
    raw = _object(manifest.data, where)
    if is_index(manifest.media_type):
        found = tuple(_descriptors(raw.get("manifests"), where))
        return tuple(one for one in found if not platforms or _serves(one.platform, platforms))
    return (*_descriptors([raw.get("config")], where), *_descriptors(raw.get("layers"), where))


def chart_layer(manifest: Manifest, where: str) -> Descriptor:
    """The layer that is the chart's .tgz. Refused where there is not exactly one."""
    if is_index(manifest.media_type):
        raise Refused("is no chart: it is an index of images", where=where)
    try:
        found = [one for one in _descriptors(_object(manifest.data, where).get("layers"), where) if one.media_type == CHART]
    except Refused as error:
        raise Refused(f"is no chart: {error.message}", where=where) from error
    if len(found) != 1:
        raise Refused(f"is no chart: its manifest has {len(found)} layers of {CHART}", where=where)
    return found[0]


def _serves(platform: str, wanted: Sequence[str]) -> bool:
    """``linux/arm64/v8`` serves whoever wants ``linux/arm64``."""
    return any(platform == one or platform.startswith(f"{one}/") for one in wanted)


def _object(data: bytes, where: str) -> dict[str, Any]:
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refused("its manifest cannot be read: it is no JSON", where=where) from error
    if not isinstance(raw, dict):
        raise Refused("its manifest cannot be read: it is no JSON object", where=where)
    return raw


def _descriptors(raw: Any, where: str) -> Iterator[Descriptor]:
    if not isinstance(raw, list):
        raise Refused("its manifest cannot be read: it names no blobs", where=where)
    for one in raw:
        yield descriptor(one, where)


def descriptor(raw: Any, where: str) -> Descriptor:
    """A descriptor out of JSON. Refused unless it has a media type, a SHA-256 digest and a size."""
    kind, digest, size = (raw.get(key) for key in ("mediaType", "digest", "size")) if isinstance(raw, dict) else ("", "", 0)
    if not isinstance(kind, str) or not isinstance(digest, str) or not isinstance(size, int) or isinstance(size, bool):
        raise Refused("its manifest cannot be read: a blob in it has no media type, digest or size", where=where)
    if not kind or not is_digest(digest) or not 0 <= size <= _LARGEST:
        raise Refused(f"its manifest cannot be read: {digest[:80]!r} of {size} bytes is no blob that can be checked", where=where)
    notes = raw.get("annotations")
    return Descriptor(kind, digest, size, _platform(raw.get("platform")), notes if isinstance(notes, dict) else {})


def _platform(raw: Any) -> str:
    if not isinstance(raw, dict):
        return ""
    return "/".join(str(raw[key]) for key in ("os", "architecture", "variant") if raw.get(key))

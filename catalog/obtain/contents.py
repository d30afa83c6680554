"""``bundle.json``: what a bundle holds, by name and digest. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from base.errors import Refused
from catalog.obtain.media import Descriptor, is_digest

__all__ = ["FORMAT", "ChartEntry", "Contents", "ImageEntry", "read_contents"]

FORMAT = 1
#: The names under which tools find a manifest in a layout (image-spec, annotations.md), and under which containerd imports it.
_NAME, _CONTAINERD = "org.opencontainers.image.ref.name", "io.containerd.image.name"


@dataclass(frozen=True, slots=True)
class ChartEntry:
    """One chart. ``name`` is what the layout calls it; ``source`` says where it came from, with its pins; ``source_digest`` is
    a module's ``h1:`` sum or the archive's SHA-256."""

    addon: str
    version: str
    name: str
    source: str
    source_digest: str
    media_type: str
    digest: str
    size: int

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor(self.media_type, self.digest, self.size, annotations={_NAME: self.name})


@dataclass(frozen=True, slots=True)
class ImageEntry:
    """One image. ``pinned`` is False where the catalogue had no digest and the tag decided; an ``operand`` is started by an
    operator."""

    name: str
    media_type: str
    digest: str
    size: int
    pinned: bool
    operand: bool
    used_by: tuple[str, ...]

    @property
    def descriptor(self) -> Descriptor:
        return Descriptor(self.media_type, self.digest, self.size, annotations={_NAME: self.name, _CONTAINERD: self.name})


@dataclass(frozen=True, slots=True)
class Contents:
    """All of ``bundle.json``. ``blobs`` maps digests to sizes; ``platforms`` is empty where images have all of theirs."""

    cluster: str
    plan: str
    charts_only: bool
    platforms: tuple[str, ...]
    charts: tuple[ChartEntry, ...]
    images: tuple[ImageEntry, ...]
    blobs: Mapping[str, int]

    def as_bytes(self) -> bytes:
        """The file. The same contents are the same bytes, so their digest names the bundle."""
        raw = {"format": FORMAT, **asdict(self)}
        return (json.dumps(_renamed(raw, _camel), indent=2, sort_keys=True) + "\n").encode()

    def manifests(self) -> tuple[Descriptor, ...]:
        """What ``index.json`` names, in its order."""
        charts = [chart.descriptor for chart in self.charts]
        return (*charts, *(image.descriptor for image in self.images))


def read_contents(data: bytes, where: str) -> Contents:
    """What the file says. Refused when it is damaged, or of a format that is not read here."""
    damaged = Refused("the bundle's manifest is damaged", where=where, todo="copy the bundle again, or make it anew")
    try:
        raw = json.loads(data)
        version = raw["format"]
        raw = _renamed(raw, _snake)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise damaged from error
    if version != FORMAT:
        raise Refused(f"the bundle has format {str(version)[:20]}, this program reads {FORMAT}", where=where)
    try:
        charts = tuple(ChartEntry(**one) for one in raw["charts"])
        images = tuple(ImageEntry(**{**one, "used_by": tuple(one["used_by"])}) for one in raw["images"])
        platforms = tuple(map(str, raw["platforms"]))
        blobs = dict(raw["blobs"])
        made = Contents(raw["cluster"], raw["plan"], raw["charts_only"], platforms, charts, images, blobs)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged from error
    words = [made.cluster, made.plan, *(chart.name for chart in charts), *(image.name for image in images)]
    sizes = [chart.size for chart in charts] + [image.size for image in images] + list(blobs.values())
    digests = [chart.digest for chart in charts] + [image.digest for image in images] + list(blobs)
    if (
        not all(isinstance(word, str) for word in words)
        or not all(type(size) is int for size in sizes)
        or not all(isinstance(digest, str) and is_digest(digest) for digest in digests)
        or type(made.charts_only) is not bool
    ):
        raise damaged
    return made


def _renamed(value: Any, name: Any) -> Any:
    """The fields of records under other names. Keys that are digests stay what they are."""
    if isinstance(value, Mapping):
        return {key if ":" in key else name(key): _renamed(inner, name) for key, inner in value.items()}
    return [_renamed(inner, name) for inner in value] if isinstance(value, list | tuple) else value


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)

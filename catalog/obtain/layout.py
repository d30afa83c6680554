"""An OCI image layout on the disk (image-spec, image-layout.md): blobs by digest, written whole, checked when they are read."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from base.errors import NotFound, Refused
from base.files import room_errors, write_atomic, write_json
from catalog.obtain.archive import sha256
from catalog.obtain.media import INDEX, Descriptor, Manifest, descriptor, is_digest, media_type_of

__all__ = ["Layout"]

_VERSION = {"imageLayoutVersion": "1.0.0"}
_CHUNK = 1024 * 1024
_SMALL = 64 * 1024 * 1024


class Layout:
    """``directory`` holds ``oci-layout``, ``index.json`` and ``blobs/sha256``. It is made when something is first written."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._blobs = directory / "blobs" / "sha256"

    def path(self, digest: str) -> Path:
        """Where a blob lies or would lie."""
        if not is_digest(digest):
            raise Refused(f"{digest[:80]!r} is no digest", where=str(self.directory))
        return self._blobs / digest.removeprefix("sha256:")

    def part(self, digest: str) -> Path:
        """Where the beginning of a blob lies that is being fetched, in this run or in one that was ended."""
        return self._blobs / f".{self.path(digest).name}.part"

    def whole(self, wanted: Descriptor) -> bool:
        """Whether the blob is there with its size and its digest. One that is damaged is removed."""
        path = self.path(wanted.digest)
        try:
            if path.stat().st_size == wanted.size and file_digest(path) == wanted.digest:
                return True
        except OSError:
            return False
        with contextlib.suppress(OSError):
            path.unlink()
        return False

    def read(self, digest: str) -> bytes:
        """A small blob. NotFound when it is not there, Refused when it is damaged."""
        path = self.path(digest)
        try:
            if path.stat().st_size > _SMALL:
                raise Refused("is larger than any manifest or chart", where=str(path))
            data = path.read_bytes()
        except OSError as error:
            raise NotFound(f"blob {digest} is missing: {error.strerror}", where=str(self.directory)) from error
        if sha256(data) != digest:
            raise Refused(f"blob is damaged: it has digest {sha256(data)}, its name is {digest}", where=str(path))
        return data

    def manifest(self, wanted: Descriptor) -> Manifest:
        """A manifest or an index, verified."""
        data = self.read(wanted.digest)
        return Manifest(data, wanted.digest, media_type_of(data, str(self.path(wanted.digest)), wanted.media_type))

    def put(self, data: bytes, media_type: str) -> Descriptor:
        """Keep ``data`` and return what names it."""
        made = Descriptor(media_type, sha256(data), len(data))
        if not self.whole(made):
            write_atomic(self.path(made.digest), data)
        return made

    def make_room(self) -> None:
        """The directories, before a blob is fetched into them."""
        with room_errors(self.directory):
            self._blobs.mkdir(parents=True, exist_ok=True)

    def keep_part(self, digest: str) -> None:
        """A part that was fetched to its end and verified becomes the blob."""
        part = self.part(digest)
        with room_errors(part):
            with part.open("rb") as stream:
                os.fsync(stream.fileno())
            os.replace(part, self.path(digest))

    def write_index(self, manifests: Iterable[Descriptor]) -> None:
        """``index.json`` and ``oci-layout``."""
        write_json(self.directory / "oci-layout", _VERSION)
        write_json(self.directory / "index.json", index_data(manifests))

    def index(self) -> tuple[Descriptor, ...]:
        """What ``index.json`` names. NotFound when there is no layout, Refused when it is damaged."""
        file = self.directory / "index.json"
        try:
            version = json.loads((self.directory / "oci-layout").read_bytes())
            raw = json.loads(file.read_bytes())
        except OSError as error:
            raise NotFound(f"is no OCI layout: {error.strerror}", where=str(error.filename)) from error
        except (ValueError, RecursionError) as error:
            raise Refused("is no OCI layout: its index is no JSON", where=str(file)) from error
        if not isinstance(version, dict) or version.get("imageLayoutVersion") != _VERSION["imageLayoutVersion"]:
            raise Refused("is no OCI layout of a version that is known here", where=str(self.directory / "oci-layout"))
        found = raw.get("manifests") if isinstance(raw, dict) else None
        if not isinstance(found, list):
            raise Refused("is no OCI layout: its index names no manifests", where=str(file))
        return tuple(descriptor(one, str(file)) for one in found)


def index_data(manifests: Iterable[Descriptor]) -> dict[str, object]:
    """``index.json`` of a layout that holds these."""
    return {"schemaVersion": 2, "mediaType": INDEX, "manifests": [one.as_data() for one in manifests]}


def file_digest(path: Path) -> str:
    """SHA-256 of a file of any size."""
    with path.open("rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"

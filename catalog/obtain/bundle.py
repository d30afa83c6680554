"""Making a bundle: one OCI layout with every chart and image that a cluster needs, and the manifest that says so.

It may be ended at any moment and run again: what is there and whole is kept, what was begun is gone on with. ``bundle.json`` is
written last, so a bundle that was finished once stays usable until the next one is.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from base.errors import ChandleryError, InvalidInput, NotFound, Refused, Unavailable
from base.events import Reporter, Step
from base.files import lock, room_errors, write_atomic
from catalog.model import AddonVersion, OciSource, describe
from catalog.obtain.archive import sha256
from catalog.obtain.artifact import put_artifact
from catalog.obtain.bundled import LOCK_FILE, MANIFEST_FILE, files_of, known_files, walk
from catalog.obtain.contents import ChartEntry, Contents, ImageEntry
from catalog.obtain.layout import Layout
from catalog.obtain.media import Descriptor, Manifest, chart_layer, children, is_index, is_manifest
from catalog.obtain.registry import Connection, Registry, same
from catalog.obtain.sources import Charts

__all__ = ["Made", "Order", "Wanted", "make_bundle"]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Wanted:
    """An image: ``registry/repository:tag``, its pinned digest or nothing, and who runs it."""

    reference: str
    digest: str
    operand: bool
    used_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be in the bundle. ``platforms`` (``linux/amd64``) leaves the others out of images; none means all there are.

    ``jobs`` is how many blobs are fetched at once.
    """

    cluster: str
    plan: str
    charts: tuple[AddonVersion, ...]
    images: tuple[Wanted, ...]
    charts_only: bool = False
    platforms: tuple[str, ...] = ()
    jobs: int = 4


@dataclass(frozen=True, slots=True)
class Made:
    """A finished bundle. ``digest`` is that of ``bundle.json``. Manifests do not count among the blobs that this run fetched, or
    found there and whole."""

    contents: Contents
    digest: str
    fetched: int
    fetched_bytes: int
    present: int


def make_bundle(order: Order, directory: Path, charts: Charts, registry: Registry, reporter: Reporter) -> Made:
    """Make the bundle, or finish it.

    Where anything is missing all that is missing is told, and nothing but blobs was written: Refused where a digest differs, else
    NotFound where a registry does not have something, else Unavailable. Refused as well while another run works on it.
    """
    if not order.charts:
        raise InvalidInput("there is nothing to put into a bundle: the plan has no add-ons")
    layout = Layout(directory)
    _check_place(directory)
    with lock(directory / LOCK_FILE, f"the making of the bundle {directory}"), registry.connection() as connection:
        layout.make_room()
        run = _Run(order, layout, charts, connection, reporter)
        return run.make()


def _check_place(directory: Path) -> None:
    with room_errors(directory):
        there = {path.name for path in directory.iterdir()} if directory.exists() else set()
    if there - {LOCK_FILE} and not there & {"oci-layout", "blobs"}:
        raise Refused("there is something else than a bundle", where=str(directory), todo="name an empty directory or a new one")


class _Tally:
    """How far the fetching is, for the one line that says so."""

    def __init__(self) -> None:
        self.fetched = self.present = self.bytes = 0
        self._lock = threading.Lock()
        self._step: Step | None = None
        self._ended = self._had = self._total = self._count = 0

    def begin(self, step: Step, blobs: Iterable[tuple[str, Descriptor]]) -> None:
        sizes = [blob.size for _, blob in blobs]
        self._step, self._total, self._count = step, sum(sizes), len(sizes)

    def got(self, size: int) -> None:
        with self._lock:
            self.bytes += size
            self._had += size
            self._say()

    def there(self, size: int) -> None:
        with self._lock:
            self._had += size
            self._ended += 1
            self.present += 1
            self._say()

    def done(self) -> None:
        with self._lock:
            self.fetched += 1
            self._ended += 1
            self._say()

    def _say(self) -> None:
        if self._step:
            self._step.note(f"{self._ended} of {self._count} blobs, {self._had / 1e6:.1f} of {self._total / 1e6:.1f} MB")


@dataclass
class _Run:
    order: Order
    layout: Layout
    charts: Charts
    connection: Connection
    reporter: Reporter
    failures: list[ChandleryError] = field(default_factory=list)
    #: By digest: where each blob is to be had, and how large it is.
    blobs: dict[str, tuple[str, Descriptor]] = field(default_factory=dict)
    tally: _Tally = field(default_factory=_Tally)

    def make(self) -> Made:
        with self.reporter.step("charts into the bundle") as step:
            entries = self._each(self.order.charts, self._chart)
            step.note(f"{len(entries)} of {len(self.order.charts)} charts")
        images: list[ImageEntry] = []
        if not self.order.charts_only:
            with self.reporter.step("manifests of the images") as step:
                images = self._each(self.order.images, self._image)
                step.note(f"{len(images)} of {len(self.order.images)} images, {len(self.blobs)} blobs")
        if self.blobs:
            with self.reporter.step("blobs into the bundle") as step:
                self.tally.begin(step, self.blobs.values())
                self._each(sorted(self.blobs.values(), key=lambda blob: -blob[1].size), self._blob)
        if self.failures:
            raise _incomplete(self.failures, str(self.layout.directory))
        return self._finish(entries, images)

    def _finish(self, charts: Sequence[ChartEntry], images: Sequence[ImageEntry]) -> Made:
        order, layout = self.order, self.layout
        named = Contents(order.cluster, order.plan, order.charts_only, order.platforms, tuple(charts), tuple(images), {})
        reached = walk(layout, named.manifests(), order.platforms)
        contents = replace(named, blobs={one.digest: one.size for one in reached})
        data = contents.as_bytes()
        layout.write_index(contents.manifests())
        write_atomic(layout.directory / MANIFEST_FILE, data)
        for name in files_of(layout.directory) - known_files(contents):
            if name.startswith("blobs/sha256/"):
                (layout.directory / name).unlink(missing_ok=True)
        return Made(contents, sha256(data), self.tally.fetched, self.tally.bytes, self.tally.present)

    def _chart(self, version: AddonVersion) -> ChartEntry:
        source = version.source
        original = self.charts.original(version)
        if original is not None:
            made = put_artifact(self.layout, version, original)
            identity = original.digest
        else:
            assert isinstance(source, OciSource)
            manifest = self._manifest(source.repository, source.tag, source.digest)
            layer = chart_layer(manifest, f"{source.repository}:{source.tag}")
            same("chart archive (by the manifest)", source.archive_digest, layer.digest, f"{source.repository}:{source.tag}")
            self._add(source.repository, manifest)
            made, identity = manifest.descriptor(), layer.digest
        name = f"{source.repository}:{source.tag}" if isinstance(source, OciSource) else _own_name(version)
        return ChartEntry(
            version.addon, version.version, name, describe(source), identity, made.media_type, made.digest, made.size
        )

    def _image(self, image: Wanted) -> ImageEntry:
        name, _, tag = image.reference.rpartition(":")
        manifest = self._manifest(name, tag, image.digest)
        self._add(name, manifest)
        made = manifest.descriptor()
        pinned = bool(image.digest)
        return ImageEntry(image.reference, made.media_type, made.digest, made.size, pinned, image.operand, image.used_by)

    def _manifest(self, name: str, tag: str, digest: str) -> Manifest:
        """Out of the layout where it is known by digest and there, else out of the registry and into the layout."""
        if digest and self.layout.path(digest).is_file():
            size = self.layout.path(digest).stat().st_size
            if self.layout.whole(Descriptor("", digest, size)):
                return self.layout.manifest(Descriptor("", digest, size))
        manifest = self.connection.manifest(name, digest or tag)
        self.layout.put(manifest.data, manifest.media_type)
        return manifest

    def _add(self, name: str, manifest: Manifest, depth: int = 0) -> None:
        """All blobs below a manifest, with the manifests between."""
        where = f"{name}@{manifest.digest}"
        if depth > 3:
            raise Refused("its index leads from one index to the next", where=where)
        found = children(manifest, where, self.order.platforms)
        if is_index(manifest.media_type) and not found:
            raise NotFound(f"has no image for {', '.join(self.order.platforms) or 'any platform'}", where=where)
        for one in found:
            if is_manifest(one.media_type):
                inner = self._manifest(name, one.digest, one.digest)
                if len(inner.data) != one.size:
                    raise Refused(f"its index says {one.size} bytes, it has {len(inner.data)}", where=f"{name}@{one.digest}")
                self._add(name, inner, depth + 1)
            else:
                self.blobs.setdefault(one.digest, (name, one))

    def _blob(self, blob: tuple[str, Descriptor]) -> None:
        name, wanted = blob
        if self.layout.whole(wanted):
            self.tally.there(wanted.size)
            return
        self.connection.download(name, wanted, self.layout.part(wanted.digest), self.tally.got)
        self.layout.keep_part(wanted.digest)
        self.tally.done()

    def _each(self, things: Iterable[T], work: Callable[[T], R]) -> list[R]:
        """``work`` on each, several at once; results in order, failures noted. An interrupt ends all of them."""
        pool = ThreadPoolExecutor(max_workers=self.order.jobs, thread_name_prefix="bundle")
        try:
            futures = [pool.submit(work, thing) for thing in things]
            results = []
            for future in futures:
                try:
                    results.append(future.result())
                except ChandleryError as failure:
                    self.failures.append(failure)
            return results
        except BaseException:
            self.connection.stop()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _own_name(version: AddonVersion) -> str:
    """What the layout calls a chart that comes out of no registry: a tag may have no ``+``."""
    return f"charts/{version.addon}:{re.sub(r'[^A-Za-z0-9_.-]', '_', version.version)}"


def _incomplete(failures: Sequence[ChandleryError], where: str) -> ChandleryError:
    kind = next((kind for kind in (Refused, NotFound) if any(isinstance(one, kind) for one in failures)), Unavailable)
    lines = dict.fromkeys(f"  - {failure.where or 'the run'}: {failure.message}" for failure in failures)
    return kind(
        f"the bundle is not complete, {len(lines)} part{'s' if len(lines) != 1 else ''} could not be had:\n" + "\n".join(lines),
        where=where,
        todo="run the same command again to fetch only what is missing; --charts-only leaves images out, and records it",
    )

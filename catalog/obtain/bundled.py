"""A bundle as it is read: its charts, held against their pins, and whether all of it is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from base.errors import ChandleryError, NotFound
from catalog.model import AddonVersion
from catalog.obtain.archive import sha256
from catalog.obtain.artifact import Original, find_original
from catalog.obtain.contents import ChartEntry, Contents, read_contents
from catalog.obtain.layout import Layout, file_digest, index_data
from catalog.obtain.media import Descriptor, children, is_manifest

__all__ = ["LOCK_FILE", "MANIFEST_FILE", "Bundle", "Entry", "faults", "files_of", "known_files", "walk"]

MANIFEST_FILE = "bundle.json"
LOCK_FILE = ".lock"


@dataclass(frozen=True, slots=True)
class Entry:
    """A chart in a bundle, and which bundle that is."""

    chart: ChartEntry
    where: str


class Bundle:
    """Opened for reading. NotFound when ``directory`` holds none that was finished, Refused when its manifest is damaged."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.layout = Layout(directory)
        file = directory / MANIFEST_FILE
        try:
            data = file.read_bytes()
        except OSError as error:
            raise NotFound(
                f"there is no bundle: {error.strerror}",
                where=str(file),
                todo="`chandlery catalog bundle -c SPEC -o DIR` makes one, and finishes one that was interrupted",
            ) from error
        self.digest = sha256(data)
        self.contents = read_contents(data, str(file))

    def entry(self, version: AddonVersion) -> Entry:
        """Which artifact is the chart of ``version``. NotFound names the versions that are there instead."""
        charts = [chart for chart in self.contents.charts if chart.addon == version.addon]
        for chart in charts:
            if chart.version == version.version:
                return Entry(chart, str(self.directory))
        instead = ", ".join(f"{chart.addon} {chart.version}" for chart in charts or self.contents.charts)
        raise NotFound(
            f"the bundle has no {version.addon} {version.version}",
            where=str(self.directory),
            todo=f"it has {instead or 'no chart'}; name one of these in the spec, or make the bundle anew",
        )

    def original(self, version: AddonVersion) -> Original:
        """The chart of ``version``, held against its pins. NotFound and Refused."""
        return find_original(self.layout, version, self.entry(version).chart.descriptor)


def walk(layout: Layout, top: Iterable[Descriptor], platforms: Sequence[str]) -> Iterator[Descriptor]:
    """Every blob that is reached from ``top``, each once. NotFound and Refused as manifests are read."""
    seen: set[str] = set()
    waiting = list(top)
    while waiting:
        one = waiting.pop()
        if one.digest in seen:
            continue
        seen.add(one.digest)
        yield one
        if is_manifest(one.media_type):
            waiting.extend(children(layout.manifest(one), str(layout.path(one.digest)), platforms))


def faults(bundle: Bundle) -> tuple[str, ...]:
    """What is wrong with a bundle, in a closed world: every blob that is needed is there with its digest, and nothing else."""
    layout, contents = bundle.layout, bundle.contents
    found: list[str] = []
    try:
        layout.index()
        if json.loads((bundle.directory / "index.json").read_bytes()) != index_data(contents.manifests()):
            found.append("index.json does not name what bundle.json does")
    except ChandleryError as error:
        found.append(f"{error.where}: {error.message}")
    whole = set()
    for digest, size in sorted(contents.blobs.items()):
        path = layout.path(digest)
        if path.is_symlink() or not path.is_file():
            found.append(f"{digest} is missing")
        elif path.stat().st_size != size:
            found.append(f"{digest} has {path.stat().st_size} bytes instead of {size}")
        elif (actual := file_digest(path)) != digest:
            found.append(f"{digest} is damaged: its bytes have digest {actual}")
        else:
            whole.add(digest)
    if whole == set(contents.blobs):
        found.extend(_unreached(bundle))
    extra = files_of(bundle.directory) - known_files(contents) - {MANIFEST_FILE, LOCK_FILE, "index.json", "oci-layout"}
    return (*found, *(f"{name} does not belong to the bundle" for name in sorted(extra)))


def known_files(contents: Contents) -> set[str]:
    """The files of the blobs, below the bundle's directory."""
    return {f"blobs/sha256/{digest.removeprefix('sha256:')}" for digest in contents.blobs}


def files_of(directory: Path) -> set[str]:
    """Everything below the directory that is no directory of a layout, links included."""
    found: set[str] = set()
    for folder, folders, names in os.walk(directory):
        here = Path(folder).relative_to(directory)
        found |= {(here / name).as_posix() for name in names}
        found |= {(here / name).as_posix() for name in folders if (directory / here / name).is_symlink()}
        if not names and not folders and here.as_posix() not in (".", "blobs", "blobs/sha256"):
            found.add(here.as_posix())
    return found


def _unreached(bundle: Bundle) -> Iterator[str]:
    blobs = bundle.contents.blobs
    try:
        reached = {one.digest: one.size for one in walk(bundle.layout, bundle.contents.manifests(), bundle.contents.platforms)}
    except ChandleryError as error:
        yield f"{error.where}: {error.message}"
        return
    yield from (f"{digest} is needed and not in bundle.json" for digest in sorted(reached.keys() - blobs.keys()))
    yield from (f"{digest} is in bundle.json and belongs to nothing" for digest in sorted(blobs.keys() - reached.keys()))
    for digest in sorted(reached.keys() & blobs.keys()):
        if reached[digest] != blobs[digest]:
            yield f"{digest} has {blobs[digest]} bytes by bundle.json and {reached[digest]} by its manifest"

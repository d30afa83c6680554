"""Pinning: what registries say about the chart and the images of a version, held against its file and written into it.

Only the digests are touched: the file keeps its comments, its order and every other byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from base.errors import ChandleryError, Refused
from base.yamltree import Array, Leaf, Node, Table, parse
from catalog.model import AddonVersion, Image, OciSource, RepositorySource
from catalog.obtain.archive import sha256
from catalog.obtain.media import chart_layer, is_digest
from catalog.obtain.registry import Connection, Registry
from catalog.obtain.repository import pull_chart

__all__ = ["Reading", "State", "read_pins", "with_pins"]

#: same: as pinned. new: not pinned before. changed: pinned as something else. unread: could not be read.
State = Literal["same", "new", "changed", "unread"]
#: After which field of the chart a pin is written that is not there yet.
_BEFORE = {"digest": ("tag",), "archiveDigest": ("digest", "tag", "version")}
_SCALAR = re.compile(r""""[^"]*"|'[^']*'|[^\s,}#]+""")


@dataclass(frozen=True, slots=True)
class Reading:
    """One digest. ``place`` is a field of ``chart`` or the reference of an image; ``problem`` says why ``found`` is empty."""

    what: Literal["chart", "image"]
    place: str
    pinned: str
    found: str
    problem: str = ""

    @property
    def state(self) -> State:
        if not self.found:
            return "unread"
        if not self.pinned:
            return "new"
        return "same" if self.pinned == self.found else "changed"


def read_pins(version: AddonVersion, registry: Registry, *, jobs: int = 4) -> tuple[Reading, ...]:
    """The digests that chart and images have upstream now, by their tags. What cannot be read says so; nothing is raised.

    A chart that is no OCI artifact and in no repository has its pin in another form already, and is not among them.
    """
    with registry.connection() as connection, ThreadPoolExecutor(max_workers=jobs) as pool:
        images = pool.map(lambda image: _image(image, connection), version.images)
        return (*_chart(version, connection), *images)


def _chart(version: AddonVersion, connection: Connection) -> Iterator[Reading]:
    source = version.source
    if isinstance(source, OciSource):
        pins = {"digest": source.digest, "archiveDigest": source.archive_digest}
        try:
            manifest = connection.manifest(source.repository, source.tag)
            layer = chart_layer(manifest, f"{source.repository}:{source.tag}")
            found = {"digest": manifest.digest, "archiveDigest": layer.digest}
            problem = ""
        except ChandleryError as error:
            found, problem = dict.fromkeys(pins, ""), error.message
        yield from (Reading("chart", place, pins[place], found[place], problem) for place in pins)
    elif isinstance(source, RepositorySource):
        try:
            yield Reading("chart", "archiveDigest", source.digest, sha256(pull_chart(replace(source, digest=""))))
        except ChandleryError as error:
            yield Reading("chart", "archiveDigest", source.digest, "", error.message)


def _image(image: Image, connection: Connection) -> Reading:
    try:
        found = connection.manifest(image.reference.rpartition(":")[0], image.tag).digest
    except ChandleryError as error:
        return Reading("image", image.reference, image.digest, "", error.message)
    return Reading("image", image.reference, image.digest, found)


def with_pins(text: str, readings: Iterable[Reading], where: str) -> str:
    """The text of a version file with the digests that were ``new`` in it.

    Refused when a reading has ``changed``, or when the file does not have what the readings are about (somebody changed it
    meanwhile, or wrote it in a form in which digests cannot be put without touching anything else).
    """
    fresh = [reading for reading in readings if reading.state in ("new", "changed")]
    if changed := [reading for reading in fresh if reading.state == "changed"]:
        told = "\n".join(f"  - {one.place} has digest {one.found}, pinned is {one.pinned}" for one in changed)
        raise Refused(f"digests have changed upstream:\n{told}", where=where, todo="do not use it; ask who changed it")
    tree, problems = parse(text.encode(), where)
    if problems or not isinstance(tree, Table):
        raise Refused("the version file cannot be read any more", where=where)
    edits = [edit for reading in fresh for edit in _edits(tree, reading, text, where)]
    lines = text.splitlines(keepends=True)
    # From the end to the beginning, so that no edit moves the place of another; two at one place stand in their order.
    for _, edit in sorted(enumerate(edits), key=lambda one: (one[1].line, one[1].start, one[0]), reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text + line[edit.end :]
    made = "".join(lines)
    _check(made, fresh, where)
    return made


@dataclass(frozen=True, slots=True)
class _Edit:
    """Put ``text`` in the place of columns ``start`` to ``end`` of a line; lines count from 1, columns from 0."""

    line: int
    start: int
    end: int
    text: str


def _edits(tree: Table, reading: Reading, text: str, where: str) -> Iterator[_Edit]:
    field = "digest" if reading.what == "image" else reading.place
    tables = list(_tables(tree, reading))
    if not tables:
        raise Refused(f"the version file does not name {reading.place} any more", where=where)
    for table in tables:
        lines = text.splitlines(keepends=True)
        present = table.entries.get(field)
        if present is not None:
            yield _over(present.node, lines, reading.found)
            continue
        before = ("reference",) if reading.what == "image" else _BEFORE[field]
        anchor = next(name for name in before if name in table.entries)
        key, node = table.entries[anchor].position, table.entries[anchor].node
        value = _over(node, lines, "")
        if lines[table.position.line - 1][table.position.column - 1] == "{":
            yield _Edit(value.line, value.end, value.end, f", {field}: {reading.found}")
        else:  # on a line of its own, in front of whatever comes next
            end = len(lines[value.line - 1].rstrip("\r\n"))
            yield _Edit(value.line, end, end, f"\n{' ' * (key.column - 1)}{field}: {reading.found}")


def _over(node: Node, lines: Sequence[str], text: str) -> _Edit:
    place = node.position
    match = _SCALAR.match(lines[place.line - 1], place.column - 1) if isinstance(node, Leaf) else None
    if match is None:
        raise Refused("a digest cannot be written there", where=str(place), todo="write the field on one line")
    return _Edit(place.line, match.start(), match.end(), text)


def _tables(tree: Table, reading: Reading) -> Iterator[Table]:
    if reading.what == "chart":
        chart = tree.entries.get("chart")
        if chart is not None and isinstance(chart.node, Table):
            yield chart.node
        return
    images = tree.entries.get("images")
    for one in images.node.items if images is not None and isinstance(images.node, Array) else ():
        reference = one.entries.get("reference") if isinstance(one, Table) else None
        if reference is not None and isinstance(reference.node, Leaf) and reference.node.text == reading.place:
            assert isinstance(one, Table)
            yield one


def _check(text: str, fresh: Sequence[Reading], where: str) -> None:
    """What was written is read back before it reaches the disk."""
    tree, problems = parse(text.encode(), where)
    if not isinstance(tree, Table) or problems:
        raise Refused("digests cannot be written there: the file would not be read any more", where=where)
    for reading in fresh:
        for table in _tables(tree, reading):
            entry = table.entries.get("digest" if reading.what == "image" else reading.place)
            text_there = entry.node.text if entry is not None and isinstance(entry.node, Leaf) else ""
            if not is_digest(text_there) or text_there != reading.found:
                todo = f"write {reading.found} there by hand"
                raise Refused(f"the digest of {reading.place} cannot be written there", where=where, todo=todo)

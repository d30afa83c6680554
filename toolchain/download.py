"""Official release downloads: the publisher's file, checked against the checksum that the publisher serves for it.

The checksum is locked in the cache when it is first used; a publisher that serves another one later is refused. A
site that cannot be reached is given up within seconds, and is not tried again by the same process.
"""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import httpx2 as httpx

from base.errors import Refused
from base.events import Reporter
from base.files import room_errors, write_json
from toolchain import cache
from toolchain.pins import Release, Tool

CONNECT_SECONDS = 3.0
STALL_SECONDS = 10.0
#: The checksum file is small: a site that does not hand it over in this time is not going to hand over a program.
CHECKSUM_SECONDS = 8.0

_unreachable: dict[str, str] = {}


class NotServed(Exception):
    """A release cannot be had now, for the reason given; the caller goes on to the next source."""


def release(tool: Tool, wanted: Release, reporter: Reporter) -> Path:
    """Fetch a release into the cache and return the program's path.

    Raises NotServed where the site or the file is not to be had, Refused where bytes and checksum differ. The
    caller holds the lock (:func:`cache.making`).
    """
    with _client() as client:
        expected = _expected(client, wanted)
        key = cache.release_key(wanted, tool.platform)
        _lock_checksum(wanted, expected)
        with reporter.step(f"{tool.name} {tool.version} from its release") as step, cache.scratch() as scratch:
            file = scratch / wanted.filename
            actual = _fetch(client, wanted.url, file, step.note)
            if actual != expected:
                raise Refused(
                    f"the download of {tool.name} does not match its checksum: {actual} instead of {expected}",
                    where=wanted.url,
                    todo="try again; if it stays so, do not use this download and tell the publisher",
                )
            program, beside = _unpack(file, wanted, scratch / "unpacked", tool.name)
            entry = cache.Entry(
                name=tool.name,
                version=tool.version,
                source="release",
                origin=wanted.url,
                sha256=cache.sha256(program),
                size=program.stat().st_size,
                seconds=round(step.elapsed, 1),
            )
            return cache.publish(tool, key, program, entry, beside)


def published_sum(text: str, filename: str) -> str | None:
    """The SHA-256 of ``filename`` in what a publisher serves, lower case.

    Understood are: the bare sum, ``sum  name`` lines as ``sha256sum`` writes them, and the JSON of a GitHub release,
    whose assets carry ``digest: sha256:...``.
    """
    if text.lstrip().startswith("{"):
        try:
            assets = json.loads(text).get("assets", [])
        except ValueError:
            return None
        for asset in assets:
            if asset.get("name") == filename and str(asset.get("digest")).startswith("sha256:"):
                return str(asset["digest"]).removeprefix("sha256:").lower()
        return None
    bare = re.fullmatch(r"\s*([0-9a-fA-F]{64})\s*", text)
    if bare:
        return bare[1].lower()
    for line in text.splitlines():
        found = re.fullmatch(r"([0-9a-fA-F]{64})\s+\*?(?:\./)?(\S+)", line.strip())
        if found and found[2] == filename:
            return found[1].lower()
    return None


def locked_sums() -> dict[str, str]:
    """Checksums locked on first use: ``{url: sha256}``."""
    try:
        return dict(json.loads(_locks().read_text()))
    except FileNotFoundError:
        return {}


def _locks() -> Path:
    return cache.tools_dir() / "release-checksums.json"


def _lock_checksum(wanted: Release, expected: str) -> None:
    locked = locked_sums()
    before = locked.setdefault(wanted.url, expected)
    if before != expected:
        raise Refused(
            f"the publisher now serves another checksum for a file that was used before: {expected} instead of {before}",
            where=f"{wanted.url} (locked in {_locks()})",
            todo="a release must not change; find out why before you remove that line from the lock file",
        )
    write_json(_locks(), locked)


def _client() -> httpx.Client:
    timeout = httpx.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS)
    return httpx.Client(timeout=timeout, follow_redirects=True, headers={"User-Agent": "chandlery"})


def _expected(client: httpx.Client, wanted: Release) -> str:
    text = b"".join(_stream(client, wanted.checksums, time.monotonic() + CHECKSUM_SECONDS)).decode(errors="replace")
    expected = published_sum(text, wanted.filename)
    if expected is None:
        raise NotServed(f"no checksum for {wanted.filename} at {wanted.checksums}")
    return expected


def _fetch(client: httpx.Client, url: str, target: Path, note: object) -> str:
    digest, size = hashlib.sha256(), 0
    with room_errors(target.parent), target.open("wb") as file:
        for chunk in _stream(client, url, None):
            file.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            if callable(note):
                note(f"{size / 1e6:.0f} MB")
    return digest.hexdigest()


def _stream(client: httpx.Client, url: str, until: float | None) -> Iterator[bytes]:
    site = urlsplit(url).netloc
    if site in _unreachable:
        raise NotServed(_unreachable[site])
    try:
        with client.stream("GET", url) as response:
            if response.status_code != httpx.codes.OK:
                raise NotServed(f"{url} answers {response.status_code}")
            for chunk in response.iter_bytes():
                yield chunk
                if until is not None and time.monotonic() > until:
                    _give_up(site, "is too slow")
    except httpx.HTTPError as error:
        _give_up(site, f"cannot be reached ({type(error).__name__})")


def _give_up(site: str, why: str) -> NoReturn:
    _unreachable[site] = f"{site} {why}"
    raise NotServed(_unreachable[site])


def _unpack(file: Path, wanted: Release, target: Path, name: str) -> tuple[Path, tuple[Path, ...]]:
    """The program and what belongs beside it, out of the archive (or the file itself when it is no archive)."""
    target.mkdir()
    if not wanted.member:
        return file, ()
    found: dict[str, Path] = {}
    try:
        with room_errors(target), tarfile.open(file) as archive:
            for member in archive:
                path = member.name.removeprefix("./")
                if path in {wanted.member, *wanted.beside} and member.isfile():
                    found[path] = target / (name if path == wanted.member else Path(path).name)
                    source = archive.extractfile(member)
                    assert source is not None
                    with source, found[path].open("wb") as out:
                        while chunk := source.read(1 << 20):
                            out.write(chunk)
    except tarfile.TarError as error:
        raise NotServed(f"{wanted.url} is no archive: {error}") from error
    if wanted.member not in found:
        raise NotServed(f"{wanted.url} does not contain {wanted.member}")
    return found[wanted.member], tuple(found[path] for path in wanted.beside if path in found)

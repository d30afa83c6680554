"""Chart archives: reading them with bounds, and packing them so that the same files always make the same bytes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from base.errors import Refused

__all__ = ["listing_sum", "module_files", "module_listing", "module_sum", "pack", "sha256", "unpack"]

#: A chart with its CRDs is a few megabytes; what unpacks to more is not one.
_UNPACKED_LIMIT = 128 * 1024 * 1024


def sha256(data: bytes) -> str:
    """``sha256:<hex>``."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def pack(files: Mapping[str, bytes], *, name: str, version: str, app_version: str) -> bytes:
    """A .tgz of a chart directory with ``version`` and ``appVersion`` written into its Chart.yaml.

    Deterministic: sorted names, no times, no owners. Charts out of a source tree carry placeholders there, and a chart that
    was packaged properly gets what it has already. Refused when there is no Chart.yaml.
    """
    if "Chart.yaml" not in files:
        raise Refused("is no chart: it has no Chart.yaml", where=name)
    contents = dict(files)
    contents["Chart.yaml"] = _stamped(files["Chart.yaml"].decode("utf-8", errors="replace"), version, app_version).encode()
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, filename="") as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for path in sorted(contents):
            entry = tarfile.TarInfo(f"{name}/{path}")
            entry.size = len(contents[path])
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(contents[path]))
    return buffer.getvalue()


def unpack(data: bytes, origin: str) -> dict[str, bytes]:
    """The files of a packaged chart, without the directory that all of them stand in. Refused when it is no chart archive."""
    files: dict[str, bytes] = {}
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as tar:
            for entry in tar:
                path = _relative(entry.name, origin)
                if not entry.isfile() or path is None:
                    continue
                total += entry.size
                if total > _UNPACKED_LIMIT:
                    raise Refused("unpacks to more than any chart", where=origin)
                handle = tar.extractfile(entry)
                files[path] = handle.read() if handle else b""
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise Refused(f"is no chart archive: {error}", where=origin) from error
    return files


def module_sum(path: Path, origin: str) -> str:
    """The ``h1:`` checksum of a Go module, as go.sum has it: dirhash Hash1, SHA-256 over names and SHA-256s of the files.

    ``path`` is the module's zip or the directory that it was unpacked to; ``origin`` is ``module@version``, the first part of
    every name.
    """
    return listing_sum(module_listing(path, origin))


def module_listing(path: Path, origin: str) -> str:
    """What a module's checksum is over: a line ``<sha256>  <name>`` for each of its files, sorted by name."""
    return "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in _module_entries(path, f"{origin}/"))


def listing_sum(listing: str) -> str:
    """The ``h1:`` checksum of the module that has this listing."""
    return "h1:" + base64.b64encode(hashlib.sha256(listing.encode()).digest()).decode()


def module_files(path: Path, origin: str, directory: str) -> dict[str, bytes]:
    """The files of one directory of a module, by their path below it."""
    prefix = f"{origin}/{directory.strip('/')}/"
    return {name.removeprefix(prefix): data for name, data in _module_entries(path, prefix)}


def _module_entries(path: Path, prefix: str) -> Iterator[tuple[str, bytes]]:
    """Files of a module whose names in its zip begin with ``prefix``, sorted by name."""
    if path.is_dir():
        module, _, rest = prefix.partition("@")
        version, _, below = rest.partition("/")
        root = f"{module}@{version}/"
        names = sorted(root + entry.relative_to(path).as_posix() for entry in (path / below).rglob("*") if entry.is_file())
        for name in names:
            yield name, (path / name.removeprefix(root)).read_bytes()
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.startswith(prefix) and not name.endswith("/"):
                    yield name, archive.read(name)
    except (zipfile.BadZipFile, OSError, zlib.error) as error:
        raise Refused(f"is no module zip: {error}", where=str(path)) from error


def _relative(name: str, origin: str) -> str | None:
    """The path without the chart's own directory. Paths that leave it are an attack or a mistake."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or ".." in parts:
        raise Refused(f"holds a path that leads out of the archive: {name!r}", where=origin)
    return "/".join(parts[1:]) if len(parts) > 1 else None


def _stamped(text: str, version: str, app_version: str) -> str:
    for field, value in (("version", version), ("appVersion", app_version)):
        line = f'{field}: "{value}"'
        text, count = re.subn(rf"(?m)^{field}:.*$", lambda _, line=line: line, text, count=1)  # type: ignore[misc]
        if not count:
            text = f"{text.rstrip()}\n{line}\n"
    return text

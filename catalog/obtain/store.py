"""A content-addressed store in the user's cache: bytes by their digest, and names that point at digests.

Safe to delete at any time, and shared by runs that go on at once: a blob is written whole or not at all, and is checked against
its digest every time it is read. A damaged one counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from base.files import write_atomic, write_json
from catalog.obtain.archive import sha256

__all__ = ["Store"]


class Store:
    """``directory`` is made when something is first written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def put(self, data: bytes) -> str:
        """Keep ``data``; returns its digest."""
        digest = sha256(data)
        path = self._blob(digest)
        if not path.exists():
            write_atomic(path, data)
        return digest

    def get(self, digest: str) -> bytes | None:
        """The bytes of a digest, or None when they are not here (or not these any more)."""
        path = self._blob(digest)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if sha256(data) != digest:
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        return data

    def name(self, key: str, value: dict[str, Any]) -> None:
        """Let ``key`` (any text) stand for ``value``."""
        write_json(self.path(key), {"key": key, **value})

    def named(self, key: str) -> dict[str, Any] | None:
        """What a key stands for; None when it stands for nothing, or its file is damaged."""
        try:
            value = json.loads(self.path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) and value.get("key") == key else None

    def _blob(self, digest: str) -> Path:
        return self._directory / "blobs" / digest.replace(":", "/")

    def path(self, key: str) -> Path:
        """The file that says what a key stands for."""
        return self._directory / "names" / f"{hashlib.sha256(key.encode()).hexdigest()}.json"

"""JSON Schemas of the catalogue's files, for editors. Made from the same shapes that read them, so that they cannot drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from catalog.read.format import ADDON, CHANNEL, EDGES, NOOPS, VERSION
from catalog.read.shape import Shape

__all__ = ["FILES", "schema"]

#: kind of file -> its shape, and where such files stand below ``catalog/`` (a pattern as editors take it).
FILES: Mapping[str, tuple[Shape, str]] = {
    "addon": (ADDON, "catalog/addons/*/addon.yaml"),
    "version": (VERSION, "catalog/addons/*/versions/*.yaml"),
    "edges": (EDGES, "catalog/addons/*/edges.yaml"),
    "noops": (NOOPS, "catalog/addons/*/noops.yaml"),
    "channel": (CHANNEL, "catalog/channels/*.yaml"),
}


def schema(kind: str) -> dict[str, Any]:
    """The JSON Schema (2020-12) of one kind of file; KeyError for a kind that is not in :data:`FILES`."""
    shape, _ = FILES[kind]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Chandlery: {kind} file", **shape.schema()}

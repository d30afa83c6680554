"""Classic Helm repositories: an ``index.yaml`` over HTTPS and the packaged charts that it names. Read without a login."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from base.errors import NotFound, Refused
from catalog.model import RepositorySource
from catalog.obtain.archive import sha256
from catalog.obtain.registry import same
from catalog.obtain.transport import Http, Patience, body, is_loopback

if TYPE_CHECKING:
    import httpx2

__all__ = ["pull_chart", "repository_has"]

#: The index of a large vendor has a few megabytes.
_INDEX_LIMIT = 32 * 1024 * 1024
_CHART_LIMIT = 64 * 1024 * 1024


def repository_has(source: RepositorySource) -> None:
    """Return when the repository's index names the chart at its version. One try. NotFound, Unavailable, Refused."""
    http = Http(Patience(total=0.0))
    try:
        _entry(http, source)
    finally:
        http.close()


def pull_chart(source: RepositorySource, *, patience: float = 60.0) -> bytes:
    """The chart's .tgz, which is what the index says and, where the source is pinned, what the pin says.

    Refused with both digests where they differ, NotFound and Unavailable when it cannot be had.
    """
    http = Http(Patience(total=patience))
    try:
        url, promised = _entry(http, source)
        same("chart archive (by the index)", source.digest, promised, url)
        data = _get(http, url, _CHART_LIMIT)
        same("chart archive", promised or source.digest, sha256(data), url)
        return data
    finally:
        http.close()


def _entry(http: Http, source: RepositorySource) -> tuple[str, str]:
    """Address of the .tgz, and its digest by the index (empty: the index says none)."""
    import httpx2

    place = f"{source.url.rstrip('/')}/index.yaml"
    for entry in _entries(_get(http, place, _INDEX_LIMIT), source.chart, place):
        if str(entry.get("version")).removeprefix("v") == source.version.removeprefix("v"):
            break
    else:
        raise NotFound(f"the repository has no {source.chart} {source.version}", where=place)
    urls = entry.get("urls")
    if not isinstance(urls, list) or not urls:
        raise Refused(f"the repository's index does not say where {source.chart} {source.version} lies", where=place)
    digest = str(entry.get("digest") or "").removeprefix("sha256:").lower()
    try:
        url = httpx2.URL(place).join(str(urls[0]))
    except httpx2.InvalidURL as error:
        raise Refused(f"the repository's index names no address: {str(urls[0])[:80]!r}", where=place) from error
    if url.scheme != "https" and not (url.scheme == "http" and is_loopback(url.netloc.decode())):
        raise Refused("the repository's index leads to plain HTTP beyond this machine", where=str(url)[:120])
    return str(url), f"sha256:{digest}" if digest else ""


def _entries(data: bytes, chart: str, where: str) -> list[Mapping[str, Any]]:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        raw = yaml.load(data, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise Refused("the repository's index is no YAML", where=where) from error
    entries = raw.get("entries") if isinstance(raw, dict) else None
    if not isinstance(entries, dict):
        raise Refused("is no index of a Helm repository", where=where)
    return [entry for entry in entries.get(chart) or [] if isinstance(entry, dict)]


def _get(http: Http, url: str, limit: int) -> bytes:
    def read(response: httpx2.Response) -> bytes:
        return body(response, limit, url)

    return http.send("GET", url, read, where=url)

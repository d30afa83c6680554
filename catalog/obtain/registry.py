"""Reading a chart out of an OCI registry (distribution API), anonymously, verified by digest, and given up within seconds."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2

from base.errors import ChandleryError, DeadlineExceeded, NotFound, Refused, Unavailable
from catalog.obtain.archive import sha256

__all__ = ["PulledChart", "Registry"]

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_SIZE_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PulledChart:
    """A chart archive as the registry has it, with the digests that it was found under."""

    archive: bytes
    manifest_digest: str
    archive_digest: str


class Registry:
    """``connect`` and ``read`` are seconds: how long to wait for a connection, and for the next bytes on one."""

    def __init__(self, *, connect: float = 3.0, read: float = 10.0) -> None:
        self._timeout = httpx2.Timeout(read, connect=connect)

    def probe(self, repository: str, tag: str) -> None:
        """Return when the registry has the tag.

        Unavailable when it cannot be reached or does not answer sensibly, NotFound when it has no such chart.
        """
        with self._client(repository) as client:
            _get(client, repository, f"manifests/{tag}", {"Accept": _MANIFEST}, method="HEAD")

    def pull(self, repository: str, tag: str, *, digest: str = "", archive_digest: str = "") -> PulledChart:
        """The chart under ``tag``, or under ``digest`` where that is known.

        Refused when the bytes have another digest than asked for; Unavailable and NotFound as for :meth:`probe`.
        """
        where = f"{repository}:{tag}"
        with self._client(repository) as client:
            manifest = _get(client, repository, f"manifests/{digest or tag}", {"Accept": _MANIFEST})
            found = sha256(manifest)
            _same("manifest", digest, found, where)
            layer = _chart_layer(manifest, where)
            _same("chart archive (by the manifest)", archive_digest, layer, where)
            archive = _get(client, repository, f"blobs/{layer}", {})
        _same("chart archive", layer, sha256(archive), where)
        return PulledChart(archive, found, layer)

    def _client(self, repository: str) -> httpx2.Client:
        host = repository.partition("/")[0]
        plain = is_loopback(host)
        # A proxy out of the environment would be asked for a registry on this very machine.
        return httpx2.Client(
            base_url=f"{'http' if plain else 'https'}://{host}",
            timeout=self._timeout,
            follow_redirects=True,
            trust_env=not plain,
        )


def is_loopback(host: str) -> bool:
    """Whether ``host[:port]`` is this machine, the only place where plain HTTP is spoken."""
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def _get(client: httpx2.Client, repository: str, path: str, headers: Mapping[str, str], *, method: str = "GET") -> bytes:
    host, _, name = repository.partition("/")
    url = f"/v2/{name}/{path}"
    where = f"{host}{url}"
    try:
        response = client.request(method, url, headers=dict(headers))
        if response.status_code == 401:
            token = _token(client, response.headers.get("www-authenticate", ""), where)
            response = client.request(method, url, headers={**headers, "Authorization": f"Bearer {token}"})
    except httpx2.TimeoutException as error:
        raise Unavailable("the registry does not answer in time", where=where) from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Unavailable(f"the registry cannot be reached: {error or type(error).__name__}", where=where) from error
    raise_for(response.status_code, where)
    if len(response.content) > _SIZE_LIMIT:
        raise Refused("is larger than any chart", where=where)
    return response.content


def raise_for(status: int, where: str) -> None:
    """The error that an HTTP status stands for; nothing for success."""
    if 200 <= status < 300:
        return
    errors: Mapping[int, ChandleryError] = {
        401: Unavailable("the registry wants a login", where=where),
        403: Unavailable("the registry refuses access", where=where),
        404: NotFound("the registry has no such chart", where=where),
        429: Unavailable("the registry is asked too often", where=where, todo="try again in a minute"),
        504: DeadlineExceeded("the registry's own backend does not answer", where=where),
    }
    raise errors.get(status, Unavailable(f"the registry answers with status {status}", where=where))


def _token(client: httpx2.Client, challenge: str, where: str) -> str:
    """An anonymous token from the service that the registry names (distribution token authentication)."""
    fields = dict(_CHALLENGE.findall(challenge))
    if not challenge.lower().startswith("bearer") or "realm" not in fields:
        raise Unavailable("the registry wants a login", where=where)
    query = {key: fields[key] for key in ("service", "scope") if key in fields}
    answer = client.get(fields["realm"], params=query)
    raise_for(answer.status_code, fields["realm"])
    try:
        body = answer.json()
        return str(body.get("token") or body["access_token"])
    except (ValueError, KeyError, AttributeError) as error:
        raise Unavailable("the registry's token service gives no token", where=fields["realm"]) from error


def _chart_layer(manifest: bytes, where: str) -> str:
    """Digest of the layer that is the chart's .tgz (Helm's media types)."""
    try:
        layers: list[dict[str, Any]] = json.loads(manifest)["layers"]
        found = [str(layer["digest"]) for layer in layers if layer["mediaType"] == _CHART_LAYER]
    except (ValueError, KeyError, TypeError) as error:
        raise Refused("is no chart: its manifest cannot be read", where=where) from error
    if len(found) != 1:
        raise Refused(f"is no chart: its manifest has {len(found)} layers of {_CHART_LAYER}", where=where)
    return found[0]


def _same(what: str, wanted: str, found: str, where: str) -> None:
    if wanted and wanted != found:
        raise Refused(f"{what} has digest {found}, pinned is {wanted}", where=where, todo="do not use it; ask who changed it")

"""Charts and images out of OCI registries (distribution API): mirrors first, with the user's logins, every byte verified."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from base.errors import ChandleryError, DeadlineExceeded, NotFound, Refused, Unavailable
from base.files import room_errors
from catalog.obtain.archive import sha256
from catalog.obtain.credentials import Logins, docker_config
from catalog.obtain.media import ACCEPT, Descriptor, Manifest, chart_layer, is_digest, media_type_of
from catalog.obtain.mirrors import Mirrors, mirrors_file
from catalog.obtain.tokens import Tokens
from catalog.obtain.transport import Http, Patience, Trouble, body, is_loopback, raise_for, scheme

if TYPE_CHECKING:
    import httpx2

__all__ = ["Connection", "PulledChart", "Registry", "is_loopback", "same"]

T = TypeVar("T")

#: The distribution specification lets a registry refuse manifests beyond 4 MiB.
_MANIFEST_LIMIT = 4 * 1024 * 1024
_CHART_LIMIT = 64 * 1024 * 1024
_CHUNK = 256 * 1024


@dataclass(frozen=True, slots=True)
class PulledChart:
    """A chart archive as the registry has it, with the digests that it was found under."""

    archive: bytes
    manifest_digest: str
    archive_digest: str


class Registry:
    """How registries are read. Without ``logins`` anonymously, without ``mirrors`` at their own address.

    ``connect``, ``read`` and ``patience`` are seconds: for a connection, for the next bytes on one, and for failures in a row
    until it is given up.
    """

    def __init__(
        self,
        *,
        connect: float = 3.0,
        read: float = 10.0,
        patience: float = 60.0,
        logins: Logins | None = None,
        mirrors: Mirrors | None = None,
    ) -> None:
        self._patience = Patience(connect, read, patience)
        self._logins = logins or Logins(None)
        self._mirrors = mirrors or Mirrors()

    @classmethod
    def of_user(cls) -> Registry:
        """With the login and the mirrors of whoever runs this. Their files are read when a registry is first asked."""
        return cls(logins=Logins(docker_config()), mirrors=Mirrors(mirrors_file()))

    @contextmanager
    def connection(self, *, hasty: bool = False) -> Iterator[Connection]:
        """A run of requests that share connections and tokens, for any number of threads. ``hasty``: no second try."""
        patience = Patience(self._patience.connect, self._patience.read, 0.0) if hasty else self._patience
        http = Http(patience)
        try:
            yield Connection(http, self._logins, self._mirrors)
        finally:
            http.close()

    def probe(self, repository: str, tag: str) -> None:
        """Return when the registry has the tag. No second try, so it answers within seconds.

        Unavailable when it cannot be reached or does not answer sensibly, NotFound when it has no such chart.
        """
        with self.connection(hasty=True) as connection:
            connection.probe(repository, tag)

    def pull(self, repository: str, tag: str, *, digest: str = "", archive_digest: str = "") -> PulledChart:
        """The chart under ``tag``, or under ``digest`` where that is known.

        Refused when the bytes have another digest than asked for; Unavailable and NotFound as for :meth:`probe`.
        """
        where = f"{repository}:{tag}"
        with self.connection() as connection:
            manifest = connection.manifest(repository, digest or tag)
            layer = chart_layer(manifest, where)
            same("chart archive (by the manifest)", archive_digest, layer.digest, where)
            if layer.size > _CHART_LIMIT:
                raise Refused("is larger than any chart", where=where)
            return PulledChart(connection.blob(repository, layer), manifest.digest, layer.digest)


class Connection:
    """Manifests and blobs of ``host/repository`` names, each from the first place that has it."""

    def __init__(self, http: Http, logins: Logins, mirrors: Mirrors) -> None:
        self._http = http
        self._mirrors = mirrors
        self._tokens = Tokens(http, logins)

    def stop(self) -> None:
        """Let no thread begin another try."""
        self._http.stop.set()

    def probe(self, name: str, reference: str) -> None:
        """Return when a place has the tag or digest."""
        self._first(name, lambda place: self._ask(place, f"manifests/{reference}", lambda _: None, method="HEAD"))

    def manifest(self, name: str, reference: str) -> Manifest:
        """The manifest or index under a tag or a digest, verified where it is a digest. NotFound, Unavailable, Refused."""

        def get(place: str) -> Manifest:
            where = _where(place, f"manifests/{reference}")

            def read(response: httpx2.Response) -> Manifest:
                data = body(response, _MANIFEST_LIMIT, where)
                said = response.headers.get("content-length", "")
                if said.isdigit() and int(said) > len(data):
                    raise Trouble(f"ends after {len(data)} of {said} bytes", progress=False)
                found = sha256(data)
                same("manifest", reference if is_digest(reference) else "", found, where)
                promised = response.headers.get("docker-content-digest", "")
                if is_digest(promised) and promised != found:
                    raise Refused(f"manifest has digest {found}, the registry says {promised}", where=where)
                return Manifest(data, found, media_type_of(data, where, response.headers.get("content-type", "")))

            return self._ask(place, f"manifests/{reference}", read)

        return self._first(name, get)

    def blob(self, name: str, descriptor: Descriptor) -> bytes:
        """A small blob, verified."""
        buffer = BytesIO()
        self._first(name, lambda place: self._download(place, descriptor, buffer, _quiet))
        return buffer.getvalue()

    def download(self, name: str, descriptor: Descriptor, file: Path, note: Callable[[int], None] | None = None) -> None:
        """A blob into ``file``, verified. What is in the file already is kept and gone on from, in this run or a later one.

        ``note`` is told of every piece, in bytes. The file is not whole before this returns.
        """

        def got(size: int) -> None:
            if self._http.stop.is_set():
                raise Unavailable("the run was ended", where=name)
            if note is not None:
                note(size)

        with room_errors(file), file.open("r+b" if file.exists() else "w+b") as stream:
            self._first(name, lambda place: self._download(place, descriptor, stream, got))

    def _first(self, name: str, get: Callable[[str], T]) -> T:
        """From the mirrors in their order, then from the registry itself."""
        failures: list[ChandleryError] = []
        for place in self._mirrors.places(name):
            try:
                return get(place)
            except (NotFound, Unavailable, DeadlineExceeded) as failure:
                failures.append(failure)
        if len(failures) == 1:
            raise failures[0]
        kind = NotFound if all(isinstance(one, NotFound) for one in failures) else Unavailable
        raise kind("; ".join(f"{one.where}: {one.message}" for one in failures), where=name, todo=failures[-1].todo)

    def _ask(
        self, place: str, path: str, read: Callable[[httpx2.Response], T], *, method: str = "GET", more: Callable[[], str] = str
    ) -> T:
        """One question to one place, with the login that it asks for. ``more`` is the ``Range`` to ask for."""
        host, _, repository = place.partition("/")
        where = _where(place, path)
        url = f"{scheme(_host(host))}://{_host(host)}/v2/{repository}/{path}"
        sent: dict[str, str] = {}

        def headers() -> dict[str, str]:
            nonlocal sent
            wanted = more()
            sent = {**self._tokens.header(host, repository), "Accept": ACCEPT if path.startswith("manifests") else "*/*"}
            return {**sent, "Range": wanted} if wanted else sent

        def answered(response: httpx2.Response) -> tuple[str, T | None]:
            if response.status_code == 401:
                return response.headers.get("www-authenticate", "") or "none", None
            return "", read(response)

        for _ in range(3):  # once without, once with, once more where a token ran out in between
            challenge, found = self._http.send(method, url, answered, where=where, headers=headers)
            if not challenge:
                return found  # type: ignore[return-value]
            self._tokens.answer(host, repository, challenge, sent.get("Authorization", ""), where)
        raise Unavailable("the registry does not take the token that it gave", where=where)

    def _download(self, place: str, wanted: Descriptor, stream: BinaryIO, note: Callable[[int], None]) -> None:
        where = _where(place, f"blobs/{wanted.digest}")
        state = _Part(stream, wanted.size)
        if state.offset < wanted.size or not wanted.size:
            self._ask(
                place,
                f"blobs/{wanted.digest}",
                lambda response: state.take(response, where, note),
                more=lambda: f"bytes={state.offset}-" if state.offset else "",
            )
        if state.digest() != wanted.digest and state.resumed:
            # What was there before may have been damaged; once from the beginning shows whether the source is.
            state.restart()
            self._ask(place, f"blobs/{wanted.digest}", lambda response: state.take(response, where, note))
        found = state.digest()
        if found != wanted.digest:
            state.restart()
            same("blob", wanted.digest, found, where)


class _Part:
    """A blob of which the first ``offset`` bytes are there."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self._size = size
        self._hash = hashlib.sha256()
        stream.seek(0)
        self.offset = 0
        while chunk := stream.read(_CHUNK):
            self._hash.update(chunk)
            self.offset += len(chunk)
        self.resumed = self.offset > 0
        self._best = self.offset
        if self.offset > size:
            self.restart()

    def restart(self) -> None:
        self._stream.seek(0)
        self._stream.truncate()
        self._hash = hashlib.sha256()
        self.offset, self.resumed = 0, False

    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def take(self, response: httpx2.Response, where: str, note: Callable[[int], None]) -> None:
        """Append what the response brings. Trouble when it ends too early, Refused when it brings more than the blob has."""
        import httpx2

        if response.status_code == 416:
            self.restart()
            raise Trouble("does not go on where it broke off", progress=False)
        if self.offset and not self._continues(response):
            self.restart()
        raise_for(response.status_code, where)
        cause = ""
        try:
            for chunk in response.iter_raw():  # as they come: pieces of a size of their own would be lost where it breaks off
                if self.offset + len(chunk) > self._size:
                    self.restart()
                    raise Refused(f"blob has more than the {self._size} bytes that its manifest says", where=where)
                self._stream.write(chunk)
                self._hash.update(chunk)
                self.offset += len(chunk)
                note(len(chunk))
        except httpx2.HTTPError as error:
            cause = f": {error}" if str(error) else ""
        self._stream.flush()
        if self.offset < self._size:
            progress, self._best = self.offset > self._best, max(self._best, self.offset)
            raise Trouble(f"ends after {self.offset} of {self._size} bytes{cause}", progress=progress)

    def _continues(self, response: httpx2.Response) -> bool:
        return response.status_code == 206 and response.headers.get("content-range", "").startswith(f"bytes {self.offset}-")


def same(what: str, wanted: str, found: str, where: str) -> None:
    """Refused, with both, where two digests differ; an empty one is not known."""
    if wanted and wanted != found:
        raise Refused(f"{what} has digest {found}, pinned is {wanted}", where=where, todo="do not use it; ask who changed it")


def _where(place: str, path: str) -> str:
    host, _, repository = place.partition("/")
    return f"{host}/v2/{repository}/{path}"


def _host(name: str) -> str:
    """Docker Hub serves its registry under another name."""
    return "registry-1.docker.io" if name in ("docker.io", "index.docker.io") else name


def _quiet(_: int) -> None:
    pass

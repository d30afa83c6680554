"""HTTP as registries need it: bounded in size and time, tried again where that helps, and never plain beyond this machine.

Tried again are 429 (after ``Retry-After`` where the server names one), 5xx, and answers that break off; not a connection that
nobody takes. The waits grow by two, and all of it has one deadline, which starts anew whenever bytes arrive.
"""

from __future__ import annotations

import email.utils
import ipaddress
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from base.deadlines import Deadline
from base.errors import ChandleryError, DeadlineExceeded, NotFound, Refused, Unavailable

if TYPE_CHECKING:
    import httpx2

__all__ = ["Http", "Patience", "Trouble", "body", "is_loopback", "raise_for", "scheme"]

T = TypeVar("T")

#: Answers after which the same question may get another one.
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_CHUNK = 256 * 1024
#: However much progress there is, a connection that breaks this often is not worth another try.
_MOST_TRIES = 100


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. ``connect``: for a connection; ``read``: for the next bytes on one; ``total``: for failures in a row, all tries
    and waits together (0: no second try); ``first`` and ``longest`` bound the wait between tries."""

    connect: float = 3.0
    read: float = 10.0
    total: float = 60.0
    first: float = 0.5
    longest: float = 8.0


class Trouble(Exception):
    """Raised by whoever reads a response that is not whole: to be asked for again. ``progress``: something was gained."""

    def __init__(self, message: str, *, progress: bool) -> None:
        super().__init__(message)
        self.message = message
        self.progress = progress


class Http:
    """Two clients, one for this machine and one for the rest, used by any number of threads. Close it."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.stop = threading.Event()
        self._lock = threading.Lock()
        self._clients: dict[bool, httpx2.Client] = {}

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def send(
        self,
        method: str,
        url: str,
        read: Callable[[httpx2.Response], T],
        *,
        where: str,
        headers: Callable[[], Mapping[str, str]] = dict,
        data: Mapping[str, str] | None = None,
    ) -> T:
        """What ``read`` makes of the response to the first try that succeeds.

        ``headers`` is asked before every try; ``read`` is given 2xx, 206, 401 and 416 and raises :class:`Trouble` for what is
        broken off. Errors name ``where``. Unavailable, NotFound, DeadlineExceeded, Refused.
        """
        import httpx2

        deadline, wait, failure = Deadline.after(self.patience.total), self.patience.first, ""
        for attempt in range(_MOST_TRIES):
            told = 0.0
            try:
                with self._client(url).stream(method, url, headers=dict(headers()), data=data) as response:
                    status = response.status_code
                    if status not in _AGAIN:
                        if status not in (401, 416):
                            raise_for(status, where)
                        return read(response)
                    failure, told = "", _retry_after(response.headers.get("retry-after", ""))
            except Trouble as trouble:
                status, failure = 0, trouble.message
                if trouble.progress:
                    deadline, wait = Deadline.after(self.patience.total), self.patience.first
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
                late = isinstance(error, httpx2.ConnectTimeout)
                text = "does not answer in time" if late else f"cannot be reached: {error or type(error).__name__}"
                raise Unavailable(f"the registry {text}", where=where) from error
            except httpx2.TimeoutException:
                status, failure = 0, "does not answer in time"
            except httpx2.HTTPError as error:
                status, failure = 0, f"breaks off: {error or type(error).__name__}"
            pause = told or min(wait, self.patience.longest) * random.uniform(0.5, 1.0)
            wait *= 2
            if attempt + 1 == _MOST_TRIES or pause >= deadline.remaining():
                break
            if self.stop.wait(pause):
                raise Unavailable("the run was ended", where=where)
        if failure:
            raise Unavailable(f"the registry {failure}", where=where)
        raise_for(status, where, told)
        raise AssertionError("a failed request has a reason")

    def _client(self, url: str) -> httpx2.Client:
        import httpx2

        with self._lock:
            plain = is_loopback(httpx2.URL(url).netloc.decode())
            if plain not in self._clients:
                self._clients[plain] = httpx2.Client(
                    timeout=httpx2.Timeout(self.patience.read, connect=self.patience.connect),
                    follow_redirects=True,
                    # A proxy out of the environment would be asked for a registry on this very machine.
                    trust_env=not plain,
                    # Bytes as they are stored: what is checked is what was sent.
                    headers={"Accept-Encoding": "identity", "User-Agent": "chandlery"},
                    event_hooks={"request": [_loopback_only if plain else _secure_only]},
                )
            return self._clients[plain]


def body(response: httpx2.Response, limit: int, where: str) -> bytes:
    """The whole body. Refused beyond ``limit`` bytes; what the server did not finish is asked for again."""
    parts, total = [], 0
    for chunk in response.iter_bytes(_CHUNK):
        total += len(chunk)
        if total > limit:
            raise Refused(f"is larger than {limit} bytes, which none of its kind is", where=where)
        parts.append(chunk)
    return b"".join(parts)


def scheme(host: str) -> str:
    """``http`` for this machine, ``https`` for every other."""
    return "http" if is_loopback(host) else "https"


def is_loopback(host: str) -> bool:
    """Whether ``host[:port]`` is this machine, the only place where plain HTTP is spoken."""
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def raise_for(status: int, where: str, wait: float = 0.0) -> None:
    """The error that an HTTP status stands for; nothing for success. ``wait`` is how long the server wants to be left alone."""
    if 200 <= status < 300:
        return
    again = f"try again in {wait:.0f} s" if wait else "try again in a minute"
    errors: Mapping[int, ChandleryError] = {
        401: Unavailable("the registry wants a login", where=where),
        403: Unavailable("the registry refuses access", where=where),
        404: NotFound("the registry does not have it", where=where),
        429: Unavailable("the registry is asked too often", where=where, todo=again),
        504: DeadlineExceeded("the registry's own backend does not answer", where=where),
    }
    raise errors.get(status, Unavailable(f"the registry answers with status {status}", where=where))


def _secure_only(request: httpx2.Request) -> None:
    """Also asked for every redirect: nobody beyond this machine gets us to speak in the clear."""
    if request.url.scheme != "https":
        host = request.url.host
        raise Refused("plain HTTP is only spoken with this machine", where=host, todo="the registry has to offer HTTPS")


def _loopback_only(request: httpx2.Request) -> None:
    if request.url.scheme != "https" and not is_loopback(request.url.netloc.decode()):
        raise Refused("plain HTTP is only spoken with this machine", where=request.url.host)


def _retry_after(text: str) -> float:
    """Seconds out of ``Retry-After`` (RFC 9110, 10.2.3: a number or a date); 0 where it says nothing of use."""
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return 0.0

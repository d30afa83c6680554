"""What a registry wants before it answers: nothing, a password, or a token from a service that it names.

Distribution's token authentication (distribution.github.io/distribution/spec/auth): the token for a repository is asked for once
and used until the registry refuses it.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping

from base.errors import ChandleryError, NotFound, Unavailable
from catalog.obtain.credentials import Login, Logins
from catalog.obtain.transport import Http, body, is_loopback, raise_for

__all__ = ["Tokens"]

_FIELD = re.compile(r'(\w+)="([^"]*)"')
_LIMIT = 1024 * 1024


class Tokens:
    """The ``Authorization`` of each repository of one run, shared by its threads."""

    def __init__(self, http: Http, logins: Logins) -> None:
        self._http = http
        self._logins = logins
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], str] = {}

    def header(self, host: str, repository: str) -> Mapping[str, str]:
        """What to send; nothing before the registry has asked for it."""
        known = self._known.get((host, repository), "")
        return {"Authorization": known} if known else {}

    def answer(self, host: str, repository: str, challenge: str, sent: str, where: str) -> None:
        """Get what ``challenge`` (``WWW-Authenticate``) asks for; ``sent`` is what was refused just now.

        Unavailable when there is no login, or when it is not taken.
        """
        with self._lock:
            known = self._known.get((host, repository), "")
            if known and known != sent:  # another thread has just got it
                return
            login, reason = self._logins.find(host)
            method = challenge.partition(" ")[0].lower()
            if method == "basic":
                made = login.basic() if login and login.username else ""
            elif method == "bearer":
                made = f"Bearer {self._token(host, dict(_FIELD.findall(challenge)), repository, login, reason, where)}"
            else:
                raise Unavailable(
                    f"the registry wants a login of a kind that is unknown here ({method[:20] or 'none'})", where=where
                )
            # A token may have expired, and then the new one differs; a password stays what it was.
            if not made or made == sent:
                raise _no_login(login, reason, where, host)
            self._known[host, repository] = made

    def _token(self, host: str, fields: Mapping[str, str], repository: str, login: Login | None, reason: str, where: str) -> str:
        realm = fields.get("realm", "")
        service = realm.partition("://")[2].partition("/")[0]
        if not service:
            raise Unavailable("the registry names no token service", where=where)
        if is_loopback(service) and not is_loopback(host):
            raise Unavailable("the registry wants its login sent to a port of this machine", where=where)
        query = {"service": fields.get("service", ""), "scope": fields.get("scope") or f"repository:{repository}:pull"}
        query = {key: value for key, value in query.items() if value}
        try:
            if login and login.identity_token:
                form = {**query, "grant_type": "refresh_token", "client_id": "chandlery", "refresh_token": login.identity_token}
                found = self._ask("POST", realm, {}, form)
            else:
                found = self._ask("GET", _with_query(realm, query), {"Authorization": login.basic()} if login else {}, None)
        except (Unavailable, NotFound) as error:
            raise Unavailable(
                f"the registry's token service gives no token: {error.message}{_because(login, reason)}", where=_service(realm)
            ) from error
        token = found.get("token") or found.get("access_token")
        if not isinstance(token, str) or not token.isprintable() or not token.isascii():
            raise Unavailable("the registry's token service gives no token", where=_service(realm))
        return token

    def _ask(self, method: str, url: str, headers: Mapping[str, str], form: Mapping[str, str] | None) -> Mapping[str, object]:
        import httpx2

        where = _service(url)

        def read(response: httpx2.Response) -> bytes:
            raise_for(response.status_code, where)
            return body(response, _LIMIT, where)

        try:
            found = json.loads(self._http.send(method, url, read, where=where, headers=lambda: headers, data=form))
        except (ValueError, RecursionError):
            found = None
        return found if isinstance(found, dict) else {}


def _no_login(login: Login | None, reason: str, where: str, host: str) -> ChandleryError:
    if login is not None:
        return Unavailable(f"the registry does not take the login of {login.source}", where=where, todo=f"docker login {host}")
    return Unavailable(f"the registry wants a login{_because(None, reason)}", where=where, todo=f"docker login {host}")


def _because(login: Login | None, reason: str) -> str:
    if login is not None:
        return f" (with the login of {login.source})"
    return f" ({reason})" if reason else ""


def _service(url: str) -> str:
    """A token service without its query."""
    return url.partition("?")[0]


def _with_query(realm: str, query: Mapping[str, str]) -> str:
    import httpx2

    try:
        url = httpx2.URL(realm)
    except httpx2.InvalidURL as error:
        raise Unavailable("the registry names a token service that is no address", where=realm[:80]) from error
    return str(url.copy_merge_params(dict(query)))

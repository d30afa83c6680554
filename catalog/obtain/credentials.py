"""Logins for registries out of the user's Docker configuration, read when a registry asks for one.

The rules are Docker's own (docs.docker.com/reference/cli/docker/login): a credential helper named for the registry comes first,
then the credential store, then what stands in the file. No secret is ever part of a message or of a ``repr``.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from base.errors import InvalidInput

__all__ = ["Login", "Logins", "docker_config"]

#: Seconds for a helper to answer; one that asks its user for something has no terminal to do so.
HELPER_SECONDS = 10.0
#: Docker Hub is called by several names, and its login is kept under the oldest.
_HUB = ("docker.io", "index.docker.io", "registry-1.docker.io")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")
#: The user name by which helpers say that the secret is an identity token (docker-credential-helpers).
_TOKEN_USER = "<token>"


@dataclass(frozen=True, slots=True)
class Login:
    """A user with a password, or an identity token to be traded for an access token. ``source`` says where it stood."""

    source: str
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    identity_token: str = field(default="", repr=False)

    def basic(self) -> str:
        """The value of an ``Authorization`` header."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


def docker_config() -> Path:
    """``config.json`` in ``$DOCKER_CONFIG``, else in ``~/.docker``."""
    named = os.environ.get("DOCKER_CONFIG")
    return (Path(named).expanduser() if named else Path.home() / ".docker") / "config.json"


class Logins:
    """The logins of one Docker configuration. ``file`` None means that there are none."""

    def __init__(self, file: Path | None, *, seconds: float = HELPER_SECONDS) -> None:
        self._file = file
        self._seconds = seconds
        self._lock = threading.Lock()
        self._found: dict[str, tuple[Login | None, str]] = {}

    def find(self, host: str) -> tuple[Login | None, str]:
        """The login for a registry (``host[:port]``), or None and why there is none (empty: nobody has logged in).

        InvalidInput when the file is damaged. A helper is asked once.
        """
        with self._lock:
            if host not in self._found:
                self._found[host] = self._look(host)
            return self._found[host]

    def _look(self, host: str) -> tuple[Login | None, str]:
        raw = self._read()
        keys = _keys(host)
        helpers, auths = _table(raw, "credHelpers"), _table(raw, "auths")
        named = next((str(helpers[key]) for key in keys if helpers.get(key)), "") or str(raw.get("credsStore") or "")
        login, reason = self._ask(named, keys) if named else (None, "")
        if login is not None:
            return login, ""
        for key in keys:
            if isinstance(auths.get(key), dict):
                stored = self._stored(auths[key], key)
                if stored is not None:
                    return stored, ""
        return None, reason

    def _read(self) -> Mapping[str, Any]:
        if self._file is None:
            return {}
        try:
            raw = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InvalidInput(f"the Docker configuration cannot be read: {error.strerror}", where=str(self._file)) from error
        except (ValueError, RecursionError):
            raise InvalidInput("the Docker configuration is no JSON", where=str(self._file), todo="log in again") from None
        if not isinstance(raw, dict):
            raise InvalidInput("the Docker configuration is no JSON object", where=str(self._file), todo="log in again")
        return raw

    def _stored(self, entry: Mapping[str, Any], key: str) -> Login | None:
        where = str(self._file)
        token = entry.get("identitytoken")
        user, password = entry.get("username"), entry.get("password")
        if entry.get("auth"):
            try:
                text = base64.b64decode(str(entry["auth"]), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError, ValueError):
                text = ""
            user, colon, password = text.rstrip("\0").partition(":")
            if not colon:
                raise InvalidInput(f"auths.{key}.auth is no user and password in base64", where=where, todo="log in again")
        if token:
            return Login(where, str(user or ""), "", str(token))
        return Login(where, str(user), str(password)) if user and password else None

    def _ask(self, name: str, keys: tuple[str, ...]) -> tuple[Login | None, str]:
        """What ``docker-credential-NAME get`` says, for the first of the keys that it knows."""
        program = f"docker-credential-{name}"
        if not _NAME.match(name):
            return None, f"the Docker configuration names a credential helper {name[:40]!r}"
        for key in keys:
            try:
                code, out = _run([program, "get"], key.encode(), self._seconds)
            except subprocess.TimeoutExpired:
                return None, f"{program} did not answer within {self._seconds:g} s"
            except OSError as error:
                return None, f"{program} cannot be run: {error.strerror}"
            with contextlib.suppress(ValueError, RecursionError):
                raw = json.loads(out)
                if code == 0 and isinstance(raw, dict) and raw.get("Secret"):
                    user, secret = str(raw.get("Username") or ""), str(raw["Secret"])
                    return Login(program, "", "", secret) if user == _TOKEN_USER else Login(program, user, secret), ""
            if code == 0:
                return None, f"{program} answers with something else than a login"
            if b"credentials not found" not in out:
                return None, f"{program} fails with exit code {code}"
        return None, ""


def _table(raw: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = raw.get(name)
    return found if isinstance(found, dict) else {}


def _run(command: list[str], given: bytes, seconds: float) -> tuple[int, bytes]:
    """Exit code and output. What the helper started ends with it, so that none of it outlives a timeout."""
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    with child:
        try:
            out, _ = child.communicate(given, timeout=seconds)
        except BaseException:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.kill()
            raise
    return child.returncode, out


def _keys(host: str) -> tuple[str, ...]:
    """The names under which a login for ``host`` may be kept, the one in use today first."""
    if host in _HUB:
        return ("https://index.docker.io/v1/", *_HUB)
    return (host, f"https://{host}", f"https://{host}/", f"https://{host}/v1/", f"https://{host}/v2/", f"http://{host}")

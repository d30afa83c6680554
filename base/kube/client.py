"""REST calls against one cluster. lightkube reads the kubeconfig and authenticates; paths and errors are ours.

Every call has a time limit, 429 and 5xx answers of idempotent calls are tried again a few times as the server asks,
and every refusal carries the server's reason.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2
from lightkube.config import client_adapter
from lightkube.config.client_adapter import ConnectionParams
from lightkube.config.kubeconfig import KubeConfig
from lightkube.core.exceptions import ConfigError
from yaml import YAMLError

from base.errors import ChandleryError, InvalidInput, NotFound, Unavailable
from base.kube.kinds import NAMESPACE, POD, SERVICE_ACCOUNT, Kind

Object = dict[str, Any]

_RETRIED = {429, 500, 502, 503, 504}
_TRIES = 4
_PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


class Refusal(ChandleryError):
    """The API server said no. ``status`` is the HTTP status, ``reason`` the server's word (AlreadyExists, Conflict ...)."""

    def __init__(self, status: int, reason: str, message: str, *, where: str = "") -> None:
        super().__init__(message, where=where)
        self.status = status
        self.reason = reason


class Cluster:
    """One cluster through one credential. Safe to use from several threads."""

    def __init__(self, kubeconfig: Path, *, context: str | None = None, timeout: float = 15.0) -> None:
        self.kubeconfig = kubeconfig
        try:
            config = KubeConfig.from_file(kubeconfig).get(context_name=context)
        except (ConfigError, OSError, YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidInput("the kubeconfig cannot be read", where=str(kubeconfig), todo=str(error)) from error
        if config is None or config.user is None:
            raise InvalidInput(f"no usable context {context or '(current)'}", where=str(kubeconfig))
        self.server = str(config.cluster.server)
        limits = httpx2.Timeout(timeout, connect=5.0)
        self._http = client_adapter.Client(config, ConnectionParams(timeout=limits, trust_env=False))

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # -- objects ------------------------------------------------------------------------------------------------

    def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """The object, or NotFound."""
        return self.request("GET", kind.path(namespace, name))

    def find(self, kind: Kind, name: str, namespace: str | None = None) -> Object | None:
        """The object, or None where it (or its kind) does not exist."""
        try:
            return self.get(kind, name, namespace)
        except NotFound:
            return None

    def list(self, kind: Kind, namespace: str | None = None, *, labels: str = "", fields: str = "") -> tuple[list[Object], str]:
        """All matching objects (apiVersion and kind filled in) and the list's resourceVersion, for a watch from there."""
        params = {"limit": "500"}
        if labels:
            params["labelSelector"] = labels
        if fields:
            params["fieldSelector"] = fields
        items: list[Object] = []
        while True:
            page = self.request("GET", kind.path(namespace), params=params)
            for item in page.get("items") or ():
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.kind)
                items.append(item)
            token = page["metadata"].get("continue")
            if not token:
                return items, page["metadata"].get("resourceVersion", "")
            params["continue"] = token

    def create(self, kind: Kind, obj: Mapping[str, Any], *, subresource: str | None = None) -> Object:
        """POST. With a subresource (``binding``, ``eviction``, ``token``) the name comes from the object's metadata."""
        meta = obj.get("metadata", {})
        name = meta.get("name") if subresource else None
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        return self.request("POST", kind.path(meta.get("namespace"), name, subresource), body=body, repeat=False)

    def apply(self, kind: Kind, obj: Mapping[str, Any], *, manager: str, force: bool = True) -> Object:
        """Server-side apply under a field manager; makes the object or takes over just the fields given."""
        meta = obj["metadata"]
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
        params = {"fieldManager": manager, "force": "true" if force else "false"}
        return self.request("PATCH", kind.path(meta.get("namespace"), meta["name"]), body=body, params=params, patch="apply")

    def patch(
        self,
        kind: Kind,
        name: str,
        body: Any,
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        how: str = "merge",
    ) -> Object:
        """PATCH with ``how`` of merge, json or strategic."""
        return self.request("PATCH", kind.path(namespace, name, subresource), body=body, patch=how)

    def replace(self, kind: Kind, obj: Mapping[str, Any], *, subresource: str | None = None) -> Object:
        """PUT; the object's resourceVersion is the precondition."""
        meta = obj["metadata"]
        return self.request("PUT", kind.path(meta.get("namespace"), meta["name"], subresource), body=obj)

    def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str | None = None,
        *,
        grace: int | None = None,
        propagation: str | None = None,
        uid: str | None = None,
    ) -> bool:
        """Delete; False where it was gone already. ``uid`` makes sure that it is still the same object."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if propagation:
            options["propagationPolicy"] = propagation
        if uid:
            options["preconditions"] = {"uid": uid}
        try:
            self.request("DELETE", kind.path(namespace, name), body=options)
        except NotFound:
            return False
        return True

    # -- the odd ones -------------------------------------------------------------------------------------------

    def bind(self, namespace: str, pod: str, node: str, *, uid: str = "") -> None:
        """Bind a pod to a node through the binding subresource. ``uid`` makes sure that it is still the same pod."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        meta = {"name": pod, "namespace": namespace} | ({"uid": uid} if uid else {})
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
        self.request("POST", POD.path(namespace, pod, "binding"), body=body, repeat=False)

    def token(self, namespace: str, service_account: str, *, seconds: int = 86400) -> str:
        """A bound token of a ServiceAccount."""
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": seconds}}
        answer = self.request("POST", SERVICE_ACCOUNT.path(namespace, service_account, "token"), body=body)
        return str(answer["status"]["token"])

    def version(self) -> str:
        """Server version, e.g. ``v1.36.3``."""
        return str(self.request("GET", "/version")["gitVersion"])

    def uid(self) -> str:
        """UID of the kube-system namespace: the cluster's identity, which no re-created cluster shares."""
        return str(self.get(NAMESPACE, "kube-system")["metadata"]["uid"])

    def discover(self, api_version: str, kind: str) -> Kind:
        """Look a kind up in the server's discovery document; NotFound where it is not served."""
        root = "/api/v1" if api_version == "v1" else f"/apis/{api_version}"
        for resource in self.request("GET", root).get("resources", ()):
            if resource["kind"] == kind and "/" not in resource["name"]:
                return Kind(api_version, kind, resource["name"], bool(resource["namespaced"]))
        raise NotFound(f"{kind} is not served in {api_version}", where=self.server)

    # -- transport ----------------------------------------------------------------------------------------------

    def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, str] | None = None,
        patch: str = "",
        repeat: bool = True,
    ) -> Object:
        """One call. ``repeat`` False marks a call that must not be sent twice (a POST that may have taken effect)."""
        headers = {"Content-Type": _PATCH_TYPES[patch]} if patch else None
        for attempt in range(1, _TRIES + 1):
            last = attempt == _TRIES
            try:
                answer = self._http.request(method, path, json=body, params=dict(params or {}), headers=headers)
            except (httpx2.TransportError, ConfigError) as error:
                connected = not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout, ConfigError))
                if last or (connected and not repeat) or isinstance(error, ConfigError):
                    raise Unavailable(
                        f"the API server does not answer ({type(error).__name__}: {error})",
                        where=self.server,
                        todo="see whether the cluster runs and the kubeconfig points at it",
                    ) from error
                time.sleep(0.1 * 2**attempt)
                continue
            if answer.status_code in _RETRIED and not last and (repeat or answer.status_code == 429):
                time.sleep(min(5.0, float(answer.headers.get("Retry-After") or 0.1 * 2**attempt)))
                continue
            break
        if answer.is_success:
            return dict(answer.json())
        raise _refusal(answer, f"{method} {path}")

    def stream(self, path: str, params: Mapping[str, str], read_timeout: float) -> Any:
        """A streaming GET, for :mod:`base.kube.watch` alone."""
        limits = httpx2.Timeout(read_timeout, connect=5.0)
        return self._http.stream("GET", path, params=dict(params), timeout=limits)


def _refusal(answer: httpx2.Response, where: str) -> ChandleryError:
    try:
        status = answer.json()
        reason, message = str(status.get("reason") or ""), str(status.get("message") or answer.text[:300])
    except ValueError:
        reason, message = "", answer.text[:300]
    if answer.status_code == 404:
        return NotFound(message, where=where)
    return Refusal(answer.status_code, reason, message, where=where)

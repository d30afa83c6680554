"""What the host agent asks of the API server, as ``system:node:host``. The only module here that reads or writes objects."""

from __future__ import annotations

import base64
import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from base.errors import ChandleryError, NotFound
from base.kube import Cluster, Object, Refusal
from base.kube.kinds import CONFIG_MAP, EVENT, POD, SECRET, SERVICE_ACCOUNT

log = logging.getLogger("hostagent")
_COMPONENT = "chandlery-host-agent"
_TELL_EVERY = 30.0


def timestamp() -> str:
    """Now, as the API writes times (seconds, UTC)."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, slots=True)
class Token:
    """A ServiceAccount token bound to one pod. ``renew_at`` is on the monotonic clock."""

    value: str
    renew_at: float


class Api:
    """Thread-safe."""

    def __init__(self, cluster: Cluster, node: str) -> None:
        self.cluster = cluster
        self.node = node
        self._told: dict[tuple[str, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def content(self, kind: str, namespace: str, name: str) -> Mapping[str, bytes] | None:
        """Keys of a Secret or ConfigMap; None where it does not exist."""
        obj = self.cluster.find(SECRET if kind == "Secret" else CONFIG_MAP, name, namespace)
        if obj is None:
            return None
        found = {key: base64.b64decode(value) for key, value in (obj.get("binaryData") or {}).items()}
        for key, value in (obj.get("data") or {}).items():
            found[key] = base64.b64decode(value) if kind == "Secret" else str(value).encode()
        return found

    def token(self, pod: Object, *, audience: str = "", seconds: int = 3600) -> Token:
        """A token of the pod's ServiceAccount, valid as long as the pod exists and renewed at half its life."""
        meta = pod["metadata"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        request: Object = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"name": pod["spec"].get("serviceAccountName", "default"), "namespace": meta["namespace"]},
            "spec": {"expirationSeconds": max(600, seconds), "boundObjectRef": bound},
        }
        if audience:
            request["spec"]["audiences"] = [audience]
        answer = self.cluster.create(SERVICE_ACCOUNT, request, subresource="token")
        return Token(str(answer["status"]["token"]), time.monotonic() + max(600, seconds) / 2)

    def write_status(self, pod: Object, status: Object, annotations: Mapping[str, str]) -> Object | None:
        """Write the pod's status; the pod as it is then, or None where that pod is gone."""
        meta: dict[str, Any] = {"uid": pod["metadata"]["uid"]}
        if annotations:
            meta["annotations"] = dict(annotations)
        try:
            return self.cluster.patch(
                POD,
                pod["metadata"]["name"],
                {"metadata": meta, "status": status},
                pod["metadata"]["namespace"],
                subresource="status",
            )
        except NotFound:
            return None
        except Refusal as error:
            if error.status == 409:
                return None  # another pod of this name by now
            raise

    def remove(self, pod: Object) -> None:
        """Finish a deletion."""
        try:
            self.cluster.delete(POD, pod["metadata"]["name"], pod["metadata"]["namespace"], grace=0, uid=pod["metadata"]["uid"])
        except Refusal as error:
            if error.status != 409:
                raise

    def tell(self, pod: Object, reason: str, message: str, *, kind: str = "Warning") -> None:
        """An Event on the pod. The same message is told once, and each reason twice a minute at most.

        An Event that cannot be written is no fault.
        """
        meta = pod["metadata"]
        key = (str(meta["uid"]), reason)
        with self._lock:
            before, at = self._told.get(key, ("", float("-inf")))
            if before == message or time.monotonic() - at < _TELL_EVERY:
                return
            self._told[key] = (message, time.monotonic())
        now = timestamp()
        event: Object = {
            "metadata": {"generateName": f"{meta['name']}.", "namespace": meta["namespace"]},
            "involvedObject": {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": meta["name"],
                "namespace": meta["namespace"],
                "uid": meta["uid"],
            },
            "type": kind,
            "reason": reason,
            "message": message[:1000],
            "source": {"component": _COMPONENT, "host": self.node},
            "reportingComponent": _COMPONENT,
            "reportingInstance": self.node,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            self.cluster.create(EVENT, event)
        except ChandleryError as error:
            log.warning("event on %s/%s: %s", meta["namespace"], meta["name"], error.message)

    def forget(self, uid: str) -> None:
        with self._lock:
            self._told = {key: value for key, value in self._told.items() if key[0] != uid}


def forever(what: str, work: Callable[[], None]) -> threading.Thread:
    """Run ``work`` again and again in a daemon thread; a failure (the API server is away) is logged and tried again."""

    def loop() -> None:
        while True:
            try:
                work()
            except ChandleryError as error:
                log.warning("%s: %s", what, error.message)
                time.sleep(1.0)
            except Exception:
                log.exception("%s", what)
                time.sleep(1.0)

    thread = threading.Thread(target=loop, name=what, daemon=True)
    thread.start()
    return thread

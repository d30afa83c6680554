"""Carries decisions out: binds, evicts, writes conditions and events. Each write is one small job in a pool of threads."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

from base.deadlines import Deadline, poll
from base.errors import ChandleryError, DeadlineExceeded, NotFound
from base.events import Reporter
from base.kube import Cluster, Kind, Object, Refusal
from base.kube.kinds import BIND_REQUEST, EVENT, POD, POD_GROUP
from schedulers.engine.read import Underway
from schedulers.engine.store import Store
from schedulers.kai import names
from schedulers.kai.models import BindRequest, BindRequestSpec, ReceivedGpu
from schedulers.policy import Eviction

MANAGER = "kai-reference"
_THREADS = 16
_FINISH_S = 10.0


def timestamp() -> str:
    """Now, as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Gang:
    """Pods that are bound together: their requests are all written before the first of them is bound."""

    def __init__(self, size: int) -> None:
        self.lock = threading.Lock()
        self.left = size
        self.failed = False


class Effects:
    """``underway`` is what was started and may not show in the watches yet; cycles decide with it in mind."""

    def __init__(self, cluster: Cluster, store: Store, reporter: Reporter, component: str) -> None:
        self._cluster = cluster
        self._store = store
        self._reporter = reporter
        self._component = component
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="effect")
        self._lock = threading.Lock()
        self._binding: dict[str, str] = {}
        self._evicted: set[str] = set()
        self._busy: set[str] = set()
        self._said: dict[tuple[str, str], str] = {}
        self._open = 0
        self.bound = 0

    # -- the pool -----------------------------------------------------------------------------------------------

    def submit(self, key: str, job: Callable[[], None]) -> bool:
        """Run ``job`` in the pool; False when one with the same key still runs. Failures are reported, not raised."""
        with self._lock:
            if key in self._busy:
                return False
            self._busy.add(key)
            self._open += 1

        def run() -> None:
            try:
                job()
            except NotFound:
                pass  # the object went away meanwhile, so there is nothing to write
            except ChandleryError as error:
                self._reporter.event("effect-failed", f"{key}: {error.message}", error=type(error).__name__)
            finally:
                with self._lock:
                    self._busy.discard(key)
                    self._open -= 1

        try:
            future = self._pool.submit(run)
        except RuntimeError:  # closing: what is not begun yet is left to the next run
            with self._lock:
                self._busy.discard(key)
                self._open -= 1
            return False
        future.add_done_callback(self._report)
        return True

    def _report(self, future: Future[None]) -> None:
        if not future.cancelled() and future.exception() is not None:
            self._reporter.event("effect-broke", f"{type(future.exception()).__name__}: {future.exception()}")

    def idle(self) -> bool:
        """True when nothing is being written."""
        with self._lock:
            return self._open == 0

    def close(self) -> None:
        """Finish what was started, within reason."""
        with contextlib.suppress(DeadlineExceeded):
            poll(self.idle, Deadline.after(_FINISH_S), "finishing what was started")
        self._pool.shutdown(wait=True, cancel_futures=True)

    # -- what is underway ---------------------------------------------------------------------------------------

    def underway(self, pods: Iterable[Object]) -> Underway:
        """As of now, and forget what the watches show by now."""
        with self._lock:
            if self._binding or self._evicted:
                present = {pod["metadata"]["uid"]: pod for pod in pods}
                for uid in [u for u in self._binding if u not in present or present[u]["spec"].get("nodeName")]:
                    del self._binding[uid]
                self._evicted = {u for u in self._evicted if u in present and not present[u]["metadata"].get("deletionTimestamp")}
            return Underway(dict(self._binding), frozenset(self._evicted))

    # -- binding ------------------------------------------------------------------------------------------------

    def bind(self, pods: list[tuple[Object, str]], pool: str) -> None:
        """Bind pods of one group to their nodes: a BindRequest for every one of them first, then the bindings."""
        gang = _Gang(len(pods))
        with self._lock:
            for pod, node in pods:
                self._binding[pod["metadata"]["uid"]] = node

        def request(pod: Object, node: str) -> None:
            good = False
            try:
                self._store.put(BIND_REQUEST, self._cluster.apply(BIND_REQUEST, bind_request(pod, node), manager=MANAGER))
                good = True
            finally:
                with gang.lock:
                    gang.left -= 1
                    gang.failed = gang.failed or not good
                    last = gang.left == 0
                if last:
                    for each, target in pods:
                        if gang.failed:
                            self._submit(each, "unbind", partial(self._give_up, each))
                        else:
                            self._submit(each, "bind", partial(self._bind, each, target, pool))

        for pod, node in pods:
            self._submit(pod, "request", partial(request, pod, node))

    def resume(self, request: Object, pod: Object | None) -> None:
        """Carry out, or clear away, a BindRequest that an earlier run of the engine left behind."""
        meta, spec = request["metadata"], request.get("spec") or {}
        node = spec.get("selectedNode", "")
        owner = next((r["uid"] for r in meta.get("ownerReferences") or () if r.get("kind") == "Pod"), None)
        if pod is not None and node and owner in (None, pod["metadata"]["uid"]):
            uid = pod["metadata"]["uid"]
            with self._lock:
                if uid in self._binding or _key("bind", pod) in self._busy:
                    return
            if not pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp"):
                with self._lock:
                    self._binding[uid] = node
                pool = (pod["metadata"].get("labels") or {}).get(names.NODE_POOL_LABEL, names.DEFAULT_NODE_POOL)
                self._submit(pod, "bind", partial(self._bind, pod, node, pool))
                return
        self.submit(
            f"clear {meta['namespace']}/{meta['name']}",
            lambda: _ignore(self._cluster.delete(BIND_REQUEST, meta["name"], meta["namespace"], uid=meta["uid"])),
        )

    def _submit(self, pod: Object, what: str, job: Callable[[], None]) -> None:
        self.submit(_key(what, pod), job)

    def _bind(self, pod: Object, node: str, pool: str) -> None:
        meta = pod["metadata"]
        where = f"{meta['namespace']}/{meta['name']}"
        try:
            self._cluster.bind(meta["namespace"], meta["name"], node, uid=meta["uid"])
        except (Refusal, NotFound) as error:
            if not (isinstance(error, Refusal) and error.status == 409):
                self.event(pod, POD, "Warning", "FailedBinding", f"Failed to bind pod {where} to node {node}. {error.message}")
            self._give_up(pod)
            return
        except ChandleryError:
            self._give_up(pod)
            raise
        self.bound += 1
        self.event(
            pod, POD, "Normal", "Scheduled", f"Successfully assigned pod {where} to node {node} at node-pool {pool}", once=False
        )
        self._cluster.delete(BIND_REQUEST, meta["name"], meta["namespace"])

    def _give_up(self, pod: Object) -> None:
        """Take a binding back. A pod that was bound after all shows so in the watch."""
        meta = pod["metadata"]
        try:
            self._cluster.delete(BIND_REQUEST, meta["name"], meta["namespace"])
        finally:
            with self._lock:
                self._binding.pop(meta["uid"], None)
            self._store.touch()

    # -- eviction -----------------------------------------------------------------------------------------------

    def evict(self, pod: Object, group: Object | None, eviction: Eviction) -> None:
        """Delete a victim and say on its group for whom (event Evict)."""
        meta = pod["metadata"]
        with self._lock:
            self._evicted.add(meta["uid"])

        def run() -> None:
            try:
                self._cluster.delete(POD, meta["name"], meta["namespace"], uid=meta["uid"])
            except Refusal as error:
                if error.status != 409:  # another pod has the name by now: the victim is gone
                    self._spare(meta["uid"])
                    raise
            except ChandleryError:
                self._spare(meta["uid"])
                raise
            if group is not None:
                namespace, _, name = eviction.preemptor.partition("/")
                self.event(
                    group,
                    POD_GROUP,
                    "Normal",
                    "Evict",
                    eviction.message,
                    once=False,
                    annotations={
                        "num-evicted-pods": str(eviction.size),
                        "evictor-action-type": eviction.action,
                        "evictor-pod-group-name": name,
                        "evictor-pod-group-namespace": namespace,
                    },
                )

        self._submit(pod, "evict", run)

    def _spare(self, uid: str) -> None:
        with self._lock:
            self._evicted.discard(uid)
        self._store.touch()

    # -- status and events --------------------------------------------------------------------------------------

    def patch_status(self, kind: Kind, obj: Object, patch: Mapping[str, Any], *, how: str = "merge") -> None:
        """Patch the status subresource of an object, once at a time for each object."""
        meta = obj["metadata"]

        def run() -> None:
            answer = self._cluster.patch(kind, meta["name"], dict(patch), meta.get("namespace"), subresource="status", how=how)
            self._store.put(kind, answer)

        self.submit(f"status {kind.plural} {meta.get('namespace', '')}/{meta['name']}", run)

    def unsaid(self, obj: Object, reason: str, message: str) -> bool:
        """True when the last event of this reason about the object said something else."""
        with self._lock:
            return self._said.get((obj["metadata"]["uid"], reason)) != message

    def event(
        self,
        obj: Object,
        kind: Kind,
        type_: str,
        reason: str,
        message: str,
        *,
        once: bool = True,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Record an event. With ``once`` the same thing is not said twice in a row about one object."""
        said = (obj["metadata"]["uid"], reason)
        with self._lock:
            if once and self._said.get(said) == message:
                return
            if len(self._said) > 50_000:
                self._said.clear()
            self._said[said] = message
        body = event(obj, kind, type_, reason, message, self._component, annotations or {})
        self.submit(f"event {body['metadata']['name']}", lambda: _ignore(self._cluster.create(EVENT, body)))


def bind_request(pod: Object, node: str) -> Object:
    """The BindRequest of a pod; it goes with the pod."""
    meta = pod["metadata"]
    gpus = sum(
        int(((c.get("resources") or {}).get("requests") or {}).get(names.GPU_RESOURCE, 0)) for c in pod["spec"]["containers"]
    )
    spec = BindRequestSpec(
        pod_name=meta["name"],
        selected_node=node,
        received_resource_type="Regular",
        received_gpu=ReceivedGpu(count=gpus, portion="1") if gpus else None,
    )
    manifest = BindRequest.manifest(meta["name"], spec, namespace=meta["namespace"])
    manifest["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}]
    return manifest


def event(
    obj: Object, kind: Kind, type_: str, reason: str, message: str, component: str, annotations: Mapping[str, str]
) -> Object:
    """A core/v1 Event about an object."""
    meta = obj["metadata"]
    now = timestamp()
    return {
        "metadata": {
            "name": f"{meta['name'][:200]}.{time.time_ns():x}{secrets.token_hex(2)}",
            "namespace": meta.get("namespace") or "default",
            "annotations": dict(annotations),
        },
        "involvedObject": {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "name": meta["name"],
            "namespace": meta.get("namespace", ""),
            "uid": meta["uid"],
            "resourceVersion": meta.get("resourceVersion", ""),
        },
        "type": type_,
        "reason": reason,
        "message": message[:1000],
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def _ignore(result: object) -> None:
    del result


def _key(what: str, pod: Object) -> str:
    meta = pod["metadata"]
    return f"{what} {meta['namespace']}/{meta['name']} {meta['uid']}"

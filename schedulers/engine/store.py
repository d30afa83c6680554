"""A live copy of the objects that scheduling looks at, kept by one watch for each kind."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from base.deadlines import Deadline
from base.errors import ChandleryError, Unavailable
from base.events import Reporter
from base.kube import Cluster, Kind, Object, Refusal, watch
from base.kube.kinds import BIND_REQUEST, NODE, POD, POD_GROUP, PRIORITY_CLASS, QUEUE, SCHEDULING_SHARD
from schedulers.engine.read import Objects

KINDS = (NODE, POD, QUEUE, POD_GROUP, PRIORITY_CLASS, SCHEDULING_SHARD, BIND_REQUEST)

#: One watch is given up and begun anew after this long: a dead connection goes unnoticed no longer than that.
_WATCH_S = 300.0
#: Rights may arrive a little after the engine; an engine that may not look at the cluster for this long ends.
_REFUSED_FOR_S = 60.0


class Store:
    """Thread-safe. ``version`` grows with every change; ``changed`` is set by every change."""

    def __init__(self, cluster: Cluster, reporter: Reporter, kinds: Sequence[Kind] = KINDS) -> None:
        self._cluster = cluster
        self._reporter = reporter
        self._lock = threading.Lock()
        self._objects: dict[Kind, dict[tuple[str, str], Object]] = {kind: {} for kind in kinds}
        self._listed: set[Kind] = set()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.version = 0
        self.changed = threading.Event()
        self.failure: ChandleryError | None = None

    def start(self) -> None:
        """Start watching."""
        self._threads = [
            threading.Thread(target=self._keep, args=(kind,), name=f"watch-{kind.plural}", daemon=True) for kind in self._objects
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the watches; takes as long as a watch needs to notice."""
        self._stop.set()
        for thread in self._threads:
            thread.join(timeout=10)

    def synced(self) -> bool:
        """True once every kind has been listed."""
        with self._lock:
            return len(self._listed) == len(self._objects)

    def missing(self) -> list[str]:
        """Kinds that have not been listed yet."""
        with self._lock:
            return sorted(kind.plural for kind in self._objects if kind not in self._listed)

    def objects(self) -> Objects:
        """Everything at one moment."""
        with self._lock:
            copy = {kind: tuple(objects.values()) for kind, objects in self._objects.items()}
        return Objects(
            nodes=copy[NODE],
            pods=copy[POD],
            queues=copy[QUEUE],
            groups=copy[POD_GROUP],
            classes=copy[PRIORITY_CLASS],
            shards=copy[SCHEDULING_SHARD],
            requests=copy[BIND_REQUEST],
        )

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """One object as last seen."""
        with self._lock:
            return self._objects[kind].get((namespace, name))

    def put(self, kind: Kind, obj: Object) -> None:
        """Take over the server's answer to a write, without waiting for the watch to show it."""
        with self._lock:
            self._set(kind, obj)

    def touch(self) -> None:
        """Something that decisions depend on changed outside the watches."""
        with self._lock:
            self._bump()

    # -- watching -----------------------------------------------------------------------------------------------

    def _keep(self, kind: Kind) -> None:
        refused_since: float | None = None
        while not self._stop.is_set():
            try:
                self._follow(kind)
                refused_since = None
            except ChandleryError as error:
                if self._stop.is_set():
                    return
                self._reporter.event("watch-failed", f"the watch of {kind.plural} failed: {error.message}", resource=kind.plural)
                if isinstance(error, Refusal) and error.status in (401, 403):
                    refused_since = refused_since or time.monotonic()
                    if time.monotonic() - refused_since > _REFUSED_FOR_S:
                        self.failure = error
                        self.changed.set()
                        return
                self._stop.wait(1.0)
            except Exception as error:
                self.failure = Unavailable(f"the watch of {kind.plural} broke: {type(error).__name__}: {error}")
                self.changed.set()
                raise

    def _follow(self, kind: Kind) -> None:
        listed: dict[tuple[str, str], Object] | None = {}
        for change in watch(self._cluster, kind, Deadline.after(_WATCH_S), stop=self._stop.is_set):
            with self._lock:
                if change is None:
                    if listed is not None:
                        self._replace(kind, listed)
                    listed = None
                elif listed is not None:
                    listed[_key(change.object)] = change.object
                elif change.type == "DELETED":
                    self._objects[kind].pop(_key(change.object), None)
                    self._bump()
                else:
                    self._set(kind, change.object)

    def _replace(self, kind: Kind, listed: dict[tuple[str, str], Object]) -> None:
        same = {key: obj["metadata"]["resourceVersion"] for key, obj in self._objects[kind].items()}
        if same != {key: obj["metadata"]["resourceVersion"] for key, obj in listed.items()}:
            self._objects[kind] = listed
            self._bump()
        if kind not in self._listed:
            self._listed.add(kind)
            self._bump()

    def _set(self, kind: Kind, obj: Object) -> None:
        known = self._objects[kind].get(_key(obj))
        if known is not None and _newer(known, obj):
            return
        self._objects[kind][_key(obj)] = obj
        self._bump()

    def _bump(self) -> None:
        self.version += 1
        self.changed.set()


def _newer(known: Object, obj: Object) -> bool:
    """True when what is known is the same or a later state of the same object.

    Resource versions of one kind grow (KEP-5504 makes that comparison official).
    """
    if known["metadata"]["uid"] != obj["metadata"]["uid"]:
        return False
    return int(known["metadata"]["resourceVersion"]) >= int(obj["metadata"]["resourceVersion"])


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]

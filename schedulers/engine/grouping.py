"""Makes PodGroups for pods that have none and tells the pods which is theirs."""

from __future__ import annotations

import threading
import time

from base.errors import ChandleryError, NotFound
from base.kube import Cluster, Kind, Object, Refusal
from base.kube.kinds import POD, POD_GROUP
from schedulers.engine.store import Store
from schedulers.kai import names
from schedulers.podgroups import pod_group, wants_group

#: An owner that was just read is not read again for each of its pods.
_OWNER_S = 5.0


class Grouper:
    """Safe to call from several threads."""

    def __init__(self, cluster: Cluster, store: Store, scheduler_name: str) -> None:
        self._cluster = cluster
        self._store = store
        self._scheduler = scheduler_name
        self._lock = threading.Lock()
        self._owners: dict[tuple[str, str, str, str], tuple[float, Object]] = {}
        self._kinds: dict[tuple[str, str], Kind] = {}

    def needed(self, pod: Object) -> bool:
        """True for a pod of ours that is not in a group yet, or whose group is gone."""
        meta = pod["metadata"]
        if pod["spec"].get("schedulerName") != self._scheduler or meta.get("deletionTimestamp"):
            return False
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed") or not wants_group(pod):
            return False
        name = (meta.get("annotations") or {}).get(names.POD_GROUP_ANNOTATION)
        return name is None or self._store.get(POD_GROUP, name, meta["namespace"]) is None

    def group(self, pod: Object, classes: frozenset[str]) -> None:
        """Make or find the pod's group and write its name onto the pod. Any error names what stands in the way."""
        pod = {"apiVersion": "v1", "kind": "Pod", **pod}
        wanted = pod_group(pod, self._chain(pod), classes)
        if wanted is None:
            return
        meta = wanted["metadata"]
        if self._store.get(POD_GROUP, meta["name"], meta["namespace"]) is None:
            try:
                self._store.put(POD_GROUP, self._cluster.create(POD_GROUP, wanted))
            except Refusal as error:
                if error.reason != "AlreadyExists":
                    raise
        current = (pod["metadata"].get("annotations") or {}).get(names.POD_GROUP_ANNOTATION)
        if current != meta["name"]:
            patch = {"metadata": {"uid": pod["metadata"]["uid"], "annotations": {names.POD_GROUP_ANNOTATION: meta["name"]}}}
            self._store.put(POD, self._cluster.patch(POD, pod["metadata"]["name"], patch, meta["namespace"]))

    def _chain(self, pod: Object) -> list[Object]:
        """The pod's owners up to the top. One that may not be read ends the chain below it (handleGetOwnerError)."""
        chain: list[Object] = []
        current = pod
        while references := current["metadata"].get("ownerReferences"):
            reference = next((r for r in references if r.get("controller")), references[0])
            try:
                owner = self._owner(reference, pod["metadata"]["namespace"])
            except Refusal as error:
                if error.status == 403:
                    break
                raise
            chain.append(owner)
            current = owner
        return chain

    def _owner(self, reference: Object, namespace: str) -> Object:
        key = (reference["apiVersion"], reference["kind"], namespace, reference["name"])
        with self._lock:
            known = self._owners.get(key)
            if known and time.monotonic() - known[0] < _OWNER_S and known[1]["metadata"]["uid"] == reference["uid"]:
                return known[1]
        owner = self._cluster.get(self._kind(reference), reference["name"], namespace)
        if owner["metadata"]["uid"] != reference["uid"]:
            raise NotFound(f"owner {reference['kind']} {namespace}/{reference['name']} with uid {reference['uid']} is gone")
        owner = {**owner, "apiVersion": reference["apiVersion"], "kind": reference["kind"]}
        with self._lock:
            if len(self._owners) > 1000:
                self._owners.clear()
            self._owners[key] = (time.monotonic(), owner)
        return owner

    def _kind(self, reference: Object) -> Kind:
        key = (reference["apiVersion"], reference["kind"])
        with self._lock:
            known = self._kinds.get(key)
        if known is None:
            known = self._cluster.discover(*key)
            with self._lock:
                self._kinds[key] = known
        return known


def explain(error: ChandleryError) -> str:
    """One line for the warning event of a pod that could not be grouped."""
    return f"{error.message} ({error.where})" if error.where else error.message

"""Watches with a deadline. A dropped watch is taken up again from where it was, an expired one from a new list."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import httpx2

from base.deadlines import Deadline
from base.errors import DeadlineExceeded, Unavailable
from base.kube.client import Cluster, Object, Refusal
from base.kube.kinds import Kind

T = TypeVar("T")
_GONE = 410


@dataclass(frozen=True, slots=True)
class Change:
    """``type`` is ADDED, MODIFIED or DELETED. A list at the start or after a gap shows as ADDED / MODIFIED / DELETED too."""

    type: str
    object: Object


def watch(
    cluster: Cluster,
    kind: Kind,
    deadline: Deadline,
    namespace: str | None = None,
    *,
    labels: str = "",
    fields: str = "",
    stop: Callable[[], bool] | None = None,
) -> Iterator[Change | None]:
    """All present objects, then every change, until the deadline passes (then it just ends).

    Yields None once after each complete list, so that a reader knows that it has seen everything that exists.
    ``stop`` is for a watch in a thread of its own: it is asked every two seconds, and True ends the watch early.
    """
    known: dict[tuple[str, str], Object] = {}
    failures = 0
    stopped = stop or _never
    while not deadline.passed() and not stopped():
        try:
            yield from _session(cluster, kind, deadline, namespace, labels, fields, known, stopped, 2.0 if stop else 240.0)
            failures = 0
        except (httpx2.TransportError, Unavailable, Refusal) as error:
            if isinstance(error, Refusal) and error.status in {400, 401, 403}:
                raise
            failures += 1
            if failures > 8:
                raise Unavailable(f"watch of {kind.plural} keeps failing: {error}", where=cluster.server) from error
            time.sleep(min(deadline.remaining(), 0.1 * 2 ** min(failures, 5)))


def _session(
    cluster: Cluster,
    kind: Kind,
    deadline: Deadline,
    namespace: str | None,
    labels: str,
    fields: str,
    known: dict[tuple[str, str], Object],
    stopped: Callable[[], bool],
    longest: float,
) -> Iterator[Change | None]:
    items, version = cluster.list(kind, namespace, labels=labels, fields=fields)
    fresh = {_key(item): item for item in items}
    for key in [k for k in known if k not in fresh]:
        yield Change("DELETED", known.pop(key))
    for key, item in fresh.items():
        old = known.get(key)
        known[key] = item
        if old is None:
            yield Change("ADDED", item)
        elif old["metadata"].get("resourceVersion") != item["metadata"].get("resourceVersion"):
            yield Change("MODIFIED", item)
    yield None
    while not deadline.passed() and not stopped():
        limit = max(1, math.ceil(min(deadline.remaining(), longest)))
        params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": str(limit), "allowWatchBookmarks": "true"}
        if labels:
            params["labelSelector"] = labels
        if fields:
            params["fieldSelector"] = fields
        try:
            with cluster.stream(kind.path(namespace), params, read_timeout=_patience(deadline, longest)) as answer:
                if answer.status_code == _GONE:
                    return
                if answer.status_code >= 400:
                    answer.read()
                    raise Refusal(answer.status_code, "", answer.text[:200], where=kind.plural)
                for line in answer.iter_lines():
                    record = json.loads(line)
                    if record["type"] == "ERROR":
                        if record["object"].get("code") == _GONE:
                            return
                        raise Refusal(record["object"].get("code", 500), "", str(record["object"].get("message")))
                    version = record["object"]["metadata"]["resourceVersion"]
                    if record["type"] == "BOOKMARK":
                        continue
                    item = record["object"]
                    if record["type"] == "DELETED":
                        known.pop(_key(item), None)
                    else:
                        known[_key(item)] = item
                    yield Change(record["type"], item)
                    if deadline.passed() or stopped():
                        return
        except httpx2.ReadTimeout:
            continue


def wait_for(
    cluster: Cluster,
    kind: Kind,
    decide: Callable[[dict[str, Object]], T | None],
    deadline: Deadline,
    what: str,
    namespace: str | None = None,
    *,
    labels: str = "",
    fields: str = "",
    todo: str = "",
) -> T:
    """Watch until ``decide`` returns something other than None or False.

    ``decide`` gets every live matching object by ``namespace/name`` (``name`` for cluster-scoped ones), after the first
    complete list and after each change. DeadlineExceeded names ``what`` otherwise.
    """
    live: dict[str, Object] = {}
    listed = False
    for change in watch(cluster, kind, deadline, namespace, labels=labels, fields=fields):
        if change is None:
            listed = True
        elif change.type == "DELETED":
            live.pop(_name(change.object), None)
        else:
            live[_name(change.object)] = change.object
        if listed:
            found = decide(live)
            if found is not None and found is not False:
                return found
    raise DeadlineExceeded(f"{what} did not happen within {deadline.total:g} s", where=cluster.server, todo=todo)


def _patience(deadline: Deadline, longest: float) -> float:
    """The server ends a watch after ``longest`` seconds; ten more without a byte mean that it hangs."""
    return max(0.05, min(deadline.remaining(), longest + 10.0))


def _never() -> bool:
    return False


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _name(obj: Object) -> str:
    namespace, name = _key(obj)
    return f"{namespace}/{name}" if namespace else name

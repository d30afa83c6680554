"""What was seen: each change of an object told in one short line. The telling is pure; :class:`Timeline` keeps it."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from base.kube import Object

__all__ = ["Seen", "Timeline", "tell"]

#: A check that sees more than this has a flapping object; the rest is counted, not kept.
_MOST = 300


@dataclass(frozen=True, slots=True)
class Seen:
    """``at`` is in seconds since the check began."""

    at: float
    what: str


class Timeline:
    """Lines in the order in which they were seen. Safe to use from several threads."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._lines: list[Seen] = []
        self._dropped = 0
        self._lock = threading.Lock()

    def add(self, what: str) -> None:
        with self._lock:
            if len(self._lines) >= _MOST:
                self._dropped += 1
            else:
                self._lines.append(Seen(round(time.monotonic() - self._started, 2), what))

    def lines(self) -> tuple[Seen, ...]:
        with self._lock:
            tail = (Seen(self._lines[-1].at, f"... and {self._dropped} more changes"),) if self._dropped else ()
            return (*self._lines, *tail)


def tell(old: Object | None, new: Object | None) -> list[str]:
    """What changed from ``old`` to ``new``; None stands for absent. An empty list when it is not worth a line."""
    some = new or old
    if some is None:
        return []
    kind, name = some["kind"], some["metadata"]["name"]
    teller = {"Pod": _pod, "PodGroup": _pod_group, "Queue": _queue, "BindRequest": _bind_request}.get(kind)
    if kind == "Event":
        return _event(some) if new is not None else []
    who = f"{_WORDS.get(kind, kind)} {name}"
    if new is None:
        return [f"{who}: gone"]
    lines = [] if old else [f"{who}: appeared"]
    if teller:
        before = teller(old) if old else []
        lines += [f"{who}: {fact}" for fact in teller(new) if fact not in before]
    if new["metadata"].get("deletionTimestamp") and not (old and old["metadata"].get("deletionTimestamp")):
        lines.append(f"{who}: being deleted")
    return lines


_WORDS = {"Pod": "pod", "PodGroup": "pod group", "Queue": "queue", "BindRequest": "bind request"}


def _pod(pod: Object) -> list[str]:
    facts = []
    node, status = pod["spec"].get("nodeName"), pod.get("status", {})
    if node:
        facts.append(f"bound to {node}")
    elif refusal := next(
        (c for c in status.get("conditions", ()) if c["type"] == "PodScheduled" and c["status"] == "False"), None
    ):
        facts.append(f"not scheduled ({refusal.get('reason', '')}): {_short(refusal.get('message', ''))}")
    if status.get("phase") not in {None, "Pending"}:
        facts.append(status["phase"])
    return facts


def _pod_group(group: Object) -> list[str]:
    spec = group.get("spec", {})
    facts = [f"gang of at least {spec.get('minMember', 1)} in queue {spec.get('queue', '?')}"]
    for condition in group.get("status", {}).get("schedulingConditions") or ():
        for reason in condition.get("reasons") or ():
            facts.append(
                f"unschedulable ({reason.get('reason') or condition.get('reason', '')}): {_short(reason.get('message', ''))}"
            )
    return facts


def _queue(queue: Object) -> list[str]:
    status = queue.get("status", {})
    parts = [f"{word} {_amounts(status[word])}" for word in ("allocated", "requested") if status.get(word)]
    return [", ".join(parts)] if parts else []


def _bind_request(request: Object) -> list[str]:
    phase = request.get("status", {}).get("phase")
    facts = [f"to node {request['spec'].get('selectedNode', '?')}"]
    return [*facts, str(phase)] if phase else facts


def _event(event: Object) -> list[str]:
    about = event.get("involvedObject", {})
    who = f"{about.get('kind', '?')} {about.get('name', '?')}"
    return [f"event {event.get('reason', '?')} on {who}: {_short(event.get('message', ''))}"]


def _amounts(resources: dict[str, Any]) -> str:
    return " ".join(f"{name.rpartition('/')[2]}={value}" for name, value in sorted(resources.items())) or "nothing"


def _short(text: str, most: int = 240) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 3] + "..."

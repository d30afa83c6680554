"""From the engine's failures to ours. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pulumi import automation as auto
from pulumi.automation.errors import ConcurrentUpdateError

from base.errors import ChandleryError, CheckFailed, DeadlineExceeded, Refused, Unavailable
from components.objects import label_of

_UNREACHABLE = ("cluster is unreachable", "connection refused", "no such host", "i/o timeout")
_TIMED_OUT = ("timed out", "timeout occurred", "context deadline exceeded")
_NO_ROOM = ("no space left on device", "disk quota exceeded")
#: What the engine says at the end whatever went wrong.
_SUMMARIES = {"update failed", "preview failed", "refresh failed", "destroy failed"}
_SHOWN = 5
#: How the provider introduces what it has to say.
_PREAMBLE = re.compile(r'(\d+ errors? occurred:\s*)?(\*\s+)?(resource|creation of resource|update of resource) "urn:[^"]*"\s+')


def explain(
    verb: str, error: auto.CommandError, diagnostics: Sequence[str], log: Path, conditions: Sequence[str] = ()
) -> ChandleryError:
    """The error to show for a failed run: Refused for a held lock, Unavailable for a cluster that went away,
    DeadlineExceeded for an object that did not become ready, CheckFailed for one that the cluster did not take.

    ``conditions`` are what the failed objects say about themselves (:func:`unmet`).
    """
    text = str(error)
    if isinstance(error, ConcurrentUpdateError):
        holder = [line.strip() for line in text.splitlines() if "created by" in line]
        return Refused(
            "another run works on the stack",
            where=f"held by {holder[0].partition('created by ')[2]}" if holder else "",
            todo="wait for it to end, or stop that process",
        )
    told = [line for line in diagnostics if line.strip() and line.strip() not in _SUMMARIES] or _errors(text)
    told = [" ".join(_PREAMBLE.sub("", line).split()) for line in told]
    shown = "\n".join(f"  {line}" for line in [*told[:_SHOWN], *conditions])
    more = f"\n  and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    everything = "\n".join(told).lower()
    message = f"{verb} did not succeed:\n{shown}{more}"
    if any(sign in everything for sign in _NO_ROOM):
        return Unavailable(message, where=str(log.parent), todo="free space there and run the same command again")
    if any(sign in everything for sign in _UNREACHABLE):
        return Unavailable(message, where=str(log), todo="see whether the cluster runs, then run the same command again")
    if any(sign in everything for sign in _TIMED_OUT):
        return DeadlineExceeded(message, where=str(log), todo="see what the object waits for; the same command goes on from here")
    return CheckFailed(message, where=str(log), todo="the same command goes on from here once the cause is mended")


def unmet(obj: Mapping[str, Any]) -> list[str]:
    """``Kind name: Type is Status: message`` for each condition that a live object does not meet. Progress is not one."""
    name = label_of(obj)
    found = []
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("status") == "True" or condition.get("type") in {"Reconciling", "Progressing"}:
            continue
        said = str(condition.get("message") or condition.get("reason") or "").strip().replace("\n", "; ")
        found.append(f"{name}: {condition.get('type')} is {condition.get('status')}{f': {said}' if said else ''}")
    return found


def _errors(text: str) -> list[str]:
    """The CLI's own error lines, for a run that failed before the engine had anything to say."""
    found = [line.partition("error: ")[2].strip() for line in text.splitlines() if "error: " in line]
    return found or [text.strip()]

"""A pod's status from what its containers do. Pure: the moment and the state come in, a status object comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from base.kube import Object

#: Conditions that the node sets; all others (PodScheduled, readiness gates ...) belong to somebody else and stay.
_OWN = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")


@dataclass(frozen=True, slots=True)
class End:
    """How a container's process ended; times are RFC 3339. An unknown exit code is reported as the kubelet does, with 137."""

    exit_code: int
    started: str
    finished: str
    reason: str = ""

    def state(self) -> Object:
        reason = self.reason or ("Completed" if self.exit_code == 0 else "Error")
        return {
            "terminated": {
                "exitCode": self.exit_code,
                "reason": reason,
                "startedAt": self.started,
                "finishedAt": self.finished,
            }
        }


@dataclass(frozen=True, slots=True)
class ContainerState:
    """One container now. ``waiting`` has ``reason`` and ``message``, ``running`` has ``started``, ``ended`` has ``last``."""

    name: str
    image: str
    phase: Literal["waiting", "running", "ended"]
    reason: str = ""
    message: str = ""
    started: str = ""
    ready: bool = False
    startup_done: bool = False
    restarts: int = 0
    last: End | None = None
    simulated: bool = False

    def status(self) -> Object:
        """The container's entry in ``status.containerStatuses``."""
        entry: Object = {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "ready": self.ready and self.phase == "running",
            "started": self.startup_done and self.phase == "running",
            "restartCount": self.restarts,
            "lastState": {},
        }
        if self.phase == "running":
            entry["state"] = {"running": {"startedAt": self.started}}
            entry["lastState"] = self.last.state() if self.last else {}
        elif self.phase == "ended":
            entry["state"] = self.last.state() if self.last else {}
        else:
            waiting = {"reason": self.reason or "ContainerCreating"}
            entry["state"] = {"waiting": waiting | ({"message": self.message} if self.message else {})}
            entry["lastState"] = self.last.state() if self.last else {}
        return entry


def phase(containers: Sequence[ContainerState], restart_policy: str) -> str:
    """The pod's phase by the rules of the kubelet (kubelet_pods.go, getPhase)."""
    if any(c.phase == "waiting" and c.last is None for c in containers):
        return "Pending"
    if any(c.phase == "running" or c.phase == "waiting" for c in containers):
        return "Running"
    if restart_policy == "Always":
        return "Running"
    return "Succeeded" if all(c.last and c.last.exit_code == 0 for c in containers) else "Failed"


def will_restart(end: End, restart_policy: str) -> bool:
    """Whether a container that ended so is started again."""
    return restart_policy == "Always" or (restart_policy == "OnFailure" and end.exit_code != 0)


def pod_status(
    pod: Object,
    containers: Sequence[ContainerState],
    *,
    now: str,
    host_address: str,
    address: str,
    blocked: tuple[str, str] | None,
) -> Object:
    """The status to write.

    ``blocked`` is reason and message of a pod that cannot start here at all; such a pod stays Pending.
    """
    spec, old = pod["spec"], pod.get("status") or {}
    now_phase = "Pending" if blocked else phase(containers, spec.get("restartPolicy", "Always"))
    finished = now_phase in {"Succeeded", "Failed"}
    states = [replace(c, ready=False) if finished else c for c in containers]
    not_ready = [c.name for c in states if not (c.ready and c.phase == "running")]
    reason, message = "", ""
    if blocked:
        reason, message = blocked
    elif finished:
        reason = "PodCompleted" if now_phase == "Succeeded" else "PodFailed"
    elif not_ready:
        reason, message = "ContainersNotReady", f"containers with unready status: [{' '.join(not_ready)}]"
    up = not not_ready and not blocked
    gates = _gates_open(spec.get("readinessGates") or (), old.get("conditions") or ())
    ready_why = (reason, message) if not up else ("", "") if gates else ("ReadinessGatesNotReady", "a readiness gate is not True")
    wanted = {
        "PodReadyToStartContainers": (not blocked and not finished, reason if blocked else "", ""),
        "Initialized": (not blocked, *((reason, message) if blocked else ("", ""))),
        "ContainersReady": (up, reason, message),
        "Ready": (up and gates, *ready_why),
    }
    status: Object = {
        "phase": now_phase,
        "conditions": _conditions(old.get("conditions") or (), wanted, now),
        "hostIP": host_address,
        "hostIPs": [{"ip": host_address}],
        "startTime": old.get("startTime") or now,
        "containerStatuses": [state.status() for state in states],
        "message": message if blocked else None,
        "reason": reason if blocked else None,
    }
    if not blocked:
        status |= {"podIP": address, "podIPs": [{"ip": address}]}
        status["initContainerStatuses"] = [_init(c, status["startTime"]) for c in spec.get("initContainers") or ()]
    return status


def _init(container: Object, started: str) -> Object:
    """Init containers prepare a file system that processes of this machine do not have; they count as done."""
    sidecar = container.get("restartPolicy") == "Always"
    done = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}}
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": True,
        "started": sidecar,
        "restartCount": 0,
        "state": {"running": {"startedAt": started}} if sidecar else done,
        "lastState": {},
    }


def _gates_open(gates: Iterable[Object], conditions: Iterable[Object]) -> bool:
    true = {c["type"] for c in conditions if c["status"] == "True"}
    return all(gate["conditionType"] in true for gate in gates)


def _conditions(old: Iterable[Object], wanted: Mapping[str, tuple[bool, str, str]], now: str) -> list[Object]:
    """Others' conditions as they are, ours with the time of their last change kept where the value is the same."""
    before = {c["type"]: c for c in old}
    result = [c for c in old if c["type"] not in _OWN]
    for kind in _OWN:
        value, reason, message = wanted[kind]
        status = "True" if value else "False"
        same = before.get(kind, {}).get("status") == status
        entry: Object = {
            "type": kind,
            "status": status,
            "lastTransitionTime": before[kind].get("lastTransitionTime") or now if same else now,
            "lastProbeTime": None,
        }
        result.append(entry | ({"reason": reason} if reason else {}) | ({"message": message} if message else {}))
    return result

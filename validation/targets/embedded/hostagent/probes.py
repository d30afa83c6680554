"""Probes, really asked: HTTP and TCP against the program's own listener.

A command probe cannot be run, as it names a file of an image that is not here; it counts as passed while the process
lives. A gRPC probe is asked as far as the connection.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from base.kube import Object
from base.processes import Process, session
from validation.targets.embedded import sockets


def number(container: Object, port: int | str) -> int:
    """A port's number; names are looked up among the container's ports. ValueError for an unknown name."""
    if isinstance(port, int):
        return port
    for entry in container.get("ports") or ():
        if entry.get("name") == port:
            return int(entry["containerPort"])
    return int(port)


def address_for(pod_ip: str, port: int, process: Process) -> str:
    """Where the program's ``port`` is to be dialled: the pod's address, or 127.0.0.1 where it listens there and nowhere else."""
    own = {entry.address for entry in sockets.listening(session(process)) if entry.port == port}
    if "127.0.0.1" in own and pod_ip not in own:
        return "127.0.0.1"
    return pod_ip


def ask(probe: Object, container: Object, pod_ip: str, process: Process) -> str:
    """Empty when the probe passes, else why not."""
    limit = float(probe.get("timeoutSeconds") or 1)
    try:
        if "httpGet" in probe:
            return _http(probe["httpGet"], container, pod_ip, process, limit)
        for kind in ("tcpSocket", "grpc"):
            if kind in probe:
                port = number(container, probe[kind]["port"])
                socket.create_connection((address_for(pod_ip, port, process), port), timeout=limit).close()
    except (OSError, http.client.HTTPException, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _http(get: Object, container: Object, pod_ip: str, process: Process, limit: float) -> str:
    port = number(container, get["port"])
    host = address_for(pod_ip, port, process)
    connection: http.client.HTTPConnection
    if str(get.get("scheme") or "HTTP").upper() == "HTTPS":
        # As a kubelet: a probe asks whether the program answers, not who it is.
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        connection = http.client.HTTPSConnection(host, port, timeout=limit, context=context)
    else:
        connection = http.client.HTTPConnection(host, port, timeout=limit)
    headers = {entry["name"]: entry["value"] for entry in get.get("httpHeaders") or ()}
    try:
        connection.request("GET", str(get.get("path") or "/"), headers=headers)
        status = connection.getresponse().status
    finally:
        connection.close()
    return "" if 200 <= status < 400 else f"HTTP {status}"


@dataclass(slots=True)
class Schedule:
    """When one probe of one container is due, and how its answers add up.

    ``eager`` asks every quarter of a second until the first success and without initial delay: for readiness and startup,
    where a program that answers earlier is up earlier. Moments are on the monotonic clock.
    """

    probe: Object
    eager: bool
    begun: float = field(default_factory=time.monotonic)
    asked: float = 0.0
    passed: bool = False
    ever_passed: bool = False
    failures: int = 0
    successes: int = 0
    message: str = ""

    def due(self, now: float) -> bool:
        period = float(self.probe.get("periodSeconds") or 10)
        if self.eager and not self.ever_passed:
            return now - self.asked >= min(period, 0.25)
        return now - self.asked >= period and now - self.begun >= float(self.probe.get("initialDelaySeconds") or 0)

    def run(self, now: float, question: Callable[[Object], str]) -> None:
        """Ask, when due."""
        if not self.due(now):
            return
        self.asked = now
        self.message = question(self.probe)
        self.settle(not self.message)

    def settle(self, success: bool) -> None:
        """Take one answer in, with the thresholds of the probe."""
        if success:
            self.successes, self.failures = self.successes + 1, 0
            if self.successes >= int(self.probe.get("successThreshold") or 1):
                self.passed = self.ever_passed = True
        else:
            self.failures, self.successes = self.failures + 1, 0
            if self.failures >= int(self.probe.get("failureThreshold") or 3):
                self.passed = False

    def exhausted(self, now: float) -> bool:
        """Too many failures in a row; an eager probe counts time instead, as it asks more often than its period."""
        threshold, period = int(self.probe.get("failureThreshold") or 3), float(self.probe.get("periodSeconds") or 10)
        if self.eager and not self.ever_passed:
            allowed = float(self.probe.get("initialDelaySeconds") or 0) + threshold * period
            return self.failures > 0 and now - self.begun > allowed
        return self.failures >= threshold

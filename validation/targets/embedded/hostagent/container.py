"""One container of a pod as a process: started, probed, restarted with back-off, adopted after the agent's own restart."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from base import processes
from base.kube import Object
from validation.targets.embedded import sockets
from validation.targets.embedded.hostagent import probes
from validation.targets.embedded.hostagent.api import timestamp
from validation.targets.embedded.hostagent.status import ContainerState, End, will_restart
from validation.targets.embedded.logs import tail
from validation.targets.embedded.programs import RealProgram

_LAUNCH = Path(__file__).with_name("launch.py")
#: First and longest pause before a restart, in seconds; doubled each time, forgotten after ten quiet minutes.
_FIRST_PAUSE, _LONGEST_PAUSE, _QUIET = 0.5, 30.0, 600.0
#: A container without a readiness probe is ready when its process has lived this long, in seconds.
_LIVED = 1.0
_LISTENERS_EVERY = 15.0


@dataclass(frozen=True, slots=True)
class Paths:
    """Files of one container."""

    record: Path
    log: Path
    work: Path


def digest(program: RealProgram, server: str) -> str:
    """Identity of what is to run and of the API server that it talks to; another one means a restart."""
    return hashlib.sha256(json.dumps([asdict(program), server], sort_keys=True).encode()).hexdigest()[:32]


def free_port(address: str) -> int:
    """A port that is free on the pod's address now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def guarded(listen: str, command: list[str]) -> list[str]:
    """The command behind :mod:`launch`, which keeps its listeners on the pod's address."""
    return [sys.executable, "-I", "-S", str(_LAUNCH), listen, *command]


class Container:
    """``prepare`` gives command and environment, or raises NotYet; it is asked before each start."""

    def __init__(
        self,
        spec: Object,
        program: RealProgram,
        listen: str,
        restart_policy: str,
        paths: Paths,
        server: str,
        prepare: Callable[[], tuple[list[str], dict[str, str]]],
        before: Object | None,
    ) -> None:
        self._spec, self._listen = spec, listen
        self._policy, self._paths, self._prepare = restart_policy, paths, prepare
        self._server = server
        self._digest = digest(program, server)
        self._restarts = int((before or {}).get("restartCount") or 0)
        self._last: End | None = None
        self._done = False
        self._refused = ""
        self._pause = _FIRST_PAUSE
        self._next_start = 0.0
        self._listeners_seen = 0.0
        self._process = self._adopt(before)
        self._started = str(((before or {}).get("state") or {}).get("running", {}).get("startedAt") or timestamp())
        self._started_at = time.monotonic()
        self._renew_probes()

    @property
    def state(self) -> ContainerState:
        name, image = self._spec["name"], self._spec.get("image", "")
        if self._process is not None:
            return ContainerState(
                name,
                image,
                "running",
                started=self._started,
                ready=self._is_ready(),
                startup_done=self._startup_done(),
                restarts=self._restarts,
                last=self._last,
            )
        if self._done:
            return ContainerState(name, image, "ended", restarts=self._restarts, last=self._last)
        reason, message = "CrashLoopBackOff", f"back-off {self._pause:g}s restarting, see {self._paths.log}"
        if self._refused:
            reason, message = "ListensBeyondLoopback", self._refused
        elif self._last is None:
            reason, message = "ContainerCreating", ""
        return ContainerState(name, image, "waiting", reason, message, restarts=self._restarts, last=self._last)

    @property
    def last_words(self) -> str:
        """How the process last ended and the last line it wrote; empty where it never ended badly."""
        if self._last is None or self._last.exit_code == 0:
            return ""
        return f"ended with {self._last.exit_code}: {tail(self._paths.log, 1).strip()}"

    @property
    def probe_message(self) -> str:
        """What the readiness probe last complained about."""
        return self._readiness.message if self._readiness and not self._readiness.passed else ""

    def step(self) -> ContainerState:
        """Do what is due now. NotYet (from ``prepare``) where the container cannot be started yet."""
        now = time.monotonic()
        if self._process is not None and not processes.alive(self._process):
            child, code = _reap(self._process.pid)
            if child and code is None:
                return self.state  # its first thread is gone, others still end: the exit code comes with the last
            self._note_end(now, code)
        if self._process is None and not self._done and not self._refused and now >= self._next_start:
            self._start()
        if self._process is not None:
            self._ask(now)
        return self.state

    def stop(self, grace: float) -> None:
        """Stop the process and forget it."""
        if self._process is not None:
            processes.stop(self._process, grace=grace)
        self._process = None
        self._paths.record.unlink(missing_ok=True)

    def change(self, program: RealProgram) -> None:
        """Take another program, restarting when it differs."""
        if digest(program, self._server) == self._digest:
            return
        self.stop(5.0)
        self._digest, self._done, self._refused = digest(program, self._server), False, ""
        self._pause, self._next_start = _FIRST_PAUSE, 0.0

    def _adopt(self, before: Object | None) -> processes.Process | None:
        """The process of an earlier agent, when it still runs the right program."""
        found = processes.load(self._paths.record)
        if found is not None and processes.alive(found):
            if found.digest == self._digest:
                return found
            processes.stop(found, grace=5.0)
        if found is not None or "running" in ((before or {}).get("state") or {}):
            self._restarts += 1  # it ran, and ended while nobody looked
        return None

    def _start(self) -> None:
        command, env = self._prepare()
        self._paths.work.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._process = processes.spawn(
            f"pod {self._spec['name']}",
            guarded(self._listen, command),
            record=self._paths.record,
            log=self._paths.log,
            env=env,
            cwd=self._paths.work,
            digest=self._digest,
        )
        self._started, self._started_at = timestamp(), time.monotonic()
        self._listeners_seen = self._started_at
        self._renew_probes()

    def _note_end(self, now: float, code: int | None) -> None:
        reason = "ContainerStatusUnknown" if code is None else ""
        self._last = End(137 if code is None else code, self._started, timestamp(), reason)
        if self._process is not None:
            processes.stop(self._process)  # what it left behind
        self._process = None
        self._paths.record.unlink(missing_ok=True)
        if not will_restart(self._last, self._policy):
            self._done = True
            return
        if now - self._started_at > _QUIET:
            self._pause = _FIRST_PAUSE
        self._restarts += 1
        self._next_start = now + self._pause
        self._pause = min(_LONGEST_PAUSE, self._pause * 2)

    def _renew_probes(self) -> None:
        def schedule(kind: str, eager: bool) -> probes.Schedule | None:
            return probes.Schedule(self._spec[kind], eager) if kind in self._spec else None

        self._startup = schedule("startupProbe", True)
        self._readiness = schedule("readinessProbe", True)
        self._liveness = schedule("livenessProbe", False)

    def _ask(self, now: float) -> None:
        process = self._process
        assert process is not None

        def question(probe: Object) -> str:
            return probes.ask(probe, self._spec, self._listen, process)

        if self._startup and not self._startup.ever_passed:
            self._startup.run(now, question)
            if self._startup.exhausted(now):
                self._kill(now)
            return
        if self._readiness:
            self._readiness.run(now, question)
        if self._liveness:
            self._liveness.run(now, question)
            if self._liveness.exhausted(now):
                self._kill(now)
                return
        if now - self._listeners_seen > (1.0 if now - self._started_at < _LISTENERS_EVERY else _LISTENERS_EVERY):
            self._listeners_seen = now
            self._stay_at_home(process)

    def _stay_at_home(self, process: processes.Process) -> None:
        """Stop a program that listens where other machines could reach it."""
        open_to_all = [entry for entry in sockets.listening(processes.session(process)) if not entry.loopback]
        if open_to_all:
            self.stop(2.0)
            self._refused = (
                f"the program listens on {open_to_all[0].address}:{open_to_all[0].port}, beyond this machine, and was stopped; "
                "give it an argument with {pod_ip}"
            )

    def _kill(self, now: float) -> None:
        assert self._process is not None
        processes.stop(self._process, grace=5.0)
        self._note_end(now, 137)

    def _startup_done(self) -> bool:
        return self._startup is None or self._startup.ever_passed

    def _is_ready(self) -> bool:
        if not self._startup_done():
            return False
        if self._readiness is None:
            return time.monotonic() - self._started_at >= _LIVED
        return self._readiness.passed


def _reap(pid: int) -> tuple[bool, int | None]:
    """Whether ``pid`` is a child, and its exit code (128 + signal where one killed it); None while it is still ending.

    The end of an adopted process, which is no child, nobody saw: its code stays unknown.
    """
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return False, None
    if ended != pid:
        return True, None
    code = os.waitstatus_to_exitcode(status)
    return True, code if code >= 0 else 128 - code

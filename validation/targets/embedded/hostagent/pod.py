"""One pod of the node ``host`` from its first sight to its removal, in a thread of its own."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from base.errors import ChandleryError
from base.files import write_atomic
from base.kube import Object
from validation.targets.embedded.addressing import HOST_ADDRESS, PodAddress
from validation.targets.embedded.hostagent import volumes
from validation.targets.embedded.hostagent.api import Api, Token, timestamp
from validation.targets.embedded.hostagent.container import Container, Paths, free_port
from validation.targets.embedded.hostagent.environment import NotYet, Place, command_line, environment, fill
from validation.targets.embedded.hostagent.status import ContainerState, pod_status
from validation.targets.embedded.hostagent.workload import workloads
from validation.targets.embedded.kubeconfig import render
from validation.targets.embedded.layout import Layout
from validation.targets.embedded.programs import Programs, RealProgram

log = logging.getLogger("hostagent")
#: Pauses between two looks at a pod, in seconds: while something is going on, and when it is as it should be.
_BUSY, _CALM = 0.1, 0.5
#: How often Secrets and ConfigMaps are read again for their volumes.
_REFRESH = 20.0
_LONGEST_GRACE = 30.0


class PodWorker(threading.Thread):
    """``programs`` gives the table as it is now; ``changed`` is called when readiness may have changed."""

    def __init__(
        self,
        api: Api,
        layout: Layout,
        server: str,
        address: PodAddress,
        pod: Object,
        programs: Callable[[], Programs],
        changed: Callable[[], None],
    ) -> None:
        super().__init__(name=f"pod {pod['metadata']['namespace']}/{pod['metadata']['name']}", daemon=True)
        self._api, self._layout, self._server, self.address = api, layout, server, address
        self._programs, self._changed = programs, changed
        self._pod, self._gone, self._lock, self._wake = pod, False, threading.Lock(), threading.Event()
        self._containers: dict[str, Container] = {}
        self._written: Object | None = None
        self._tokens: dict[str, Token] = {}
        self._volumes_at = float("-inf")
        self.ready = False
        self.finished = False

    # -- from other threads -------------------------------------------------------------------------------------

    @property
    def pod(self) -> Object:
        with self._lock:
            return self._pod

    def offer(self, pod: Object) -> None:
        """A newer version of the pod."""
        with self._lock:
            if int(pod["metadata"]["resourceVersion"]) > int(self._pod["metadata"]["resourceVersion"]):
                self._pod = pod
        self._wake.set()

    def forget(self) -> None:
        """The pod is gone from the API."""
        self._gone = True
        self._wake.set()

    # -- the thread ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        while not self.finished:
            try:
                pause = self._look()
            except ChandleryError as error:
                log.warning("%s: %s", self.name, error.message)
                pause = 1.0
            except Exception:
                log.exception("%s", self.name)
                pause = 2.0
            self._wake.wait(pause)
            self._wake.clear()

    def _look(self) -> float:
        pod = self.pod
        if self._gone or pod["metadata"].get("deletionTimestamp"):
            self._end(pod)
            return 0.0
        if (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
            return 5.0
        table, names = self._programs(), workloads(pod)
        programs = table.behind(names)
        annotations: dict[str, str] = {}
        blocked: tuple[str, str] | None = None
        if programs:
            states, simulated = self._real(pod, programs)
            if simulated:
                annotations["chandlery.dev/simulated-containers"] = ",".join(simulated)
        elif table.simulates(names):
            states = [_shown(container, pod) for container in pod["spec"]["containers"]]
            annotations["chandlery.dev/simulated"] = "true"
        else:
            self._stop_containers(5.0)
            blocked = (
                "NoProgram",
                f"no program stands behind {names[-1]} on the embedded target: programs.json neither lists nor simulates it",
            )
            states = [
                ContainerState(c["name"], c.get("image", ""), "waiting", "NoProgram", blocked[1])
                for c in pod["spec"]["containers"]
            ]
            self._api.tell(pod, *blocked)
        self._write(pod, states, annotations, blocked)
        return _CALM if self.ready or blocked else _BUSY

    def _real(self, pod: Object, programs: tuple[RealProgram, ...]) -> tuple[list[ContainerState], list[str]]:
        """States of all containers, and the names of those that no program stands behind."""
        by_name = {program.container or pod["spec"]["containers"][0]["name"]: program for program in programs}
        states, simulated = [], []
        for spec in pod["spec"]["containers"]:
            program = by_name.get(spec["name"])
            if program is None:
                states.append(_shown(spec, pod))
                simulated.append(spec["name"])
                continue
            try:
                self._prepare_pod(pod)
                container = self._container(pod, spec, program)
                state = container.step()
                if container.probe_message:
                    self._api.tell(pod, "Unhealthy", f"{spec['name']}: readiness probe: {container.probe_message}")
                if state.reason == "CrashLoopBackOff":
                    self._api.tell(pod, "BackOff", f"{spec['name']} {container.last_words}")
                if state.reason == "ListensBeyondLoopback":
                    self._api.tell(pod, state.reason, state.message)
                states.append(state)
            except NotYet as error:
                self._api.tell(pod, "FailedMount" if error.reason == "ContainerCreating" else "Failed", error.message)
                states.append(self._waiting(spec, error.reason, error.message))
            except ChandleryError as error:
                self._api.tell(pod, "Failed", error.message)
                states.append(self._waiting(spec, "RunContainerError", error.message))
        return states, simulated

    def _waiting(self, spec: Object, reason: str, message: str) -> ContainerState:
        container = self._containers.get(spec["name"])
        if container is not None and container.state.phase == "running":
            return container.state
        return ContainerState(spec["name"], spec.get("image", ""), "waiting", reason, message)

    def _container(self, pod: Object, spec: Object, program: RealProgram) -> Container:
        name = spec["name"]
        if name in self._containers:
            self._containers[name].change(program)
            return self._containers[name]
        meta = pod["metadata"]
        paths = Paths(
            record=self._layout.run / f"pod.{meta['uid']}.{name}.json",
            log=self._layout.logs / "pods" / f"{meta['namespace']}_{meta['name']}_{name}.log",
            work=self._directory / name / "work",
        )
        before = next((c for c in (pod.get("status") or {}).get("containerStatuses") or () if c["name"] == name), None)
        policy = pod["spec"].get("restartPolicy", "Always")

        def prepare() -> tuple[list[str], dict[str, str]]:
            return self._command(spec, self._program_now(spec, program))

        self._containers[name] = Container(spec, program, self.address.listen, policy, paths, self._server, prepare, before)
        return self._containers[name]

    def _program_now(self, spec: Object, otherwise: RealProgram) -> RealProgram:
        pod = self.pod
        for program in self._programs().behind(workloads(pod)):
            if (program.container or pod["spec"]["containers"][0]["name"]) == spec["name"]:
                return program
        return otherwise

    def _command(self, spec: Object, program: RealProgram) -> tuple[list[str], dict[str, str]]:
        pod, place = self.pod, self._place(spec["name"])
        namespace = pod["metadata"]["namespace"]

        def read(kind: str, name: str) -> Mapping[str, str] | None:
            content = self._api.content(kind, namespace, name)
            return None if content is None else {key: value.decode(errors="replace") for key, value in content.items()}

        def port() -> int:
            return free_port(self.address.listen)

        volumes.mount(place.root, spec, place.volumes)
        own = environment(pod, spec, place, read)
        env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._directory / spec["name"] / "work"),
            "TMPDIR": str(place.root / "tmp"),
            "HOSTNAME": str(pod["metadata"]["name"]),
            "KUBECONFIG": str(self._directory / "credentials" / "kubeconfig"),
            "POD_NAME": str(pod["metadata"]["name"]),
            "POD_NAMESPACE": namespace,
            **own,
        }
        env |= {name: fill(value, pod, place, port) for name, value in program.env.items()}
        return command_line(program, pod, spec, env, place, port), env

    def _place(self, container: str) -> Place:
        names = [volume["name"] for volume in self.pod["spec"].get("volumes") or ()]
        return Place(
            pod_ip=self.address.listen,
            host_ip=HOST_ADDRESS,
            node=self._api.node,
            root=self._directory / container / "root",
            volumes={name: self._directory / "volumes" / name for name in names},
        )

    def _prepare_pod(self, pod: Object) -> None:
        """Credentials and volumes, made before the first start and kept fresh."""
        now = time.monotonic()
        old = self._tokens.get("")
        if old is None or now >= old.renew_at:
            self._write_credentials(pod)
        if now - self._volumes_at < _REFRESH:
            return
        namespace = pod["metadata"]["namespace"]
        place = self._place(pod["spec"]["containers"][0]["name"])
        for volume in pod["spec"].get("volumes") or ():
            content = volumes.files(
                pod,
                volume,
                place,
                lambda kind, name: self._api.content(kind, namespace, name),
                lambda audience, seconds: self._token(pod, audience, seconds),
            )
            volumes.write(place.volumes[volume["name"]], content)
        self._volumes_at = now

    def _token(self, pod: Object, audience: str, seconds: int = 3600) -> str:
        found = self._tokens.get(audience)
        if found is None or time.monotonic() >= found.renew_at:
            found = self._tokens[audience] = self._api.token(pod, audience=audience, seconds=seconds)
        return found.value

    def _write_credentials(self, pod: Object) -> None:
        directory = self._directory / "credentials"
        token = self._token(pod, "")
        write_atomic(directory / "token", token, mode=0o600)
        # client-go reads the file again by itself and falls back to the token; both are given for clients that know one.
        user = {"token": token, "tokenFile": str(directory / "token")}
        ca = (self._layout.pki / "ca.crt").read_bytes()
        text = render(self._layout.name, self._server, ca, user, namespace=pod["metadata"]["namespace"])
        write_atomic(directory / "kubeconfig", text, mode=0o600)

    @property
    def _directory(self) -> Path:
        return self._layout.pods / str(self._pod["metadata"]["uid"])

    def _write(
        self, pod: Object, states: list[ContainerState], annotations: dict[str, str], blocked: tuple[str, str] | None
    ) -> None:
        now = timestamp()
        status = pod_status(pod, states, now=now, host_address=HOST_ADDRESS, address=self.address.reported, blocked=blocked)
        wanted: Object = {"status": _timeless(status), "annotations": annotations}
        if wanted == self._written:
            return
        written = self._api.write_status(pod, status, annotations)
        if written is None:
            return
        self._written = wanted
        self.offer(written)
        self.ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status["conditions"])
        self._changed()

    def _stop_containers(self, grace: float) -> None:
        threads = [threading.Thread(target=c.stop, args=(grace,), daemon=True) for c in self._containers.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._containers.clear()

    def _end(self, pod: Object) -> None:
        self.ready = False
        self._changed()
        grace = pod["metadata"].get("deletionGracePeriodSeconds")
        self._stop_containers(min(_LONGEST_GRACE, float(grace if grace is not None else _LONGEST_GRACE)))
        if not self._gone:
            self._api.remove(pod)
        shutil.rmtree(self._directory, ignore_errors=True)
        self._api.forget(str(pod["metadata"]["uid"]))
        self.finished = True


def _shown(spec: Object, pod: Object) -> ContainerState:
    """A container that no program stands behind, shown as running."""
    started = (pod.get("status") or {}).get("startTime") or timestamp()
    return ContainerState(
        spec["name"], spec.get("image", ""), "running", started=started, ready=True, startup_done=True, simulated=True
    )


def _timeless(status: Object) -> Object:
    """The status without its moments, which alone are no reason to write it again."""
    text = json.dumps(status, default=str)
    conditions = [{k: v for k, v in c.items() if k != "lastTransitionTime"} for c in json.loads(text)["conditions"]]
    return {**json.loads(text), "conditions": conditions, "startTime": "", "initContainerStatuses": []}

"""The host agent put together: watches pods and Services, keeps a worker per pod and the proxy's table."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from pathlib import Path

from base import processes
from base.deadlines import Deadline
from base.errors import InvalidInput, NotFound, Unavailable
from base.files import write_json
from base.kube import Cluster, Object, watch
from base.kube.kinds import POD, SERVICE
from validation.targets.embedded import settings as target_settings
from validation.targets.embedded.addressing import FIRST_POD, LAST_POD, PodAddress
from validation.targets.embedded.control_plane import EGRESS_SOCKET
from validation.targets.embedded.hostagent import node, services
from validation.targets.embedded.hostagent.api import Api, forever
from validation.targets.embedded.hostagent.pod import PodWorker
from validation.targets.embedded.hostagent.proxy import Proxy
from validation.targets.embedded.layout import Layout
from validation.targets.embedded.programs import Programs, load_programs

log = logging.getLogger("hostagent")
#: A watch is opened anew after this many seconds, whatever happens.
_WATCH = 3600.0


class Agent:
    """One node's agent. ``name`` is the node's name."""

    def __init__(self, layout: Layout, name: str = "host") -> None:
        found = target_settings.load(layout)
        if found is None:
            raise NotFound(f"there is no target {layout.name}", where=str(layout.directory))
        self._layout, self._settings, self._name = layout, found, name
        self._cluster = Cluster(layout.component_kubeconfig("host-agent"))
        self._api = Api(self._cluster, name)
        self._proxy = Proxy(found.addressing, Path(EGRESS_SOCKET))
        self._workers: dict[str, PodWorker] = {}
        self._services: dict[tuple[str, str], Object] = {}
        self._lock = threading.RLock()
        self._programs = Programs()
        self._programs_seen: tuple[int, int] | None = None

    def run(self) -> None:
        """Work until the process is ended."""
        self._proxy.start()
        self._refresh_table()
        threads = [
            forever("node", lambda: node.beat(self._cluster, self._name)),
            forever("services", self._watch_services),
            forever("pods", self._watch_pods),
        ]
        threads[0].join()

    # -- the program table --------------------------------------------------------------------------------------

    def programs(self) -> Programs:
        """The table, read again when the file changed; a broken file leaves the last good one in force."""
        try:
            stat = self._layout.programs.stat()
            seen = (stat.st_mtime_ns, stat.st_ino)
        except FileNotFoundError:
            seen = None
        with self._lock:
            if seen != self._programs_seen:
                self._programs_seen = seen
                try:
                    self._programs = load_programs(self._layout)
                except InvalidInput as error:
                    log.error("%s", error.message)
            return self._programs

    # -- watches ------------------------------------------------------------------------------------------------

    def _watch_services(self) -> None:
        fresh: dict[tuple[str, str], Object] = {}  # filled by the list at the start, then in force
        for change in watch(self._cluster, SERVICE, Deadline.after(_WATCH)):
            with self._lock:
                if change is None:
                    self._services = fresh
                else:
                    key = (change.object["metadata"]["namespace"], change.object["metadata"]["name"])
                    fresh.pop(key, None)
                    if change.type != "DELETED":
                        fresh[key] = change.object
            if self._services is fresh:
                self._refresh_table()

    def _watch_pods(self) -> None:
        listed: set[str] = set()
        complete = False
        for change in watch(self._cluster, POD, Deadline.after(_WATCH), fields=f"spec.nodeName={self._name}"):
            if change is None:
                if not complete:
                    self._sweep(listed)
                complete = True
                continue
            uid = str(change.object["metadata"]["uid"])
            if not complete:
                listed.add(uid)
            worker = self._workers.get(uid)
            if change.type == "DELETED":
                if worker is not None:
                    worker.forget()
            elif worker is None:
                self._take_on(change.object)
            else:
                worker.offer(change.object)
            with self._lock:
                self._workers = {u: w for u, w in self._workers.items() if not w.finished}

    def _take_on(self, pod: Object) -> None:
        uid = str(pod["metadata"]["uid"])
        address = self._address(uid)
        worker = PodWorker(self._api, self._layout, self._settings.server, address, pod, self.programs, self._refresh_table)
        with self._lock:
            self._workers[uid] = worker
        worker.start()

    def _sweep(self, present: set[str]) -> None:
        """Stop what is left of pods that went away while no agent was there."""
        with self._lock:
            for uid, worker in self._workers.items():
                if uid not in present:
                    worker.forget()
            kept = {*present, *self._workers}
        for record in self._layout.run.glob("pod.*.json"):
            if record.name.split(".")[1] not in kept:
                process = processes.load(record)
                if process is not None:
                    log.info("stopping %s of a pod that is gone", process.name)
                    processes.stop(process, grace=5.0)
                record.unlink(missing_ok=True)
        for directory in self._layout.pods.glob("*"):
            if directory.name not in kept:
                shutil.rmtree(directory, ignore_errors=True)

    # -- addresses and the proxy's table ------------------------------------------------------------------------

    def _address(self, uid: str) -> PodAddress:
        """The pod's address: kept in its directory, else the lowest that no pod has."""
        with self._lock:
            taken = {int(number) for file in self._layout.pods.glob("*/address.json") if (number := _number(file))}
            own = _number(self._layout.pods / uid / "address.json")
            number = own or next((n for n in range(FIRST_POD, LAST_POD) if n not in taken), 0)
            if not number:
                raise Unavailable("no address is left for another pod", where=self._name)
            if not own:
                write_json(self._layout.pods / uid / "address.json", {"number": number})
            return self._settings.addressing.pod(number)

    def _refresh_table(self) -> None:
        with self._lock:
            backends = [services.backend(w.pod, w.address.listen, w.ready) for w in self._workers.values()]
            found = services.table(
                self._services.values(),
                backends,
                api=("127.0.0.1", self._settings.ports["api"]),
                api_service=self._settings.addressing.api_service,
            )
        self._proxy.update(found)


def _number(file: Path) -> int:
    try:
        return int(json.loads(file.read_text())["number"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return 0

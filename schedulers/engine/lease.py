"""Leader election by a Lease, as KAI's scheduler does it: one engine decides, others wait."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

from base.errors import ChandleryError
from base.events import Reporter
from base.kube import Cluster, Object, Refusal
from base.kube.kinds import LEASE
from schedulers.engine.read_groups import seconds

DURATION_S = 15
_RENEW_S = 2.0


class Leader:
    """Holds or waits for one Lease in a thread of its own."""

    def __init__(self, cluster: Cluster, reporter: Reporter, *, namespace: str, name: str, identity: str) -> None:
        self._cluster = cluster
        self._reporter = reporter
        self._namespace, self._name, self._identity = namespace, name, identity
        self._stop = threading.Event()
        self._renewed = float("-inf")
        self._waiting_for = ""
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def leading(self) -> bool:
        """True while the Lease is ours and fresh: after a failed renewal it ends before another may take over."""
        return time.monotonic() - self._renewed < DURATION_S - 2 * _RENEW_S

    def stop(self) -> None:
        """Stop renewing and give the Lease back, so that a successor need not wait for it to expire."""
        self._stop.set()
        self._thread.join(timeout=20)
        if self.leading:
            self._renewed = float("-inf")
            try:
                lease = self._cluster.find(LEASE, self._name, self._namespace)
                if lease and (lease.get("spec") or {}).get("holderIdentity") == self._identity:
                    lease["spec"].update(holderIdentity="", renewTime=_now(), leaseDurationSeconds=1)
                    self._cluster.replace(LEASE, lease)
            except ChandleryError as error:
                self._reporter.event("lease-failed", f"the lease could not be given back: {error.message}")

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if self._acquire():
                    self._renewed = time.monotonic()
            except Refusal as error:
                if error.reason not in ("Conflict", "AlreadyExists"):
                    self._reporter.event("lease-failed", f"lease {self._namespace}/{self._name}: {error.message}")
            except ChandleryError as error:
                self._reporter.event("lease-failed", f"lease {self._namespace}/{self._name}: {error.message}")
            self._stop.wait(_RENEW_S)

    def _acquire(self) -> bool:
        lease = self._cluster.find(LEASE, self._name, self._namespace)
        if lease is None:
            meta = {"name": self._name, "namespace": self._namespace}
            self._cluster.create(LEASE, {"metadata": meta, "spec": self._spec({})})
            return True
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        if holder not in ("", self._identity) and not _expired(spec):
            if holder != self._waiting_for:
                self._waiting_for = holder
                self._reporter.event("lease-waiting", f"waiting for {holder} to give up the lease")
            return False
        lease["spec"] = self._spec(spec)
        self._cluster.replace(LEASE, lease)
        return True

    def _spec(self, old: Object) -> Object:
        now = _now()
        ours = old.get("holderIdentity") == self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_S,
            "acquireTime": old.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": int(old.get("leaseTransitions") or 0) + (0 if ours or not old else 1),
        }


def _expired(spec: Object) -> bool:
    renewed = seconds(spec.get("renewTime"))
    return time.time() - renewed > float(spec.get("leaseDurationSeconds") or DURATION_S)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

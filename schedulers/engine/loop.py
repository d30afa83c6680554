"""The loop: look, group, decide, act. One thread decides; writes happen in the pool of :mod:`schedulers.engine.effects`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from base.deadlines import Deadline, poll
from base.errors import ChandleryError
from base.events import Reporter
from base.kube import Cluster, Object
from base.kube.kinds import POD, POD_GROUP, QUEUE, SCHEDULING_SHARD
from schedulers.engine import status
from schedulers.engine.effects import Effects, timestamp
from schedulers.engine.grouping import Grouper, explain
from schedulers.engine.lease import Leader
from schedulers.engine.read import Objects, Reader
from schedulers.engine.store import Store
from schedulers.kai import names
from schedulers.policy import Decisions, cycle

_SYNC_S = 60.0
#: A pod whose grouping failed is tried again after this long.
_REGROUP_S = 3.0
#: Conditions whose text changes from cycle to cycle are written no more often than this.
_CONDITION_S = 2.0
#: Status is brought up to date this often; a pod that is bound at once then costs its group one write and not two.
_STATUS_S = 2.0
#: Time alone changes little (a pod that will not go); look again this often where nothing else changes.
_QUIET_S = 10.0
#: Without a finished cycle for this long the engine is not healthy.
_STALE_S = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    """How one engine runs. ``partition`` None serves the default pool and every SchedulingShard; otherwise just that pool."""

    scheduler_name: str = names.SCHEDULER_NAME
    namespace: str = names.NAMESPACE
    partition: str | None = None
    period_s: float = 1.0
    identity: str = "kai-reference"


class Engine:
    """One engine on one cluster."""

    def __init__(self, cluster: Cluster, reporter: Reporter, options: Options) -> None:
        self._reporter = reporter
        self._options = options
        self._store = Store(cluster, reporter)
        self._effects = Effects(cluster, self._store, reporter, options.scheduler_name)
        self._grouper = Grouper(cluster, self._store, options.scheduler_name)
        self._reader = Reader(options.scheduler_name, shares=False)
        suffix = f"-{options.partition}" if options.partition else ""
        self._leader = Leader(
            cluster, reporter, namespace=options.namespace, name=f"{names.LEASE}{suffix}", identity=options.identity
        )
        #: A plain flag, because a signal handler may not wait for the lock of an Event that the interrupted code holds.
        self._stopping = False
        self._regroup_at: dict[str, float] = {}
        self._written: dict[str, float] = {}
        self._seen = -1
        self._last_busy = True
        self._status_at = 0.0
        self._status_seen = -1
        self._alive_at = time.monotonic()
        self._cycles = 0
        self._last_s = 0.0

    # -- life ---------------------------------------------------------------------------------------------------

    def run(self, *, once: bool = False) -> None:
        """Work until :meth:`stop`; with ``once`` until one cycle for each pool is carried out. Raises what ends the engine."""
        self._store.start()
        self._leader.start()
        try:
            poll(self._begun, Deadline.after(_SYNC_S), "the first look at the cluster", todo="see whether the CRDs are installed")
            self._reporter.event("synced", "all watches have listed, the lease is held")
            if once:
                self._once()
                return
            while not self._stopping:
                self._turn()
                self._raise_failure()
        finally:
            self._effects.close()
            self._leader.stop()
            self._store.stop()

    def stop(self) -> None:
        """End the loop within a period; what was started is finished. May be called from a signal handler."""
        self._stopping = True

    def health(self) -> Mapping[str, str]:
        """For :class:`schedulers.engine.health.Health`: what is wrong, by path."""
        missing = self._store.missing()
        stale = time.monotonic() - self._alive_at > _STALE_S
        ready = ""
        if missing:
            ready = f"waiting for {', '.join(missing)}"
        elif not self._leader.leading:
            ready = "the lease is not held"
        elif not self._cycles:
            ready = "no cycle has ended yet"
        dead = "no cycle has ended for a minute" if stale and self._leader.leading else ""
        return {"/healthz": dead, "/readyz": ready or dead}

    def details(self) -> Mapping[str, Any]:
        """Figures for people."""
        return {
            "engine": "reference",
            "leading": self._leader.leading,
            "cycles": self._cycles,
            "last_cycle_s": round(self._last_s, 3),
            "bound": self._effects.bound,
        }

    def _begun(self) -> bool:
        self._raise_failure()
        return self._stopping or (self._store.synced() and self._leader.leading)

    def _raise_failure(self) -> None:
        if self._store.failure is not None:
            raise self._store.failure

    def _once(self) -> None:
        """Group, wait for the groups to show, decide once, and finish the writes."""
        deadline = Deadline.after(_SYNC_S)
        self._group(self._store.objects())
        poll(self._effects.idle, deadline, "grouping")
        self._schedule()
        poll(self._effects.idle, deadline, "carrying out the decisions")
        self._write_status(self._store.objects())
        poll(self._effects.idle, deadline, "writing status")

    def _turn(self) -> None:
        """One round: when something changed, at once; but never so often that deciding takes all the time there is."""
        period = self._options.period_s
        rest = min(period, max(0.05, 4 * self._last_s))
        time.sleep(rest)
        if self._store.version == self._seen:
            self._store.changed.wait(max(0.0, period - rest))
        self._store.changed.clear()
        if self._stopping or not self._leader.leading:
            return
        quiet = time.monotonic() - self._alive_at
        if self._store.version != self._seen or self._last_busy or quiet > _QUIET_S:
            self._schedule()
        if time.monotonic() - self._status_at > _STATUS_S and self._status_seen != self._store.version:
            self._status_at, self._status_seen = time.monotonic(), self._store.version
            self._write_status(self._store.objects())

    # -- one cycle ----------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        started = time.monotonic()
        self._seen = self._store.version
        self._last_busy = False
        objects = self._store.objects()
        self._group(objects)
        self._resume(objects)
        self._reader.forget(objects)
        pods = {pod["metadata"]["uid"]: pod for pod in objects.pods}
        groups = {f"{g['metadata']['namespace']}/{g['metadata']['name']}": g for g in objects.groups}
        for pool in self._pools(objects):
            underway = self._effects.underway(objects.pods)
            now = time.time()
            decided = cycle(self._reader.snapshot(objects, underway, pool, now))
            self._reader.note(pool, decided, now)
            self._last_busy = self._last_busy or bool(decided.binds or decided.evictions or decided.pipelined)
            self._carry_out(decided, pods, groups, pool or names.DEFAULT_NODE_POOL)
        self._alive_at = time.monotonic()
        self._last_s = self._alive_at - started
        self._cycles += 1

    def _pools(self, objects: Objects) -> list[str]:
        if self._options.partition is not None:
            return [self._options.partition]
        named = {(shard.get("spec") or {}).get("partitionLabelValue") or "" for shard in objects.shards}
        return sorted({"", *named})

    def _group(self, objects: Objects) -> None:
        if self._options.partition:
            return  # pods of all pools are grouped by the engine of the default pool, as by KAI's one podgrouper
        classes = frozenset(c["metadata"]["name"] for c in objects.classes)
        now = time.monotonic()
        for pod in objects.pods:
            uid = pod["metadata"]["uid"]
            if not self._grouper.needed(pod):
                continue
            self._last_busy = True
            if self._regroup_at.get(uid, 0.0) <= now:
                self._regroup_at[uid] = now + _REGROUP_S
                self._effects.submit(f"group {uid}", partial(self._group_one, pod, classes))
        if len(self._regroup_at) > 2 * len(objects.pods) + 1000:
            self._regroup_at = {uid: at for uid, at in self._regroup_at.items() if at > now}

    def _group_one(self, pod: Object, classes: frozenset[str]) -> None:
        try:
            self._grouper.group(pod, classes)
        except ChandleryError as error:
            self._effects.event(pod, POD, "Warning", "PodGrouperWarning", explain(error))

    def _resume(self, objects: Objects) -> None:
        """BindRequests that nobody carries out: an engine that ended between deciding and binding left them."""
        for request in objects.requests:
            name = (request.get("spec") or {}).get("podName", "")
            pod = self._store.get(POD, name, request["metadata"]["namespace"])
            self._effects.resume(request, pod)

    # -- effects ------------------------------------------------------------------------------------------------

    def _carry_out(self, decided: Decisions, pods: Mapping[str, Object], groups: Mapping[str, Object], pool: str) -> None:
        for eviction in decided.evictions:
            self._effects.evict(pods[eviction.pod], groups.get(eviction.group), eviction)
        together: dict[str, list[tuple[Object, str]]] = {}
        for bind in decided.binds:
            together.setdefault(bind.group, []).append((pods[bind.pod], bind.node))
        for members in together.values():
            self._effects.bind(members, pool)
        self._explain(decided, pods, groups, pool)
        if decided.binds or decided.evictions:
            self._reporter.event(
                "cycle",
                f"pool {pool}: {len(decided.binds)} bound, {len(decided.evictions)} evicted, {len(decided.waiting)} groups wait",
                bound=len(decided.binds),
                evicted=len(decided.evictions),
                waiting=len(decided.waiting),
                pool=pool,
            )

    def _explain(self, decided: Decisions, pods: Mapping[str, Object], groups: Mapping[str, Object], pool: str) -> None:
        for key, message in decided.not_ready.items():
            self._effects.event(groups[key], POD_GROUP, "Normal", "NotReady", message)
        marked = set()
        for waiting in decided.waiting:
            group = groups[waiting.group]
            if (group.get("spec") or {}).get("markUnschedulable") is not False:
                marked.add(waiting.group)
            patch = None if waiting.running else status.condition_patch(group, waiting, pool, timestamp())
            news = patch is not None or self._effects.unsaid(group, "Unschedulable", waiting.message)
            if news and self._may_write(f"group {waiting.group}"):
                self._effects.event(group, POD_GROUP, "Normal", "Unschedulable", waiting.message)
                if patch:
                    self._effects.patch_status(POD_GROUP, group, patch)
        for uid, message in decided.pods.items():
            pod = pods[uid]
            mark = self._reader.pod(pod).group in marked and not status.says(pod, message)
            if (mark or self._effects.unsaid(pod, "Unschedulable", message)) and self._may_write(f"pod {uid}"):
                self._effects.event(pod, POD, "Warning", "Unschedulable", message)
                if mark:
                    self._effects.patch_status(POD, pod, status.pod_condition_patch(message, timestamp()), how="strategic")
        for key in decided.settled:
            clear = status.clear_patch(groups[key])
            if clear:
                self._effects.patch_status(POD_GROUP, groups[key], clear)

    def _may_write(self, what: str) -> bool:
        """Keeps texts that count nodes from being rewritten at every turn."""
        now = time.monotonic()
        if self._written.get(what, 0.0) > now:
            self._last_busy = True  # come back to it
            return False
        if len(self._written) > 20_000:
            self._written = {key: at for key, at in self._written.items() if at > now}
        self._written[what] = now + _CONDITION_S
        return True

    def _write_status(self, objects: Objects) -> None:
        used = status.usage(objects, self._reader)
        for group in objects.groups:
            key = f"{group['metadata']['namespace']}/{group['metadata']['name']}"
            patch = status.group_patch(group, used[key])
            if patch:
                self._effects.patch_status(POD_GROUP, group, patch)
        queues = {queue["metadata"]["name"]: queue for queue in objects.queues}
        for name, patch in status.queue_patches(objects, used).items():
            self._effects.patch_status(QUEUE, queues[name], patch)
        for shard in objects.shards:
            patch = status.shard_patch(shard, timestamp())
            if patch:
                self._effects.patch_status(SCHEDULING_SHARD, shard, patch)

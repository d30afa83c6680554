"""up, preview, refresh and destroy of one stack through Pulumi's Automation API, safe against each other and against a kill.

Two runs on one stack never meet: a lock of ours, dropped by the kernel with its holder, keeps our own apart, and Pulumi's
lock files keep plain ``pulumi`` apart. A run that was killed leaves a lock file, perhaps operations of which nobody knows
the end, perhaps an engine that still works; the next run clears up after it and goes on. That is safe because every
operation here can be repeated: objects are made by server-side apply, which takes over what is there already.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pulumi import automation as auto

from base import processes
from base.deadlines import Deadline, poll
from base.errors import ChandleryError, Refused, Unavailable
from base.events import Reporter
from base.files import lock
from base.kube import Cluster
from catalog.plan import Facts
from components import leftovers, stackfile
from components.command import EngineCommand, end_leftovers
from components.crds import make_missing
from components.failures import explain, unmet
from components.identity import same_cluster
from components.layout import Layout, Tools
from components.objects import Resource, Stage
from components.program import Declaration, declare, planned
from components.progress import Changes, Progress, short
from components.workspace import Workspace, open_stack, rewrite

#: How long an engine that outlived its interrupted run may take to finish what it has begun.
_ORPHAN_PATIENCE = 60.0

#: Operations at once. More than the CRDs of a usual cluster, which are best made all together (see components.program).
_PARALLEL = 32


@dataclass(frozen=True, slots=True)
class Outcome:
    """``seconds`` of wall clock; ``outputs`` of the stack after the run (empty for a preview and a destroy)."""

    verb: str
    changes: Changes
    seconds: float
    outputs: dict[str, Any] = field(default_factory=dict)


class Engine:
    """The engine for one stack. ``facts`` name its cluster, ``spec`` is the spec file, kept in the stack's settings for
    plain ``pulumi``."""

    def __init__(self, stack: str, facts: Facts, spec: Path, *, state: Path, tools: Tools, reporter: Reporter) -> None:
        self.layout = Layout(state, stack)
        self._facts = facts
        self._tools = tools
        self._reporter = reporter
        self._config = {"spec": str(spec.absolute()), "clusterUid": facts.cluster_uid}
        self._command = EngineCommand(tools, self.layout.engine_record, self.layout.log, self._interrupted)

    def up(self, declaration: Declaration, *, replace_cluster: bool = False) -> Outcome:
        """Bring the cluster to what is declared.

        Refused (nothing touched) while another run holds the stack, or where the cluster is not the one the stack was
        applied to, unless ``replace_cluster`` drops the records of the old one. Unavailable where the cluster does not
        answer. KeyboardInterrupt after an interrupt, once the engine has ended.
        """
        objects = planned(declaration)
        wanted = leftovers.intended(objects)
        crds = [resource for resource in objects if resource.stage is Stage.CRDS]
        program = _Remembering(lambda gate: declare(declaration, gate))
        with self._run("up", program, crds=crds, replace_cluster=replace_cluster) as run:
            with self._written_down(wanted) as before:
                result = run.stack.up(
                    program=program, on_event=run.progress, parallel=_PARALLEL, color="never", show_secrets=False
                )
            outputs = {key: value.value for key, value in result.outputs.items()}
            self._remove_leftovers(run, before - wanted)
        return Outcome("up", run.progress.changes, run.seconds, outputs)

    def preview(self, declaration: Declaration) -> Outcome:
        """What an up would change. Takes no lock of Pulumi's, but waits for no run either: Refused while one goes on."""
        program = _Remembering(lambda _: declare(declaration))
        with self._run("preview", program) as run:
            result = run.stack.preview(program=program, on_event=run.progress, parallel=_PARALLEL, color="never")
        return Outcome("preview", Changes.of(result.change_summary).with_released(run.progress.released), run.seconds)

    def refresh(self) -> Outcome:
        """Read the cluster's objects back into the state; the next up then puts right what has drifted."""
        with self._run("refresh") as run:
            run.stack.refresh(on_event=run.progress, color="never", show_secrets=False)
        return Outcome("refresh", run.progress.changes, run.seconds)

    def destroy(self) -> Outcome:
        """Take everything off the cluster but what is retained: CRDs, queues, and what charts mark as kept."""
        if not stackfile.read_state(self.layout.backend, self.layout.stack).exists:
            return Outcome("destroy", Changes(), 0.0)
        with self._run("destroy") as run:
            run.stack.destroy(on_event=run.progress, color="never", show_secrets=False)
            self._remove_leftovers(run, leftovers.read(self.layout.intended))
        return Outcome("destroy", run.progress.changes, run.seconds)

    def environment(self) -> dict[str, str]:
        """The environment in which plain ``pulumi`` works on the same stacks."""
        return self.layout.environment(self._tools)

    # -- one run ------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _run(
        self,
        verb: str,
        program: _Remembering | None = None,
        *,
        crds: Sequence[Resource] = (),
        replace_cluster: bool = False,
    ) -> Iterator[_Run]:
        """Everything around an operation: locks, clearing up, the check of the cluster, progress, errors.

        Missing ``crds`` are made while the CLI and the provider start; the program waits for them before it registers one.
        """
        name = self.layout.stack
        begun = time.monotonic()
        with contextlib.ExitStack() as held:
            held.enter_context(lock(self.layout.lock, f"{verb} of stack {name}"))
            step = held.enter_context(self._reporter.step(f"{verb} of stack {name}"))
            self._clear_locks()
            recorded = stackfile.read_state(self.layout.backend, name)
            cluster = held.enter_context(Cluster(self._facts.kubeconfig, context=self._facts.context or None))
            forget = self._judge(recorded, cluster.uid(), replace_cluster=replace_cluster)
            self.layout.prepare(encrypted=bool(recorded.salt))
            held.callback(shutil.rmtree, self.layout.scratch, ignore_errors=True)
            progress = Progress(self._reporter, step, preview=verb == "preview")
            if program is not None and crds:
                beside = held.enter_context(ThreadPoolExecutor(1))
                known = frozenset[str]() if forget else recorded.crds
                program.wait_for(beside.submit(self._make_crds, cluster, crds, known))
            try:
                stack, workspace = open_stack(self.layout, self._tools, self._command, recorded, self._config)
                if verb != "preview":
                    self._settle(workspace, recorded, forget=forget)
                run = _Run(stack, progress, cluster)
                yield run
                run.seconds = time.monotonic() - begun
                step.note(str(progress.changes))
            except auto.CommandError as error:
                if program is not None and program.error is not None:
                    raise program.error from None
                if not self._command.orderly:
                    raise Unavailable(
                        f"the engine was killed in the middle of the {verb}",
                        where=str(self.layout.log),
                        todo="run the same command again: it clears up and goes on",
                    ) from error
                conditions = [line for obj in progress.failed for line in _conditions(cluster, obj)]
                raise explain(verb, error, progress.errors, self.layout.log, conditions) from error

    def _make_crds(self, cluster: Cluster, crds: Sequence[Resource], known: frozenset[str]) -> None:
        made = make_missing(cluster, crds, known)
        if made:
            self._reporter.event("crds", f"made {made} CRDs", count=made)

    def _judge(self, recorded: stackfile.StackState, live: str, *, replace_cluster: bool) -> bool:
        """Whether the stack's records are to be dropped: they are of another cluster, and the user said to go on."""
        try:
            same_cluster(self.layout.stack, recorded, self._facts.cluster_uid, live)
        except Refused:
            if not replace_cluster or live != self._facts.cluster_uid:
                raise
            return True
        return False

    @contextlib.contextmanager
    def _written_down(self, wanted: frozenset[leftovers.Intended]) -> Iterator[frozenset[leftovers.Intended]]:
        """Keep a list of what the run is about to make until the engine has ended by itself and so recorded what it made.

        Yields what former runs left on the list.
        """
        before = leftovers.read(self.layout.intended)
        leftovers.write(self.layout.intended, wanted | before)
        try:
            yield before
        finally:
            if self._command.orderly:
                leftovers.write(self.layout.intended, before)

    def _remove_leftovers(self, run: _Run, objects: frozenset[leftovers.Intended]) -> None:
        leftovers.remove(run.cluster, objects, self._reporter)
        leftovers.write(self.layout.intended, ())

    def _settle(self, workspace: Workspace, recorded: stackfile.StackState, *, forget: bool) -> None:
        """Bring the state to where the next operation may start from."""
        if not forget and not recorded.pending:
            return
        name = self.layout.stack
        if forget:
            copy = self.layout.cluster / "backups" / f"stack-of-{recorded.cluster_uid}.json"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(stackfile.checkpoint_path(self.layout.backend, name), copy)
            self._reporter.event(
                "cluster-replaced",
                f"the records of {recorded.resources} objects on the former cluster are dropped; a copy is {copy}",
                objects=recorded.resources,
                copy=str(copy),
            )
            leftovers.write(self.layout.intended, ())
        else:
            begun = leftovers.interrupted(recorded.pending)
            leftovers.write(self.layout.intended, leftovers.read(self.layout.intended) | begun)
        for pending in recorded.pending if not forget else ():
            self._reporter.event(
                "pending-operation",
                f"was interrupted while {pending.operation} {short(pending.urn)}; it is done again",
                operation=pending.operation,
                urn=pending.urn,
            )
        rewrite(workspace, name, self.layout.scratch, keep_resources=not forget)

    def _clear_locks(self) -> None:
        """Remove the locks of dead processes, stop an engine that outlived its run, refuse while somebody else works."""
        for held in stackfile.read_locks(self.layout.backend, self.layout.stack):
            if held.alive and not self._stop_orphan(held):
                raise Refused(
                    f"another run works on stack {self.layout.stack}",
                    where=f"held by {held} ({held.file})",
                    todo="wait for it to end, or stop that process; `pulumi cancel` drops the lock of a lost machine",
                )
            stackfile.clear(held)
            self._reporter.event("lock-cleared", f"cleared the lock of an interrupted run: {held}", pid=held.pid)
        if end_leftovers(self.layout.engine_record):
            self._reporter.event("plugins-ended", "ended the plugins of an engine that was killed")

    def _stop_orphan(self, held: stackfile.Lock) -> bool:
        """Whether the holder is an engine that a run of ours started and did not live to see the end of; it is then ended.

        Its run is over for certain, since we hold our own lock.
        """
        process = processes.load(self.layout.engine_record)
        if process is None or process.pid != held.pid or not processes.alive(process):
            return False
        self._reporter.event("orphan-engine", f"an interrupted run left an engine behind; ending it: {held}", pid=held.pid)
        processes.interrupt(process)
        with contextlib.suppress(ChandleryError):
            poll(lambda: not processes.alive(process), Deadline.after(_ORPHAN_PATIENCE), "end of the engine")
        processes.stop(process, grace=5.0)
        return True

    def _interrupted(self) -> None:
        self._reporter.event(
            "interrupted", "interrupted: the engine finishes what it has begun (once more: at once, and the next run goes on)"
        )


@dataclass(slots=True)
class _Run:
    stack: auto.Stack
    progress: Progress
    cluster: Cluster
    seconds: float = 0.0


class _Remembering:
    """A program that keeps the error it ended with: the engine hands back only its text."""

    def __init__(self, program: Callable[[Awaitable[None] | None], object]) -> None:
        self._program = program
        self._first: Future[None] | None = None
        self.error: ChandleryError | None = None

    def wait_for(self, first: Future[None]) -> None:
        """Hand the program something to wait for; it fails where that fails."""
        self._first = first

    def __call__(self) -> None:
        try:
            self._program(self._gate(self._first) if self._first is not None else None)
        except ChandleryError as error:
            self.error = error
            raise

    async def _gate(self, first: Future[None]) -> None:
        try:
            await asyncio.wrap_future(first)
        except ChandleryError as error:
            self.error = error
            raise


def _conditions(cluster: Cluster, wanted: Mapping[str, Any]) -> list[str]:
    """What a failed object says about itself, as far as it can be asked."""
    meta = wanted["metadata"]
    try:
        kind = cluster.discover(str(wanted["apiVersion"]), str(wanted["kind"]))
        live = cluster.find(kind, str(meta["name"]), str(meta.get("namespace") or "") or None)
    except ChandleryError:
        return []
    return unmet({**live, "kind": kind.kind}) if live else []

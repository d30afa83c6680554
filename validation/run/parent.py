"""One run: start the workers, follow them, end them when it must be, and make one result of what they said."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from base.deadlines import Deadline
from base.errors import ChandleryError, DeadlineExceeded, Unavailable
from base.events import Reporter
from base.files import lock, write_atomic
from base.kube import Cluster
from catalog.plan import Facts, Plan
from spec.model import ClusterSpec
from validation.context import Context
from validation.harness.cleanup import await_namespaces, sweep
from validation.harness.names import CHECK, RUN
from validation.harness.times import Times
from validation.run.book import Book
from validation.run.crew import Crew, Worker, muster
from validation.run.results import RunResult, summary
from validation.run.select import choose

__all__ = ["Order", "run"]

#: Seconds that a worker may take to end after it was asked to, besides the clean-up of its running check.
_GRACE = 30.0
#: Checks at a time where their nodes are their own. Most of a check's time is a quiet window, so two cores are enough.
_SIDE_BY_SIDE = 3


@dataclass(frozen=True, slots=True)
class Order:
    """What each worker gets. ``suite`` is another folder or file of checks, for tests of the runner itself."""

    context: Context
    wanted: tuple[str, ...]
    times: Times
    suite: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"


def run(
    spec: ClusterSpec,
    facts: Facts,
    plan: Plan,
    reporter: Reporter,
    *,
    select: Sequence[str] = (),
    within: float = 3600.0,
    times: Times | None = None,
    suite: Path | None = None,
    workers: int = 0,
) -> RunResult:
    """Run the suite, or the checks that ``select`` names by id, case, room or add-on, against the cluster of ``facts``.

    Never raises for what a check found. NotFound for a name that fits nothing; Refused when a run is already going on here;
    KeyboardInterrupt after the running checks were cleaned up. ``within`` is in seconds; what has no verdict then is unknown.
    ``workers`` checks run side by side; 0 leaves it to the target (a customer's cluster gets one at a time).
    """
    context = Context.of(secrets.token_hex(4), spec, facts, plan)
    wanted = choose(select, context) if select and suite is None else tuple(select)
    order = Order(context, wanted, times or Times(), str(suite) if suite else "")
    place = facts.state_dir
    started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
    begin = time.monotonic()
    with lock(place / "validate.lock", f"validation of cluster {spec.name}"):
        order_file = place / "run" / "validate-order.json"
        write_atomic(order_file, order.to_json(), mode=0o600)
        count = workers or (1 if context.target == "cluster" else _SIDE_BY_SIDE)
        with reporter.step("validate") as step:
            notes = _clear(context, order.times, reporter)
            book = Book(notes=notes)
            with muster(count, order_file, place / "logs" / "validate.log") as crew:
                why = _Foreman(order, crew, book, reporter, step, place / "logs" / "validate.log").oversee(within)
            step.note(f"{len(book.done)} of {len(book.planned)} checks")
    checks = book.results(why)
    scheduler = context.addon(context.scheduler)
    return RunResult(
        run=context.run,
        cluster=context.cluster,
        cluster_uid=context.cluster_uid,
        spec=str(spec.source),
        target=context.target,
        kubernetes=context.kubernetes,
        scheduler=context.scheduler,
        scheduler_version=scheduler.version if scheduler else "",
        scheduler_state=scheduler.state if scheduler else "absent",
        scheduler_reason=context.scheduler_reason,
        started=started,
        seconds=round(time.monotonic() - begin, 1),
        addons=tuple(summary(item.addon, item.version, item.state, checks) for item in context.installed),
        checks=checks,
        notes=tuple(book.notes + ([why] if len(book.done) < len(book.planned) else [])),
    )


@dataclass(slots=True)
class _Foreman:
    """Sees one crew through a run."""

    order: Order
    crew: Crew
    book: Book
    reporter: Reporter
    step: Any
    log: Path

    def oversee(self, within: float) -> str:
        """Returns why some checks have no verdict; empty when all have one."""
        why = ""
        try:
            if not self.crew.follow(self._take, Deadline.after(within)):
                why = f"the run's deadline of {within:g} s came first"
                self._break_off()
        except KeyboardInterrupt:
            text = "interrupted: removing what the running checks have made (interrupt again to leave it there)"
            self.reporter.event("interrupted", text)
            self._break_off()
            raise
        finally:
            for worker in self.crew.workers:
                worker.end()
            faults = [worker.fault for worker in self.crew.workers if worker.fault]
            if self.book.planned:
                self._tidy(broken=bool(faults))
        why = why or self.book.stopped
        if faults and not why:
            why = f"the process that ran it ended early ({', '.join(faults)}); its log is {self.log}"
        if not self.book.planned:
            raise self._no_plan(why)
        return why

    def _take(self, worker: Worker, message: dict[str, Any]) -> None:
        self.book.take(worker, message, self.reporter, self.step)
        if self.crew.desk is None and self.book.planned:
            self.crew.desk = self.book.desk()
        if self.crew.desk and message["type"] == "result":
            self.crew.desk.done(worker.number)
        elif self.crew.desk and message["type"] == "stopped":
            self.crew.desk.close()

    def _break_off(self) -> None:
        self.crew.interrupt()
        self.crew.follow(self._take, Deadline.after(self.order.times.clean + _GRACE))

    def _tidy(self, *, broken: bool) -> None:
        """Nothing of this run may stay. What a process that died has left is removed from here."""
        selector, times = f"{RUN}={self.order.context.run}", self.order.times
        try:
            with _cluster(self.order.context) as cluster:
                if broken:
                    found = sweep(cluster, selector, within=times.clean + times.namespaces)
                    self.book.notes += [f"left by a check that was broken off, now removed: {item}" for item in found]
                else:
                    await_namespaces(cluster, selector, within=times.namespaces)
        except DeadlineExceeded as late:
            self.book.blame(late.message, self.reporter)
        except ChandleryError as error:
            text = f"whether this run has left something could not be seen ({error.message}); the next run will remove it"
            self.book.notes.append(text)

    def _no_plan(self, why: str) -> ChandleryError:
        tail = self.log.read_text(errors="replace").strip().splitlines()[-1:] if self.log.exists() else []
        text = f"the suite could not be started: {why or 'it holds no such check'}"
        return Unavailable(text, where=str(self.log), todo="".join(tail))


def _clear(context: Context, times: Times, reporter: Reporter) -> list[str]:
    """Remove what an earlier run has left that was killed; what was found, for the report."""
    try:
        with _cluster(context) as cluster:
            notes = [f"left by an earlier run, now removed: {item}" for item in sweep(cluster, CHECK, within=times.namespaces)]
    except ChandleryError as error:
        notes = [f"whether an earlier run has left something could not be seen: {error.message}"]
    for note in notes:
        reporter.event("note", note)
    return notes


def _cluster(context: Context) -> Cluster:
    return Cluster(Path(context.kubeconfig), context=context.context or None, timeout=5.0)

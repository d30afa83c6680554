"""The pytest plugin that runs the chosen checks under their deadlines and says what became of each.

Signals arrive as exceptions only while a check's set-up or body runs. Between checks and during clean-up an interrupt is
remembered and acted on when the clean-up is done: cleaning up is the one thing that must not be broken off.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

import pytest

from base.errors import ChandleryError
from validation import checks
from validation.checks import Check
from validation.gate import admit, subject_of
from validation.harness.timeline import Timeline
from validation.outcomes import Outcome, Ruling, Unknown, classify, combine, expect
from validation.run.results import CheckResult
from validation.run.session import Session

__all__ = ["Interrupted", "Overrun", "Plugin"]

#: Checks in a row that could not reach the API server before the rest is given up.
_DEAF = 3
#: Seconds that a check's clean-up may take beyond the time it gives itself.
_GRACE = 60.0


class Overrun(Unknown):
    """The check's own deadline came before it had decided."""


class Interrupted(Unknown):
    """Somebody asked the run to stop."""


@dataclass(frozen=True, slots=True)
class _Case:
    info: Check
    case: str

    @property
    def name(self) -> str:
        return f"{self.info.id}[{self.case}]" if self.case else self.info.id


class Plugin:
    """``wanted`` are names of checks or cases, empty for all. ``send`` takes a message for the parent, ``orders`` its words."""

    def __init__(
        self, session: Session, wanted: Sequence[str], send: Callable[[dict[str, Any]], None], orders: SimpleQueue[str]
    ) -> None:
        self._session = session
        self._wanted = frozenset(wanted)
        self._send = send
        self._orders = orders
        self._cases: dict[str, _Case] = {}
        self._rulings: list[Ruling] = []
        self._breakable = False
        self._interrupted = False
        self._deaf = 0

    # -- signals ------------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Take over the signals of this process; only the main thread may."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._interrupt)
        signal.signal(signal.SIGALRM, self._overrun)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._interrupted = True
        if self._breakable:
            self._breakable = False
            raise Interrupted("interrupted")

    def _overrun(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        raise Overrun("the check's own deadline came before it had decided")

    # -- choosing -----------------------------------------------------------------------------------------------

    def pytest_configure(self, config: pytest.Config) -> None:
        self._session.attach(config)

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep what is wanted; what may take longest first, so that nobody waits for it alone at the end."""
        kept: list[tuple[tuple[object, ...], pytest.Item]] = []
        for item in items:
            info = checks.of(getattr(item, "function", None))
            if info is None:
                raise pytest.UsageError(f"{item.nodeid} is not a check: it lacks @check")
            spec = getattr(item, "callspec", None)
            case = _Case(info, spec.id if spec else "")
            if self._wanted and not {case.name, info.id} & self._wanted:
                continue
            self._cases[item.nodeid] = case
            kept.append(((-info.seconds, info.room, info.id, case.case), item))
        chosen = [item for _, item in sorted(kept, key=lambda pair: pair[0])]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
        cases = [self._cases[item.nodeid] for item in items]
        planned = [self._result(case, Ruling(Outcome.UNKNOWN), 0.0) for case in cases]
        alone = [case.name for case in cases if case.info.disruptive]
        self._send({"type": "plan", "checks": planned, "alone": alone})

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run what the parent asks for, one at a time, until it says stop."""
        items = {self._cases[item.nodeid].name: item for item in session.items}
        while not session.shouldstop and not self._interrupted:
            self._send({"type": "ready"})
            word, _, name = self._next().partition(" ")
            if word != "run":
                break
            session.config.hook.pytest_runtest_protocol(item=items[name], nextitem=None)
        return True

    def _next(self) -> str:
        while not self._interrupted:
            with contextlib.suppress(Empty):
                return self._orders.get(timeout=0.5)
        return "stop"

    # -- running ------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, bool | None, bool | None]:
        del nextitem
        case = self._cases[item.nodeid]
        started = time.monotonic()
        self._rulings = []
        self._session.timeline = Timeline()
        self._session.current = case.name
        self._send({"type": "start", "name": case.name, "title": case.info.title})
        try:
            return (yield)
        finally:
            ruling = combine(self._rulings)
            subject = subject_of(case.info, self._session.context, case.case)
            fault = case.info.fault_of(subject.version) if subject and subject.state == "real" else ""
            verdict = expect(ruling, fault) if fault else ruling
            labs = [lab for lab, name in self._session.labs.items() if name == case.name]
            self._send({"type": "result", "labs": labs, **self._result(case, verdict, time.monotonic() - started)})
            self._maybe_stop(item)

    # trylast: inside pytest's own wrappers, whose teardown expects that their setup was there
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        case = self._cases[item.nodeid]
        refused = admit(case.info, self._session.context, case.case)
        if refused:
            raise _NotRun(refused)
        self._reach()
        signal.setitimer(signal.ITIMER_REAL, case.info.seconds)
        self._breakable = True
        try:
            if self._interrupted:
                raise Interrupted("interrupted")
            return (yield)
        finally:
            self._breakable = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        del item
        self._breakable = True
        try:
            return (yield)
        finally:
            self._breakable = False

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        del item
        signal.setitimer(signal.ITIMER_REAL, self._session.times.clean + _GRACE)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        del item
        report = yield
        error = call.excinfo.value if call.excinfo else None
        if isinstance(error, _NotRun):
            self._rulings.append(error.ruling)
        else:
            self._rulings.append(classify(call.when, error))  # type: ignore[arg-type]
        return report

    # -- helpers ------------------------------------------------------------------------------------------------

    def _reach(self) -> None:
        """Ask the API server first, so that a dead one costs each check seconds and not its deadline."""
        try:
            self._session.cluster.version()
        except ChandleryError:
            self._deaf += 1
            raise
        self._deaf = 0

    def _maybe_stop(self, item: pytest.Item) -> None:
        if self._interrupted:
            self._stop(item, "interrupted")
        elif self._deaf >= _DEAF:
            self._stop(item, f"given up: {_DEAF} checks in a row could not reach the API server")

    def _stop(self, item: pytest.Item, why: str) -> None:
        self._send({"type": "stopped", "text": why})
        item.session.shouldstop = why

    def _result(self, case: _Case, ruling: Ruling, seconds: float) -> dict[str, Any]:
        info = case.info
        subject = subject_of(info, self._session.context, case.case)
        return asdict(
            CheckResult(
                id=info.id,
                case=case.case,
                title=info.title,
                proves=info.proves,
                story=info.story,
                room=info.room,
                tier=info.tier,
                addon=subject.addon if subject else "",
                where=info.where,
                outcome=ruling.outcome,
                reason=ruling.reason,
                seconds=round(seconds, 2),
                seen=self._session.timeline.lines(),
            )
        )


class _NotRun(Exception):
    """Carries the gate's ruling from the set-up to the report."""

    def __init__(self, ruling: Ruling) -> None:
        super().__init__(ruling.reason)
        self.ruling = ruling

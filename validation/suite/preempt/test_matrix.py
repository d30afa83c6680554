"""Who may push out whom inside one queue."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from base.kube import Object
from validation.checks import check
from validation.harness import Lab

LOW, HIGH = 40, 60


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the matrix: a newcomer against the pod that holds the only GPU of the node."""

    newcomer: int
    newcomer_preemptible: bool
    holder: int
    holder_preemptible: bool

    @property
    def allowed(self) -> bool:
        """KAI's rule: strictly higher priority, and a victim that is preemptible. The newcomer's own kind does not matter."""
        return self.newcomer > self.holder and self.holder_preemptible

    @property
    def name(self) -> str:
        return f"{_word(self.newcomer, self.newcomer_preemptible)}-on-{_word(self.holder, self.holder_preemptible)}"


def _word(priority: int, preemptible: bool) -> str:
    return f"{'high' if priority == HIGH else 'low'}-{'pre' if preemptible else 'non'}"


#: higher, equal and lower priority, each with both kinds on both sides. ``equal`` is low on low.
CELLS = tuple(
    Cell(newcomer, mine, holder, theirs)
    for (newcomer, holder) in ((HIGH, LOW), (LOW, LOW), (LOW, HIGH))
    for mine, theirs in product((True, False), repeat=2)
)


@check(
    "T21",
    "Preemption matrix: only a strictly higher priority, only a preemptible victim",
    proves="A running job is pushed out by its own queue exactly when the documented rule says so, in all twelve combinations.",
    tier="sched",
    own_nodes=True,
    seconds=300,
)
def test_matrix(lab: Lab) -> None:
    """Twelve queues, each with a node of one GPU and a pod that holds it; then a newcomer in each. Where the rule allows it,
    the newcomer runs, the holder is gone and the eviction names both; everywhere else nothing changes in the quiet window."""
    nodes = lab.nodes(*([1] * len(CELLS)))
    where = {cell.name: node for cell, node in zip(CELLS, nodes, strict=True)}
    # twice the quota that the node can hold, so that no verdict comes from the queue's quota
    queues = {cell.name: lab.queue(cell.name, quota=2) for cell in CELLS}
    for cell in CELLS:
        lab.pod(
            f"{cell.name}.holder",
            queues[cell.name],
            node=where[cell.name],
            priority=cell.holder,
            preemptible=cell.holder_preemptible,
        )
    lab.until(lambda: len(lab.bound()) == len(CELLS), "binding of all twelve holders")
    with lab.board.steady():
        uids = {name: pod["metadata"]["uid"] for name, pod in lab.pods.live.items()}
    for cell in CELLS:
        lab.pod(
            f"{cell.name}.newcomer",
            queues[cell.name],
            node=where[cell.name],
            priority=cell.newcomer,
            preemptible=cell.newcomer_preemptible,
        )
    allowed = [cell for cell in CELLS if cell.allowed]
    lab.until(lambda: all(_took_over(lab, cell) for cell in allowed), f"take-over by {', '.join(cell.name for cell in allowed)}")
    for cell in allowed:
        lab.until(lambda cell=cell: _named(lab, cell), f"event Evict that names both sides of {cell.name}")  # type: ignore[misc]

    def broken() -> str | None:
        wrong = [cell.name for cell in CELLS if not cell.allowed and not _untouched(lab, cell, uids)]
        return f"preempted against the rule: {', '.join(wrong)}" if wrong else None

    lab.hold(broken)


def _took_over(lab: Lab, cell: Cell) -> bool:
    return bool(lab.node_of(f"{cell.name}.newcomer")) and f"{cell.name}.holder" not in lab.bound()


def _untouched(lab: Lab, cell: Cell, uids: dict[str, str]) -> bool:
    holder = lab.pods.live.get(f"{cell.name}.holder")
    same = holder is not None and holder["metadata"]["uid"] == uids[f"{cell.name}.holder"]
    return same and f"{cell.name}.holder" in lab.bound() and not lab.node_of(f"{cell.name}.newcomer")


def _named(lab: Lab, cell: Cell) -> bool:
    """True when an Evict event on the victim's PodGroup names action and evictor in its annotations."""
    evictor = lab.pods.live[f"{cell.name}.newcomer"]["metadata"]["annotations"].get("pod-group-name")

    def fits(event: Object) -> bool:
        notes = event["metadata"].get("annotations", {})
        return (
            event.get("reason") == "Evict"
            and notes.get("evictor-action-type") == "preempt"
            and notes.get("evictor-pod-group-name") == evictor
            and notes.get("evictor-pod-group-namespace") == lab.namespace
        )

    return any(fits(event) for event in lab.events.live.values())

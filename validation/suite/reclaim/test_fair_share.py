"""How queues share what nobody was promised."""

from __future__ import annotations

from validation.checks import check
from validation.harness import Lab, objects

GPUS = 8


@check(
    "T30",
    "Surplus GPUs are shared by weight, and by queue priority first",
    proves="Over-quota shares come out as configured, and are taken back from running jobs when a more urgent queue asks.",
    tier="sched",
    own_nodes=True,
    seconds=300,
)
def test_weights(lab: Lab) -> None:
    """Eight GPUs, two queues with quota 1 and weights 1 and 2, each asking for all: three and five must run. Then a queue of
    higher priority asks for three: it must get them, and two and three are left."""
    lab.nodes(GPUS)
    lab.department(objects.share(quota=GPUS, limit=GPUS))
    light = lab.queue("light", quota=1, weight=1)
    heavy = lab.queue("heavy", quota=1, weight=2)
    for index in range(GPUS):
        lab.pod(f"light-{index}", light, preemptible=True)
        lab.pod(f"heavy-{index}", heavy, preemptible=True)
    _expect(lab, light=3, heavy=5)
    lab.note("a queue of higher priority asks for three GPUs")
    urgent = lab.queue("urgent", quota=0, weight=1, priority=200)
    for index in range(3):
        lab.pod(f"urgent-{index}", urgent, preemptible=True)
    _expect(lab, light=2, heavy=3, urgent=3)


def _expect(lab: Lab, **shares: int) -> None:
    """The shares must be reached and then stay: one that is only passed through on the way to another does not count."""

    def now() -> dict[str, int]:
        return {queue: len(lab.bound(f"{queue}-")) for queue in shares}

    lab.until(lambda: now() == shares, f"shares of {shares}")
    lab.board.hold(lambda: None if now() == shares else f"the shares became {now()}, not {shares}", seconds=lab.times.settled)

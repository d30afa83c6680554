"""Which scheduler a cluster gets when its spec says ``auto``. Pure, and made once: the answer is stored with the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from base.errors import InvalidInput, Refused, Unavailable

__all__ = ["AUTO", "KAI", "REFERENCE", "Choice", "Obtainable", "choose"]

AUTO = "auto"
KAI = "kai-scheduler"
REFERENCE = "kai-reference"


@dataclass(frozen=True, slots=True)
class Obtainable:
    """Whether something can be had now, and from where, or why not (half a sentence for people)."""

    yes: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Choice:
    """``fresh`` is False for an answer that was stored before: it is not decided again, whatever can be had today."""

    scheduler: str
    reason: str
    fresh: bool = True


def choose(
    *,
    wanted: str,
    target: str,
    chart: Obtainable,
    programs: Obtainable,
    stored: Choice | None = None,
    flag: str | None = None,
) -> Choice:
    """The scheduler of a cluster, and why.

    ``wanted`` is the spec's word (``auto`` or an add-on); ``chart`` and ``programs`` are about kai-scheduler; ``flag`` is the
    user's ``--scheduler``, the only thing that changes a stored answer. InvalidInput where flag and spec contradict each other,
    Refused where a spec asks for another scheduler than the cluster has, Unavailable where nothing can be had.
    """
    if flag and flag != AUTO and wanted not in (AUTO, flag):
        raise InvalidInput(f"the spec says scheduler {wanted}, --scheduler says {flag}", todo="change the spec")
    if flag and flag != AUTO:
        return Choice(flag, f"asked for by --scheduler {flag}")
    if stored and not flag:
        if wanted not in (AUTO, stored.scheduler):
            raise Refused(
                f"this cluster has {stored.scheduler}, its spec now says {wanted}, and a change loses what is queued",
                todo=f"say --scheduler {wanted} to change it on purpose",
            )
        return Choice(stored.scheduler, stored.reason, fresh=False)
    if wanted != AUTO:
        return Choice(wanted, "named in the spec")
    return _decide(target, chart, programs)


def _decide(target: str, chart: Obtainable, programs: Obtainable) -> Choice:
    if target != "embedded":
        if not chart.yes:
            raise Unavailable(
                f"the chart of {KAI} cannot be had ({chart.detail}), and {REFERENCE} is for the embedded target only",
                todo="give a directory that holds the packaged chart with --mirror",
            )
        return Choice(KAI, f"its chart can be had ({chart.detail})")
    missing = [f"{what} ({found.detail})" for what, found in (("chart", chart), ("programs", programs)) if not found.yes]
    if not missing:
        return Choice(KAI, f"its chart ({chart.detail}) and its programs ({programs.detail}) can be had")
    return Choice(REFERENCE, f"{KAI} cannot be had here: no {' and no '.join(missing)}")

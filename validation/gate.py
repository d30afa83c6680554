"""Which checks may run here, decided before anything is touched. Pure."""

from __future__ import annotations

from validation.checks import EVERY, SCHEDULER, TIERS, Check, Tier
from validation.context import Context, Installed
from validation.outcomes import Outcome, Ruling
from validation.versions import Version

__all__ = ["admit", "subject_of"]

#: The highest tier that a target can serve. What a customer's cluster really has is seen by the check itself.
_REACH: dict[str, Tier] = {"embedded": "sched", "kind": "node", "cluster": "gpu-multi"}


def subject_of(check: Check, context: Context, case: str = "") -> Installed | None:
    """The add-on that a check is about: the installed scheduler, a named add-on, or the one that ``case`` names."""
    name = {SCHEDULER: context.scheduler, EVERY: case}.get(check.subject, check.subject)
    return context.addon(name)


def admit(check: Check, context: Context, case: str = "") -> Ruling | None:
    """Why a check does not run on this cluster, or None when it may."""
    if check.tier == "slurm-local":
        return Ruling(Outcome.SKIPPED, "needs a real Slurm on this machine (tier slurm-local)")
    reach = _REACH[context.target]
    if TIERS.index(check.tier) > TIERS.index(reach):
        return Ruling(Outcome.SKIPPED, f"needs tier {check.tier}; the {context.target} target reaches {reach}")
    subject = subject_of(check, context, case)
    if subject is None:
        wanted = "a scheduler" if check.subject == SCHEDULER else case or check.subject
        return Ruling(Outcome.SKIPPED, f"{wanted} is not part of this cluster")
    if subject.state == "simulated" and check.subject != EVERY:
        return Ruling(Outcome.SKIPPED, f"{subject.addon} is simulated here: its programs do not run, so there is nothing to see")
    if subject.state == "reference":
        if not check.reference:
            return Ruling(Outcome.UNSUPPORTED, "the reference engine does not claim this behaviour")
    elif check.subject != EVERY:
        bounds = _outside(check, subject)
        if bounds:
            return Ruling(Outcome.SKIPPED, bounds)
    if check.own_nodes and context.target == "cluster":
        return Ruling(Outcome.SKIPPED, "needs simulated nodes of its own, which are never added to a customer's cluster")
    if check.disruptive and context.target == "cluster":
        return Ruling(Outcome.SKIPPED, "changes the add-on under test for a while, which is not done on a customer's cluster")
    return None


def _outside(check: Check, subject: Installed) -> str:
    here = Version.parse(subject.version)
    if check.since and here < Version.parse(check.since):
        return f"since {subject.addon} {check.since}; installed is {subject.version}"
    if check.until and here > Version.parse(check.until):
        return f"until {subject.addon} {check.until}; installed is {subject.version}"
    return ""

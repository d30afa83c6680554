"""Whether one version may go onto one cluster: yes, with what to know, or no, with each reason and what would help. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from base.errors import NotFound
from base.names import did_you_mean
from catalog.model import Addon, AddonVersion, Catalogue
from catalog.resolve.bonds import bonds
from catalog.resolve.choice import AUTO
from catalog.resolve.findings import Finding
from catalog.resolve.needs import Place, judge, wanted
from catalog.resolve.remedy import remedy
from catalog.resolve.selection import Selected, Selection, named, select
from spec.model import AddonRequest, ClusterSpec

__all__ = ["Answer", "Effect", "Question", "as_data", "find", "why_not", "why_not_anywhere"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What happens to another add-on: an empty ``before`` or ``after`` stands for one that is not there."""

    addon: str
    before: str
    after: str
    why: str

    def __str__(self) -> str:
        if not self.before:
            return f"{self.addon} {self.after} comes with it ({self.why})"
        if not self.after:
            return f"{self.addon} {self.before} goes ({self.why})"
        return f"{self.addon} {self.before} becomes {self.after} ({self.why})"


@dataclass(frozen=True, slots=True)
class Answer:
    """``may``: no reason stands against it. ``notes``: what was not checked, issues, pins. ``change``: what would have to."""

    addon: str
    version: str
    cluster: str
    may: bool
    reasons: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    effects: tuple[Effect, ...] = ()
    change: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A cluster: its spec, where it is, and the scheduler that it has (empty where nobody has chosen one yet)."""

    spec: ClusterSpec
    catalogue: Catalogue
    place: Place
    scheduler: str


def find(catalogue: Catalogue, addon: str, version: str) -> AddonVersion | Finding:
    """The version, or the finding that it is a stray tag. NotFound for anything else, with what is near."""
    known = catalogue.addon(addon)
    wanted_version = version.removeprefix("v")
    if wanted_version in known.strays:
        reason = f"is a stray tag and no release: {known.strays[wanted_version]}"
        there_are = f"there are {', '.join(catalogue.names(addon))}"
        return Finding("stray", addon, wanted_version, reason, todo=f"take a release: {there_are}")
    found = catalogue.version(addon, wanted_version)
    if found is None:
        names = catalogue.names(addon)
        near = did_you_mean(wanted_version, names)
        all_there_are = f"there are {', '.join(names)}"
        todo = f"{near} ({all_there_are})" if near.startswith("did") else all_there_are
        raise NotFound(f"version {version} of {addon} is not in the catalogue", todo=todo)
    return found


def why_not_anywhere(catalogue: Catalogue, addon: str, version: str) -> Answer:
    """What can be said without a cluster: whether it may go anywhere at all, and what it needs where it goes."""
    found = find(catalogue, addon, version)
    if isinstance(found, Finding):
        return Answer(addon, found.version, "", may=False, reasons=(found,), change=found.todo)
    known = catalogue.addons[addon]
    reasons = list[Finding]()
    if found.withdrawn:
        reasons.append(Finding("withdrawn", addon, found.version, f"withdrawn: {found.withdrawn}", todo="take another version"))
    notes = [*_needs(catalogue, known, found), *_to_know(known, found)]
    channels = sorted(channel.name for channel in catalogue.channels.values() if channel.versions.get(addon) == found.version)
    where = f"in channel {' and '.join(channels)}" if channels else "in no channel: a spec has to name it"
    notes.append(Finding("channel", addon, found.version, where))
    change = "; ".join(dict.fromkeys(reason.todo for reason in reasons if reason.todo))
    return Answer(addon, found.version, "", not reasons, tuple(reasons), tuple(notes), change=change)


def why_not(question: Question, addon: str, version: str) -> Answer:
    """Whether the version may go onto the cluster of ``question``, and what that would do to its other add-ons.

    NotFound for an add-on or a version that the catalogue does not have.
    """
    spec, catalogue, place = question.spec, question.catalogue, question.place
    found = find(catalogue, addon, version)
    if isinstance(found, Finding):
        return Answer(addon, found.version, spec.name, may=False, reasons=(found,), change=found.todo)
    before = select(spec, catalogue, place.channel, question.scheduler)
    asked, scheduler, replaced = _asked(question, catalogue.addons[addon], found.version)
    after = select(asked, catalogue, place.channel, scheduler, supposed=addon)
    now = [*before.findings, *_against(before, place)]
    then = [*after.findings, *_against(after, place)]
    reasons = [one for one in then if addon in (one.addon, one.other) or one not in now]
    beside = [
        replace(one, code="beside", text=f"stands against the spec as it is: {one.text}") for one in then if one not in reasons
    ]
    one = after.chosen.get(addon)
    fresh = [selected for name, selected in after.chosen.items() if name == addon or name not in before.chosen]
    notes = [note for selected in fresh for note in judge(selected.addon, selected.version, place, selected.config).notes]
    if one is not None:
        notes += _to_know(one.addon, one.version)
    notes += [_off_channel(place, addon, found.version), *beside]
    return Answer(
        addon,
        found.version,
        spec.name,
        may=not reasons,
        reasons=tuple(reasons),
        notes=tuple(notes),
        effects=tuple(_effects(before, after, addon, replaced)),
        change=_change(replace(question, spec=asked), after, reasons, addon) if reasons else "",
    )


def _asked(question: Question, addon: Addon, version: str) -> tuple[ClusterSpec, str, str]:
    """The spec with the version in it, its scheduler, and the scheduler that this replaces."""
    spec, scheduler, replaced = question.spec, question.scheduler, ""
    old = named(spec, addon.name)
    request = replace(old, version=version) if old else AddonRequest(addon.name, version)
    others = [one for one in spec.addons if one.name != addon.name]
    if addon.role == "scheduler" and scheduler != addon.name:
        replaced, scheduler = scheduler, addon.name
        others = [one for one in others if one.name != replaced]
    return replace(spec, addons=(*others, request), scheduler=scheduler or AUTO), scheduler, replaced


def _against(selection: Selection, place: Place) -> Iterator[Finding]:
    for one in selection.chosen.values():
        yield from judge(one.addon, one.version, place, one.config).against


def _effects(before: Selection, after: Selection, addon: str, replaced: str) -> Iterator[Effect]:
    for name in sorted({*before.chosen, *after.chosen}):
        old, new = before.chosen.get(name), after.chosen.get(name)
        versions = (old.version.version if old else "", new.version.version if new else "")
        if name == addon and old is not None and versions[0] != versions[1]:
            yield Effect(name, versions[0], versions[1], "the version that was asked about")
        elif name != addon and versions[0] != versions[1]:
            yield Effect(name, *versions, _why(new, name == replaced))


def _why(new: Selected | None, replaced: bool) -> str:
    if new is None:
        return "two schedulers never stand on one cluster" if replaced else "nothing requires it any more"
    return new.reason


#: Findings whose own advice is to leave something out, which is said better when all versions were looked at.
_SAID_BETTER = ("excludes", "scheduler", "target")


def _change(question: Question, after: Selection, reasons: Sequence[Finding], addon: str) -> str:
    """Other versions of the others, another version of this one, and what each reason itself asks for."""
    spec, catalogue, place = question.spec, question.catalogue, question.place
    ways = {reason.todo: "" for reason in reasons if reason.todo}
    advice = remedy(spec, catalogue, place, after, reasons, fixed=(addon,))
    if advice.versions:
        return str(advice)
    other = remedy(spec, catalogue, place, after, reasons)
    if other.versions:
        listed = " and ".join(f"{name} {version}" for name, version in sorted(other.versions.items()))
        ways = {f"take {listed} instead, with which everything holds": "", **ways}
    elif other.never:
        ways = {str(other): "", **{reason.todo: "" for reason in reasons if reason.todo and reason.code not in _SAID_BETTER}}
    return "; or: ".join(ways)


def _needs(catalogue: Catalogue, addon: Addon, version: AddonVersion) -> Iterator[Finding]:
    name, text = addon.name, version.version
    declared = version.compatibility.declared
    yield Finding("kubernetes", name, text, f"needs Kubernetes {declared}", declared.source)
    yield Finding("target", name, text, f"may be installed on {' or '.join(addon.targets)}")
    for constraint in version.compatibility.constraints:
        when = f" where {constraint.when} is set" if constraint.when else ""
        yield Finding("constraint", name, text, f"needs {wanted(constraint)}{when}: {constraint.reason}", constraint.source)
    verbs = {"requires": "requires", "peer": "goes only with", "excludes": "excludes", "scheduler": "excludes"}
    for bond in bonds(addon, version, catalogue):
        ranged = f" {bond.wanted}" if bond.wanted and bond.kind in ("requires", "peer") else ""
        yield Finding(
            bond.kind, name, text, f"{verbs[bond.kind]} {bond.other}{ranged}: {bond.reason}", bond.source, other=bond.other
        )


def _to_know(addon: Addon, version: AddonVersion) -> Iterator[Finding]:
    name, text = addon.name, version.version
    for issue in version.issues:
        guard = f"guarded by {issue.guard}" if issue.guard else "nothing guards against it"
        cost = f" ({'costs: ' if issue.guard else ''}{issue.cost})" if issue.cost else ""
        yield Finding("issue", name, text, f"known issue {issue.id}: {issue.title}; {guard}{cost}", issue.reference)
    if version.unverified:
        yield Finding("unverified", name, text, f"not tried here: {', '.join(version.unverified)}")
    unpinned = [what for what, pin in (("chart", version.chart_pin), ("images", version.image_pin)) if pin == "unpinned"]
    if unpinned:
        yield Finding("pin", name, text, f"{' and '.join(unpinned)} not known by digest")


def _off_channel(place: Place, addon: str, version: str) -> Finding:
    there = place.channel.versions.get(addon)
    channel = place.channel.name
    if there == version:
        return Finding("channel", addon, version, f"the version of channel {channel}")
    has = f"channel {channel} has {there}" if there else f"channel {channel} has no version of it"
    return Finding("channel", addon, version, f"{has}: the spec has to name this one")


def as_data(answer: Answer) -> dict[str, object]:
    """For `--json`."""
    return {
        "addon": answer.addon,
        "version": answer.version,
        "cluster": answer.cluster or None,
        "may": answer.may,
        "reasons": [_finding(one) for one in answer.reasons],
        "notes": [_finding(one) for one in answer.notes],
        "others": [
            {"addon": e.addon, "before": e.before or None, "after": e.after or None, "why": e.why} for e in answer.effects
        ],
        "change": answer.change,
    }


def _finding(one: Finding) -> dict[str, str]:
    told = {
        "code": one.code,
        "addon": one.addon,
        "version": one.version,
        "text": one.text,
        "source": one.source,
        "other": one.other,
    }
    return {key: value for key, value in told.items() if value}

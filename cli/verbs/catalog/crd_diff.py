"""``catalog crd-diff``: what changes in the CRDs, and which stored objects it would break."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from base.errors import Exit, NotFound
from cli import options
from cli.context import App, table

if TYPE_CHECKING:
    from catalog.crds.changes import Change
    from catalog.crds.live import LiveReport
    from catalog.crds.waivers import Outcome, Waived
    from catalog.model import Catalogue
    from catalog.package.packager import Packager
    from cli.session import Session

_EXIT = {"safe": Exit.OK, "at-risk": Exit.CHECK_FAILED, "blocking": Exit.REFUSED}
_SHOWN = 5


@click.command("crd-diff")
@click.argument("addon")
@click.argument("old")
@click.argument("new")
@options.spec_if_any
@options.mirror
@click.option(
    "--waivers",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of waivers instead of the add-on's own waivers.yaml.",
)
@click.option("--all", "everything", is_flag=True, help="List the safe changes too.")
@click.pass_obj
def crd_diff(
    app: App, addon: str, old: str, new: str, spec_file: Path | None, mirror: Path | None, waivers: Path | None, everything: bool
) -> int:
    """What changes in an add-on's CRDs from version OLD to NEW: safe, at risk, or blocking.

    With a spec the objects on its cluster are judged too: which would be refused, which would lose data. OLD and NEW may
    be files or directories of CRDs instead of versions. Exit code 0: safe or waived, 1: somebody has to think, 4: blocking.

    \b
    Example:  chandlery catalog crd-diff slurm-operator-crds 0.4.0 1.0.0
              chandlery catalog crd-diff kai-scheduler 0.16.8 ./kai/crds -c clusters/quickstart.yaml
    """
    from catalog.crds.diff import compare, ordered
    from catalog.crds.live import judge_live
    from catalog.crds.waivers import apply, read_waivers
    from catalog.read.load import ROOT, load
    from cli.session import open_session, packager

    session = open_session(app, spec_file, options.Wishes(mirror=mirror)) if spec_file else None
    catalogue = session.catalogue if session else load()
    source = session.packager() if session else packager(app, catalogue, mirror)
    was, now = (_crds(source, catalogue, session, addon, text) for text in (old, new))
    if not was and not now:
        # Nothing compared is not nothing found.
        owners = sorted(name for name in catalogue.addons if any(version.crds for version in catalogue.versions[name]))
        raise NotFound(f"{addon} has no CRDs in {old} or {new}", todo=f"add-ons with CRDs: {', '.join(owners)}")
    found = compare(was, now)
    live = None
    if session:
        live = judge_live(_read(session, was, now), was, now)
        found = ordered((*found, *live.changes))
    own = ROOT / "addons" / addon / "waivers.yaml"
    if waivers:
        known = read_waivers(waivers)  # it may be about what is no version yet
    else:
        versions = [version.version for version in catalogue.versions[addon]]
        known = read_waivers(own, versions=versions) if own.is_file() else ()
    outcome = apply(found, known, old.removeprefix("v"), new.removeprefix("v"), datetime.date.today())
    app.print(_data(addon, old, new, outcome, live), _text(addon, old, new, len(now), outcome, live, everything))
    return _EXIT[outcome.level]


def _crds(source: Packager, catalogue: Catalogue, session: Session | None, addon: str, text: str) -> tuple[dict[str, Any], ...]:
    """The CRDs of a version, or of a path: a word with a slash in it, which no version has."""
    from catalog.crds.source import crds_in, crds_of
    from catalog.supply.items import find_version
    from cli.verbs.catalog.items import item_for

    if "/" in text or text.startswith("."):
        find_version(catalogue, addon, catalogue.versions[addon][-1].version if addon in catalogue.versions else "")
        return crds_in(Path(text))
    _, version = find_version(catalogue, addon, text)
    return crds_of(source, item_for(catalogue, session, addon, text), version)


def _read(session: Session, was: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> Any:
    from base.kube import Cluster
    from catalog.crds.cluster import read_live

    names = {str(crd["metadata"]["name"]) for crd in (*was, *now)}
    with (
        session.app.reporter.step("read the cluster's custom resources") as step,
        Cluster(session.facts.kubeconfig, context=session.facts.context or None) as cluster,
    ):
        live = read_live(cluster, names)
        step.note(f"{sum(len(one.objects) for one in live)} objects of {len(live)} kinds")
    return live


def _data(addon: str, old: str, new: str, outcome: Outcome, live: LiveReport | None) -> dict[str, Any]:
    def waived(one: Waived) -> dict[str, Any]:
        fields = {key: str(value) for key, value in asdict(one.waiver).items() if key != "position"}
        return {**asdict(one.change), "waiver": {**fields, "position": str(one.waiver.position)}}

    data: dict[str, Any] = {
        "addon": addon,
        "from": old,
        "to": new,
        "level": outcome.level,
        "changes": [asdict(change) for change in outcome.open],
        "waived": [waived(one) for one in outcome.waived],
        "expiredWaivers": list(outcome.expired),
        "unusedWaivers": list(outcome.unused),
    }
    if live is not None:
        data["cluster"] = {"objects": dict(live.counts), "notes": list(live.notes)}
    return data


def _text(addon: str, old: str, new: str, count: int, outcome: Outcome, live: LiveReport | None, everything: bool) -> str:
    counts = Counter(change.level for change in outcome.open)
    waived = f", {len(outcome.waived)} waived" if outcome.waived else ""
    kinds = f"{count} CRD{'s' if count != 1 else ''}"
    told = f"{counts['blocking']} blocking, {counts['at-risk']} at risk, {counts['safe']} safe{waived}"
    lines = [f"{addon} {old} -> {new}: {kinds}, {told}"]
    shown = [change for change in outcome.open if everything or change.level != "safe"]
    if shown:
        rows = [(c.level, c.rule, _kind(c), c.path, change_text(c)) for c in shown]
        lines += ["", table(("level", "rule", "CRD", "path", "change"), rows)]
        lines += ["", *why_lines(shown)]
    for change in shown:
        if change.objects:
            more = f" and {len(change.objects) - _SHOWN} more" if len(change.objects) > _SHOWN else ""
            lines.append(f"  {change.rule} at {change.path} of {change.crd}: {', '.join(change.objects[:_SHOWN])}{more}")
    if not everything and counts["safe"]:
        rules = Counter(change.rule for change in outcome.open if change.level == "safe")
        lines += ["", "safe: " + ", ".join(f"{rule} ({number})" for rule, number in rules.most_common()) + "; --all lists them"]
    for one in outcome.waived:
        w = one.waiver
        lines.append(
            f"waived until {w.expires} by {w.owner}: {one.change.rule} at {one.change.path} of {one.change.crd}: {w.reason}"
        )
    lines += [f"warning: {note}" for note in (*outcome.expired, *outcome.unused)]
    if live is not None:
        judged = (
            ", ".join(f"{name} {number}" for name, number in sorted(live.counts.items())) or "the cluster has none of these CRDs"
        )
        lines += ["", f"objects judged: {judged}", *(f"note: {note}" for note in live.notes)]
    return "\n".join(lines)


def why_lines(changes: Sequence[Change]) -> list[str]:
    """One sentence for each rule that was met, in the order of the findings."""
    return [f"  {rule}: {why}" for rule, why in dict.fromkeys((change.rule, change.why) for change in changes)]


def _kind(change: Change) -> str:
    return f"{change.crd} {change.version}".strip()


def change_text(change: Change) -> str:
    """``before -> after``, each cut to what a line holds."""

    def cut(value: Any) -> str:
        text = value if isinstance(value, str) else "-" if value is None else json.dumps(value, sort_keys=True, default=str)
        return text if len(text) <= 48 else f"{text[:44]} ..."

    if change.before is None and change.after is None:
        return ""
    return f"{cut(change.before)} -> {cut(change.after)}"

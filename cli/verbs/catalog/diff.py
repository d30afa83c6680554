"""``catalog diff``: what changes for a customer between two versions of an add-on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from base.errors import Exit
from cli import options
from cli.context import App
from cli.verbs.catalog.crd_diff import change_text

if TYPE_CHECKING:
    from catalog.supply.changes import VersionChanges
    from catalog.supply.leaves import Difference
    from catalog.supply.rights import Right

_SHOWN = 12
_MARKS = {"added": "+", "removed": "-", "changed": "~"}


@click.command()
@click.argument("addon")
@click.argument("old")
@click.argument("new")
@options.spec_if_any
@options.wishes
@click.option("--all", "everything", is_flag=True, help="Every line of every part.")
@click.pass_obj
def diff(app: App, addon: str, old: str, new: str, spec_file: Path | None, wishes: options.Wishes, everything: bool) -> int:
    """What changes from version OLD of an add-on to NEW: values, options, images, CRDs, rights, objects, guards, known issues.

    With a spec both versions are rendered with its values. Exit code 0 whenever it could be computed: this tells, `crd-diff`
    and the gates judge.

    \b
    Example:  chandlery catalog diff slurm-operator 0.4.0 1.0.0
    """
    from catalog.read.load import load
    from catalog.supply.changes import between
    from catalog.supply.charts import side_of
    from catalog.supply.items import find_version
    from cli.session import open_session, packager
    from cli.verbs.catalog.items import item_for

    session = open_session(app, spec_file, wishes, decide_only=True) if spec_file else None
    catalogue = session.catalogue if session else load()
    versions = [find_version(catalogue, addon, text)[1] for text in (old, new)]
    source = session.packager() if session else packager(app, catalogue, wishes.mirror)
    sides = [side_of(source, item_for(catalogue, session, addon, v.version), v) for v in versions]
    changes = between(sides[0], sides[1], catalogue)
    app.print(_data(changes), _text(changes, everything))
    return Exit.OK


def _data(changes: VersionChanges) -> dict[str, Any]:
    whole = asdict(changes)
    edge = changes.edge
    return {**whole, "edge": {**whole["edge"], "origin": edge.origin.text} if edge else None}


def _text(changes: VersionChanges, everything: bool) -> str:
    parts: list[tuple[str, Sequence[str]]] = [
        ("the move", list(_edge(changes))),
        ("images", _lines(changes.images)),
        ("CRDs", list(_crds(changes))),
        ("rights that are new", _rights(changes.rights_added)),
        ("rights that are gone", _rights(changes.rights_removed)),
        ("options of the package", _lines(changes.config)),
        ("values that the package sets", _lines(changes.package_values)),
        ("default values of the chart", _lines(changes.defaults)),
        ("objects", list(_objects(changes, everything))),
        ("guards", _lines(changes.guards)),
        ("known issues (- is fixed or no longer known)", _lines(changes.issues)),
        ("compatibility", _lines(changes.compatibility)),
    ]
    lines = [f"{changes.addon} {changes.origin} -> {changes.to}"]
    for title, body in parts:
        if not body:
            continue
        shown = body if everything else body[:_SHOWN]
        more = [f"  ... and {len(body) - len(shown)} more; --all lists them"] if len(body) > len(shown) else []
        lines += ["", f"{title} ({len(body)})" if title != "the move" else title, *(f"  {line}" for line in shown), *more]
    same = [title for title, body in parts if not body]
    return "\n".join([*lines, "", f"the same: {', '.join(same)}"] if same else lines)


def _edge(changes: VersionChanges) -> Iterator[str]:
    edge = changes.edge
    if changes.origin == changes.to:
        yield "none: it is the same version"
        return
    if edge is None:
        yield "nothing is known about it, which is not safe"
        return
    yield f"{edge.verdict} ({edge.code}): {edge.reason}"
    yield "can be taken back" if edge.reversible else "cannot be taken back"
    if edge.precondition:
        yield f"before: {edge.precondition}"
    yield from (f"{number}. {step}" for number, step in enumerate(edge.steps, 1))
    yield from (f"value {move.source} -> {move.to or '(dropped)'}: {move.note}" for move in edge.moves)


def _crds(changes: VersionChanges) -> Iterator[str]:
    if not changes.crds:
        return
    counts = Counter(change.level for change in changes.crds)
    told = ", ".join(f"{counts[level]} {level}" for level in ("blocking", "at-risk", "safe"))
    yield f"{told}; `chandlery catalog crd-diff {changes.addon} {changes.origin} {changes.to}` says why"
    for change in changes.crds:
        if change.level != "safe":
            yield f"{change.level} {change.rule} {change.crd} {change.path}  {change_text(change)}".rstrip()


def _rights(rights: Sequence[Right]) -> list[str]:
    return [
        f"{right.namespace or 'cluster'}: {right.what}: {' '.join(right.verbs)}"
        + (f"  (dangerous: {', '.join(right.dangers)})" if right.dangers else "")
        for right in rights
    ]


def _objects(changes: VersionChanges, everything: bool) -> Iterator[str]:
    for obj in sorted(changes.objects, key=lambda o: (list(_MARKS).index(o.how), o.label)):
        count = f"  {len(obj.differences)} difference{'s' if len(obj.differences) != 1 else ''}" if obj.differences else ""
        anew = ", one of them in a field that cannot change: it is made anew" if obj.replaced else ""
        yield f"{_MARKS[obj.how]} {obj.label}{count}{anew}"
        for line in _lines(obj.differences) if everything else ():
            yield f"    {line}"


def _lines(differences: Sequence[Difference]) -> list[str]:
    return [f"{_MARKS[one.how]} {one.path}{_values(one)}" for one in differences]


def _values(one: Difference) -> str:
    if one.how == "changed":
        return f": {_cut(one.before)} -> {_cut(one.after)}"
    return f": {_cut(one.after if one.how == 'added' else one.before)}"


def _cut(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    text = " ".join(text.split())
    return text if len(text) <= 100 else f"{text[:96]} ..."

"""``catalog images``, ``sbom``, ``rbac``: what add-ons bring onto a cluster."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from base.errors import Exit, InvalidInput, NotFound
from base.names import did_you_mean
from cli import options
from cli.context import App, table

if TYPE_CHECKING:
    from catalog.package.packager import Packager, Rendered
    from catalog.plan import PlanItem
    from catalog.supply.rights import Grant, Rights
    from cli.session import Session


@click.command()
@options.spec_if_any
@options.wishes
@click.option("--addon", help="Only the images of this add-on.")
@click.option("--list", "plain", is_flag=True, help="One reference a line and nothing else, for tools that mirror images.")
@click.pass_obj
def images(app: App, spec_file: Path | None, wishes: options.Wishes, addon: str | None, plain: bool) -> int:
    """Every image that add-ons run, with its digest: of the whole catalogue, of one add-on, or of one cluster.

    \b
    Example:  chandlery catalog images -c clusters/quickstart.yaml --list
    """
    from catalog.read.load import load
    from catalog.supply.images import images_of, versions_of
    from cli.session import open_session

    session = open_session(app, spec_file, wishes, decide_only=True) if spec_file else None
    catalogue = session.catalogue if session else load()
    plan = session.plan if session else None
    if addon and session:
        session.item(addon)
    elif addon and addon not in catalogue.addons:
        raise NotFound(f"{addon} is no add-on of the catalogue", todo=did_you_mean(addon, catalogue.addons))
    found = images_of(versions_of(catalogue, plan, addon or ""))
    rows = [(i.reference, i.digest or "unpinned", "operand" if i.operand else "", ", ".join(i.used_by)) for i in found]
    unpinned = sum(not image.digest for image in found)
    text = table(("image", "digest", "", "used by"), rows) + f"\n\n{len(found)} images, {unpinned} unpinned"
    listed = "\n".join(image.mirrored for image in found)
    app.print([{**asdict(image), "pin": image.pin} for image in found], listed if plain else text)
    return Exit.OK


@click.command()
@options.spec
@options.wishes
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.pass_obj
def sbom(app: App, spec_file: Path, wishes: options.Wishes, output: Path | None) -> int:
    """The bill of materials of a cluster: add-ons, charts, images and CRDs, as CycloneDX 1.6.

    The same plan gives the same bytes. A time stands in it only where $SOURCE_DATE_EPOCH says one.

    \b
    Example:  chandlery catalog sbom -c clusters/quickstart.yaml -o quickstart.cdx.json
    """
    from base.files import write_atomic
    from catalog.supply.sbom import bill_of_materials
    from cli.session import open_session

    session = open_session(app, spec_file, wishes, decide_only=True)
    timestamp = _epoch()
    rendered = _rendered(session)
    text = bill_of_materials(session.plan, session.catalogue, rendered, timestamp=timestamp)
    if output is None:
        click.echo(text, nl=False)
        return Exit.OK
    write_atomic(output, text)
    pins = sorted(item.addon for item in session.plan.items if "unpinned" in (item.chart_pin, item.image_pin))
    said = f"{output}: {len(session.plan.items)} add-ons" + (f"; unpinned parts in {', '.join(pins)}" if pins else "; all pinned")
    app.print({"file": str(output), "addons": len(session.plan.items), "unpinned": pins}, said)
    return Exit.OK


@click.command()
@click.argument("addon", required=False)
@click.argument("version", required=False)
@options.spec_if_any
@options.wishes
@click.option("--against", help="Show only what VERSION may do that this version may not.")
@click.option("--dangerous", is_flag=True, help="Only the rights that are worth more than they say.")
@click.pass_obj
def rbac(
    app: App,
    addon: str | None,
    version: str | None,
    spec_file: Path | None,
    wishes: options.Wishes,
    against: str | None,
    dangerous: bool,
) -> int:
    """What add-ons may do: cluster-wide and in namespaces, the dangerous rights named first.

    \b
    Example:  chandlery catalog rbac kai-scheduler 0.17.0 --against 0.16.8
              chandlery catalog rbac -c clusters/quickstart.yaml --dangerous
    """
    from catalog.read.load import load
    from catalog.supply.rights import new_rights, rights_of
    from cli.session import open_session, packager
    from cli.verbs.catalog.items import item_for

    if addon is None and (spec_file is None or against):
        raise InvalidInput("which add-on?", todo="name an add-on and a version, or a cluster spec with -c")
    session = open_session(app, spec_file, wishes, decide_only=True) if spec_file else None
    catalogue = session.catalogue if session else load()
    source = session.packager() if session else packager(app, catalogue, wishes.mirror)
    items = _items(session, addon) if version is None else [item_for(catalogue, session, str(addon), version)]
    around = _around(source, session)
    data: list[dict[str, Any]] = []
    texts = []
    for item in items:
        others = [obj for name, objects in around.items() if name != item.addon for obj in objects]
        rights = rights_of(source.render(item).objects, around=others)
        shown: tuple[frozenset[Grant], frozenset[Grant]] = rights.cluster, rights.namespaced
        if against:
            before = rights_of(source.render(item_for(catalogue, session, item.addon, against)).objects, around=others)
            fresh = new_rights(before, rights)
            shown = fresh & rights.cluster, fresh & rights.namespaced
        data.append(_rights_data(item, against, rights, shown, dangerous))
        texts.append(_rights_text(item, against, rights, shown, dangerous))
    app.print(data, "\n\n".join(texts))
    return Exit.OK


def _epoch() -> datetime.datetime | None:
    """$SOURCE_DATE_EPOCH (reproducible-builds.org): seconds since 1970, or nothing."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text:
        return None
    try:
        return datetime.datetime.fromtimestamp(int(text), datetime.UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidInput(f"SOURCE_DATE_EPOCH is {text[:40]!r}, which is no number of seconds since 1970") from None


def _rendered(session: Session) -> dict[str, Rendered]:
    source = session.packager()
    with session.app.reporter.step("render charts") as step:
        rendered = {item.addon: source.render(item) for item in session.plan.items}
        step.note(f"{len(rendered)} add-ons")
    return rendered


def _items(session: Session | None, addon: str | None) -> Sequence[PlanItem]:
    if session is None:
        raise InvalidInput(f"which version of {addon}?", todo=f"`chandlery catalog versions {addon}` lists them")
    return session.plan.items if addon is None else [session.item(addon)]


def _around(source: Packager, session: Session | None) -> Mapping[str, Sequence[dict[str, Any]]]:
    """Objects of each add-on of a cluster: the role of one may be aggregated into another's."""
    return {item.addon: source.render(item).objects for item in session.plan.items} if session else {}


def _rights_data(
    item: PlanItem, against: str | None, rights: Rights, shown: Sequence[frozenset[Grant]], dangerous: bool
) -> dict[str, Any]:
    from catalog.supply.rights import summed

    cluster, namespaced = ([asdict(r) for r in summed(part) if r.dangers or not dangerous] for part in shown)
    data: dict[str, Any] = {
        "addon": item.addon,
        "version": item.version,
        "cluster": cluster,
        "namespaced": namespaced,
        "extends": {name: [asdict(r) for r in summed(part)] for name, part in rights.extends.items()},
        "subjects": list(rights.subjects),
        "notes": list(rights.notes),
    }
    return {**data, "against": against} if against else data


def _rights_text(item: PlanItem, against: str | None, rights: Rights, shown: Sequence[frozenset[Grant]], dangerous: bool) -> str:
    from catalog.supply.dangers import DANGERS
    from catalog.supply.rights import summed

    cluster, namespaced = (summed(part) for part in shown)
    risky = [right for right in (*cluster, *namespaced) if right.dangers]
    may = f"newly may, against {against}" if against else "may"
    head = f"{item.addon} {item.version} {may}: {len(cluster)} rights on the whole cluster, {len(namespaced)} in namespaces, "
    lines = [f"{head}{len(risky)} of them dangerous"]
    rows = [
        (right.namespace or "cluster", right.what, " ".join(right.verbs), " ".join(right.dangers))
        for right in (*cluster, *namespaced)
        if right.dangers or not dangerous
    ]
    if rows:
        lines += ["", table(("where", "on", "verbs", "danger"), rows)]
    met = list(dict.fromkeys(danger for right in risky for danger in right.dangers))
    if met:
        lines += ["", *(f"  {danger}: {DANGERS[danger]}" for danger in met)]
    if not against:
        lines += ["", f"held by: {', '.join(rights.subjects) or 'nobody'}"]
        for name, grants in rights.extends.items():
            lines.append(f"adds {len(grants)} grants to the cluster's role {name}, for the people who have it")
    lines += [f"note: {note}" for note in rights.notes]
    return "\n".join(lines)

"""``catalog show``, ``versions``, ``render``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from base.errors import Exit
from cli import options
from cli.context import App, table

if TYPE_CHECKING:
    from catalog.model import Addon, AddonVersion, Catalogue


@click.command()
@click.pass_obj
def show(app: App) -> int:
    """Every add-on with its versions, what is known by digest, and the channels' choice.

    \b
    Example:  chandlery catalog show
    """
    from catalog.read.load import load

    catalogue = load()
    channels = sorted(catalogue.channels)
    rows, data = [], {}
    for name, addon in sorted(catalogue.addons.items()):
        found = catalogue.versions[name]
        chosen = [catalogue.channels[channel].versions.get(name, "") for channel in channels]
        unverified = sorted({word for version in found for word in version.unverified})
        rows.append(
            (
                name, addon.role, ", ".join(_marked(version) for version in found), _pins(found),
                ", ".join(unverified) or "-", *(version or "-" for version in chosen), addon.title,
            )
        )  # fmt: skip
        data[name] = {
            "title": addon.title,
            "role": addon.role,
            "targets": addon.targets,
            "channels": {channel: version for channel, version in zip(channels, chosen, strict=True) if version},
            "strays": dict(addon.strays),
            "versions": [_brief(version) for version in found],
        }
    text = table(("add-on", "role", "versions", "pinned", "not tried", *channels, "title"), rows)
    legend = (
        "pinned: versions whose chart / images are all known by digest, of how many. (withdrawn) may not be installed any more."
    )
    app.print(data, f"{text}\n\n{legend}")
    return Exit.OK


def _marked(version: AddonVersion) -> str:
    return f"{version.version} (withdrawn)" if version.withdrawn else version.version


def _pins(versions: tuple[AddonVersion, ...]) -> str:
    charts = sum(version.chart_pin == "pinned" for version in versions)
    images = sum(version.image_pin == "pinned" for version in versions)
    return f"{charts}/{images} of {len(versions)}"


def _brief(version: AddonVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "released": version.released,
        "chart": version.chart_pin,
        "images": version.image_pin,
        "unverified": version.unverified,
        "withdrawn": version.withdrawn,
    }


@click.command()
@click.argument("addon")
@click.pass_obj
def versions(app: App, addon: str) -> int:
    """The versions of one add-on: pins, what they need, what was tested, known issues and what guards against them.

    \b
    Example:  chandlery catalog versions kai-scheduler
    """
    from catalog.read.load import load

    catalogue = load()
    known, found = catalogue.addon(addon), catalogue.versions[addon]
    lines = [line for version in found for line in _lines(catalogue, known, version)]
    lines += [f"stray tag {tag}: {reason}; it can never be picked" for tag, reason in sorted(known.strays.items())]
    lines += [f"never beside {other}: {reason}" for other, reason in sorted(known.excludes.items())]
    app.print([asdict(version) for version in found], "\n".join(lines))
    return Exit.OK


def _lines(catalogue: Catalogue, addon: Addon, version: AddonVersion) -> Iterator[str]:
    channels = sorted(one.name for one in catalogue.channels.values() if one.versions.get(addon.name) == version.version)
    released = f"released {version.released}" if version.released else "release date unknown"
    where = f"channel {', '.join(channels)}" if channels else "in no channel"
    yield f"{addon.name} {version.version} ({released}): chart {version.chart_pin}, images {version.image_pin}, {where}"
    for label, text in (
        ("withdrawn", version.withdrawn),
        ("support", version.support),
        ("not tried", ", ".join(version.unverified)),
    ):
        if text:
            yield f"  {label}: {text}"
    fits = version.compatibility
    yield f"  declared: Kubernetes {fits.declared} ({fits.declared.source})"
    for constraint in fits.constraints:
        when = f" where {constraint.when} is set" if constraint.when else ""
        needs = constraint.range or " or ".join(constraint.words)
        yield f"  declared: {constraint.fact} {needs}{when}: {constraint.reason} ({constraint.source})"
    for tested in fits.tested:
        facts = ", ".join(f"{fact} {value}" for fact, value in sorted(tested.facts.items()))
        yield f"  tested: {facts or 'no facts noted'} on {tested.on} (docs/{tested.record})"
    if not fits.tested:
        yield "  tested: nothing yet"
    for one in version.requires:
        needs = version.version if one.same_version else one.range.text
        yield f"  requires {one.addon}{' ' if needs else ''}{needs}: {one.reason}"
    for peer in fits.peers:
        yield f"  goes only with {peer.addon} {peer.range}: {peer.reason} ({peer.source})"
    for guard in version.guards:
        yield f"  guard {guard.path}: {guard.why}" + (f"; costs: {guard.cost}" if guard.cost else "")
    for issue in version.issues:
        guarded = f"guarded by {issue.guard}" if issue.guard else "not guarded"
        label = "costs:" if issue.guard else "instead:"
        extra = "".join(f"; {word} {text}" for word, text in ((label, issue.cost), ("check", issue.check)) if text)
        fixed = f"; fixed in {issue.fixed_in}" if issue.fixed_in else "; nobody knows a version that fixes it"
        yield f"  known issue {issue.id}: {issue.title} ({issue.reference}); {guarded}{extra}{fixed}"


@click.command()
@options.spec
@click.argument("addon")
@click.pass_obj
def render(app: App, spec_file: Path, addon: str) -> int:
    """The objects that one add-on becomes on a cluster, as JSON."""
    import json

    from cli.session import open_session

    session = open_session(app, spec_file)
    rendered = session.packager().render(session.item(addon))
    objects = [*rendered.crds, *rendered.objects]
    app.print(objects, json.dumps(objects, indent=2))
    return Exit.OK

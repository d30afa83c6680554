"""``catalog bundle`` and ``bundle-verify``: everything that a cluster needs in one directory, for a place without a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from base.errors import CheckFailed, Exit, InvalidInput
from cli import options
from cli.context import App

if TYPE_CHECKING:
    from catalog.obtain.contents import Contents
    from cli.session import Session


@click.command()
@options.spec
@options.wishes
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The directory: new, empty, or with a bundle that is to be finished or brought up to date.",
)
@click.option("--charts-only", is_flag=True, help="Leave images out; bundle.json says so.")
@click.option("--platform", "platforms", multiple=True, metavar="OS/ARCH", help="Only these of an image's [default: all].")
@click.option("--jobs", type=click.IntRange(1, 32), default=4, show_default=True, help="How many blobs are fetched at once.")
@click.pass_obj
def bundle(
    app: App,
    spec_file: Path,
    wishes: options.Wishes,
    output: Path,
    charts_only: bool,
    platforms: tuple[str, ...],
    jobs: int,
) -> int:
    """Every chart and image that a cluster needs, as one OCI layout, with a manifest of digests (bundle.json).

    It fails where anything is missing, and may be run again: only what is missing is fetched then. Nothing is installed.

    \b
    Example:  chandlery catalog bundle -c clusters/quickstart.yaml -o quickstart.bundle
              chandlery up -c clusters/quickstart.yaml --from-bundle quickstart.bundle
    """
    from catalog.obtain.bundle import make_bundle
    from catalog.obtain.registry import Registry
    from cli.session import charts, open_session

    session = open_session(app, spec_file, wishes, decide_only=True)
    if session.facts.bundle is not None:
        raise InvalidInput(
            f"{session.spec.name} takes its charts from a bundle, and a bundle is made from their sources",
            where=str(session.facts.bundle),
            todo="add --online, or name a spec of another cluster",
        )
    _render_all(session)
    order = _order(session, charts_only, platforms, jobs)
    made = make_bundle(order, output.absolute(), charts(session), Registry.of_user(), app.reporter)
    data = {
        **_data(made.contents, made.digest, output),
        "fetched": made.fetched,
        "fetchedBytes": made.fetched_bytes,
        "present": made.present,
    }
    got = f"{made.fetched} blobs fetched ({made.fetched_bytes / 1e6:.1f} MB), {made.present} were there"
    app.print(data, f"{_text(made.contents, output)}\n{got}\nbundle.json: {made.digest}")
    return Exit.OK


@click.command("bundle-verify")
@click.argument("directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--digest", default="", metavar="SHA256", help="What bundle.json has to be, as told when the bundle was made.")
@click.pass_obj
def bundle_verify(app: App, directory: Path, digest: str) -> int:
    """Whether a bundle is whole: every blob there with its digest, every manifest reached, and nothing else in the directory.

    \b
    Example:  chandlery catalog bundle-verify quickstart.bundle
    """
    from catalog.obtain.bundled import Bundle, faults
    from catalog.obtain.registry import same

    found = Bundle(directory)
    same("bundle.json", digest, found.digest, str(directory))
    with app.reporter.step("verify the bundle") as step:
        wrong = faults(found)
        step.note(f"{len(found.contents.blobs)} blobs, {len(wrong)} faults")
    if wrong:
        listed = "\n".join(f"  - {one}" for one in wrong)
        raise CheckFailed(
            f"the bundle is not what its manifest says:\n{listed}", where=str(directory), todo="copy it again, or make it anew"
        )
    app.print(
        _data(found.contents, found.digest, directory), f"{_text(found.contents, directory)}\nbundle.json: {found.digest}, whole"
    )
    return Exit.OK


def _render_all(session: Session) -> None:
    """What does not render cannot be installed from a bundle; and every image that is rendered is listed then."""
    source = session.packager()
    with session.app.reporter.step("render charts") as step:
        rendered = [source.render(item) for item in session.plan.items]
        step.note(f"{len({image for one in rendered for image in one.images})} images in {len(rendered)} add-ons")


def _order(session: Session, charts_only: bool, platforms: tuple[str, ...], jobs: int) -> Any:
    from catalog.obtain.bundle import Order, Wanted
    from catalog.supply.images import images_of, versions_of

    versions = versions_of(session.catalogue, session.plan)
    images = tuple(Wanted(one.reference, one.digest, one.operand, one.used_by) for one in images_of(versions))
    return Order(session.spec.name, session.plan.digest, versions, images, charts_only, tuple(sorted(set(platforms))), jobs)


def _data(contents: Contents, digest: str, directory: Path) -> dict[str, Any]:
    return {
        "directory": str(directory),
        "digest": digest,
        "cluster": contents.cluster,
        "plan": contents.plan,
        "chartsOnly": contents.charts_only,
        "platforms": contents.platforms,
        "charts": [f"{one.addon} {one.version}" for one in contents.charts],
        "images": [one.name for one in contents.images],
        "unpinned": [one.name for one in contents.images if not one.pinned],
        "blobs": len(contents.blobs),
        "bytes": sum(contents.blobs.values()),
    }


def _text(contents: Contents, directory: Path) -> str:
    images = "no images (charts only)" if contents.charts_only else f"{len(contents.images)} images"
    unpinned = sum(not one.pinned for one in contents.images)
    return (
        f"{directory}: {len(contents.charts)} charts, {images}, {len(contents.blobs)} blobs, "
        f"{sum(contents.blobs.values()) / 1e6:.1f} MB, for cluster {contents.cluster}"
        + (f"; {unpinned} images are unpinned, their tags decided" if unpinned else "")
        + (f"; only {', '.join(contents.platforms)}" if contents.platforms else "")
    )

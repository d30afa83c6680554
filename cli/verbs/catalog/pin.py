"""``catalog pin``: read the digests of a version's chart and images, and write them into its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from base.errors import Exit
from cli.context import App, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from catalog.obtain.pin import Reading

_WORDS = {"same": "as pinned", "new": "pinned now", "changed": "CHANGED", "unread": "not read"}


@click.command()
@click.argument("addon")
@click.argument("version")
@click.option("--check", is_flag=True, help="Write nothing; say whether all is pinned, and as upstream has it.")
@click.option("--jobs", type=click.IntRange(1, 32), default=4, show_default=True, help="How many registries are asked at once.")
@click.option(
    "--catalogue",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The directory with addons/ and channels/ [default: this checkout's].",
)
@click.pass_obj
def pin(app: App, addon: str, version: str, check: bool, jobs: int, catalogue: Path | None) -> int:
    """Read the digests of a version's chart and images from their registries and write them into versions/VERSION.yaml.

    A digest that differs from the pinned one is refused, and the file is left as it is. What cannot be read stays unpinned.
    Exit code 0: all is pinned, 1 (with --check): something could be pinned, 4: a digest changed, 6: something was not read.

    \b
    Example:  chandlery catalog pin kai-scheduler 0.17.0
              chandlery catalog pin kai-scheduler 0.17.0 --check
    """
    from catalog.obtain.credentials import Logins, docker_config
    from catalog.obtain.pin import read_pins
    from catalog.obtain.registry import Registry
    from catalog.read.load import ROOT, load
    from catalog.supply.items import find_version

    root = catalogue or ROOT
    known, found = find_version(load(root), addon, version)
    file = root / "addons" / known.name / "versions" / f"{found.version}.yaml"
    # No mirrors: what a mirror says about a tag must not become the pin of what upstream published.
    with app.reporter.step(f"digests of {addon} {found.version}") as step:
        readings = read_pins(found, Registry(logins=Logins(docker_config())), jobs=jobs)
        step.note(f"{sum(bool(one.found) for one in readings)} of {len(readings)} read")
    states = [one.state for one in readings]
    written = False
    if not check and "new" in states and "changed" not in states:
        _write(file, readings)
        written = True
    said = f"{file} {'was written' if written else 'is as it was'}"
    app.print({"file": str(file), "written": written, "pins": [_data(one) for one in readings]}, f"{_text(readings)}\n\n{said}")
    if "changed" in states:
        return Exit.REFUSED
    if "unread" in states:
        return Exit.UNAVAILABLE
    return Exit.CHECK_FAILED if check and "new" in states else Exit.OK


def _write(file: Path, readings: Sequence[Reading]) -> None:
    """The file is read again under the lock: somebody else may have pinned a part of it meanwhile."""
    from base.files import lock, write_atomic
    from base.places import cache_dir
    from catalog.obtain.pin import with_pins

    with lock(cache_dir() / "pin.lock", "pinning", wait=30):
        write_atomic(file, with_pins(file.read_text(encoding="utf-8"), readings, str(file)))


def _data(one: Reading) -> dict[str, str]:
    return {
        "what": one.what, "place": one.place, "state": one.state,
        "pinned": one.pinned, "found": one.found, "problem": one.problem,
    }  # fmt: skip


def _text(readings: Sequence[Reading]) -> str:
    if not readings:
        return "nothing to pin: the chart is pinned by its source, and there are no images"
    rows = [
        (one.place if one.what == "image" else f"chart {one.place}", _WORDS[one.state], one.found or one.pinned or "unpinned")
        for one in readings
    ]
    lines = [table(("what", "", "digest"), rows)]
    lines += [
        f"changed: {one.place} is pinned as {one.pinned}, upstream has {one.found}" for one in readings if one.state == "changed"
    ]
    lines += [f"not read: {one.place}: {one.problem}" for one in readings if one.state == "unread"]
    return "\n".join(lines)

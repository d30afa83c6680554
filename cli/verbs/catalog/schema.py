"""``catalog schema``: JSON Schemas of the catalogue's files, for editors and for tools of others."""

from __future__ import annotations

import json
from pathlib import Path

import click

from base.errors import Exit, InvalidInput, NotFound
from base.names import did_you_mean
from cli.context import App

#: Words for the same kind of file.
_ALIASES = {"edge": "edges", "addons": "addon", "versions": "version", "channels": "channel"}


@click.command()
@click.argument("kind", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="Write KIND.schema.json there instead.")
@click.pass_obj
def schema(app: App, kind: str | None, output: Path | None) -> int:
    """JSON Schema of a kind of file: addon, version, edges or channel. With -o all kinds, or the one that is named.

    \b
    Example:  chandlery catalog schema version
              chandlery catalog schema -o .schemas
    """
    from base.files import write_json
    from catalog.read.schema import FILES
    from catalog.read.schema import schema as made

    if kind is None and output is None:
        raise InvalidInput("say which kind of file", todo=f"one of {', '.join(FILES)}, or -o DIR for all of them")
    wanted = _ALIASES.get(kind, kind) if kind else None
    if wanted is not None and wanted not in FILES:
        raise NotFound(f"no kind of file is called {kind!r}", todo=did_you_mean(kind or "", FILES))
    kinds = [wanted] if wanted else list(FILES)
    if output is None:
        found = made(kinds[0])
        app.print(found, json.dumps(found, indent=2))
        return Exit.OK
    lines, files = [], {}
    for name in kinds:
        path = output / f"{name}.schema.json"
        write_json(path, made(name))
        files[name] = {"schema": str(path), "files": FILES[name][1]}
        lines.append(f"{path}: for {FILES[name][1]}")
    first = output / f"{kinds[0]}.schema.json"
    lines.append(f"an editor finds it by a first line such as  # yaml-language-server: $schema={first}")
    app.print(files, "\n".join(lines))
    return Exit.OK

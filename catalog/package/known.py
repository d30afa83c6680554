"""Which values a chart knows, so that a misspelt one is refused: charts take any key and ignore what they do not read.

A chart says what it knows in three places: its ``values.yaml``, its ``values.schema.json``, and its templates, which read some
values that neither lists. A mapping is open (any key will do) where its default is empty, where the schema leaves it open, where
a template hands it on whole (``toYaml``, ``range``), or where its keys are plainly data (labels, annotations, selectors).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from base.errors import InvalidInput, Refused
from base.names import nearest
from catalog.package.values import merge

__all__ = ["Known", "check_known", "known_values", "unknown"]

_READ = re.compile(r"\.Values((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)")
_INDEXED = re.compile(r'index\s+\$?\.Values((?:\s+"[^"\s]+")+)')
_WHOLE = (
    re.compile(r"toYaml\s+\(?\$?\.Values((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)"),
    re.compile(r"range\s+[^}]*?\.Values((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)\s*-?\}\}"),
    re.compile(r"with\s+\$?\.Values((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)\s*-?\}\}[^{]*\{\{-?\s*(?:toYaml|tpl \(toYaml)\s+\.[\s)|}]"),
    re.compile(r"\.Values((?:\.[A-Za-z_][A-Za-z0-9_-]*)+)\s*\|\s*to(?:Yaml|Json)"),
)
#: Mappings whose keys are names of something else, whatever their default holds.
_DATA = re.compile(
    r"(?:.*(?:annotations|labels|selector|affinity|securitycontext|resources)|limits|requests|env|.*args|data)\Z", re.I
)

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """``defaults`` with those of subcharts under their names, the chart's ``schema``, paths that templates read with the
    ``steps`` on the way to them, and those that they hand on ``whole``."""

    defaults: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] = field(default_factory=dict)
    read: frozenset[Path] = frozenset()
    steps: frozenset[Path] = frozenset()
    whole: frozenset[Path] = frozenset()


def known_values(files: Mapping[str, bytes], origin: str) -> Known:
    """What the chart in ``files`` (paths below its directory) knows. Refused when its own files cannot be read."""
    defaults, read, whole = _chart(files, "", (), origin)
    steps = frozenset(path[:end] for path in read for end in range(1, len(path)))
    return Known(defaults, _json(files.get("values.schema.json"), origin), frozenset(read), steps, frozenset(whole))


def unknown(values: Mapping[str, Any], known: Known) -> tuple[tuple[Path, str], ...]:
    """The path of each value that the chart does not know, with a hint at the nearest one that it does."""
    return tuple(_walk(values, known.defaults, known.schema, (), known))


def check_known(addon: str, version: str, values: Mapping[str, Any], known: Known) -> None:
    """InvalidInput with every value of a spec that the chart does not know."""
    found = unknown(values, known)
    if not found:
        return
    lines = [f"addons.{addon}.values.{'.'.join(path)}: unknown to the chart ({hint})" for path, hint in found]
    listed = "\n".join(f"  {line}" for line in lines)
    count = f"{len(found)} value{'s' if len(found) > 1 else ''}"
    raise InvalidInput(
        f"the chart of {addon} {version} would ignore {count}:\n{listed}",
        where=f"addons.{addon}.values",
        todo="a chart takes any key and ignores what it does not know; mend the name or leave it out",
    )


def _walk(
    given: Mapping[str, Any], defaults: Mapping[str, Any], schema: Mapping[str, Any], path: Path, known: Known
) -> Iterator[tuple[Path, str]]:
    fields = schema.get("properties") or {}
    for key, value in given.items():
        here = (*path, key)
        if key in defaults or key in fields:
            inner, described = defaults.get(key), fields.get(key) or {}
            if isinstance(value, Mapping) and not _open(here, inner, described, known):
                yield from _walk(value, inner if isinstance(inner, Mapping) else {}, described, here, known)
        elif here in known.steps and here not in known.read and isinstance(value, Mapping):
            yield from _walk(value, {}, {}, here, known)
        elif here not in known.read and here not in known.steps:
            read = {one[len(path)] for one in known.read if len(one) > len(path) and one[: len(path)] == path}
            near = nearest(key, {*defaults, *fields, *read})
            yield here, f"did you mean {' or '.join(near)}?" if near else "the chart has nothing like it"


def _open(path: Path, default: Any, schema: Mapping[str, Any], known: Known) -> bool:
    """Whether any key will do in the mapping at ``path``."""
    if path in known.whole or _DATA.match(path[-1]) or "$ref" in schema:
        return True
    if schema.get("properties"):
        return schema.get("additionalProperties") not in (None, False, True)
    if isinstance(default, Mapping) and default:
        return any("/" in key or "." in key for key in default)
    return True


def _chart(files: Mapping[str, bytes], prefix: str, path: Path, origin: str) -> tuple[dict[str, Any], set[Path], set[Path]]:
    """Defaults, read paths and whole paths of the chart below ``prefix``, whose values stand at ``path`` of the whole."""
    defaults = _yaml(files.get(f"{prefix}values.yaml"), origin)
    read: set[Path] = set()
    whole: set[Path] = set()
    for name, data in files.items():
        if name.startswith(f"{prefix}templates/"):
            text = data.decode("utf-8", errors="replace")
            read |= {(*path, *match[1].strip(".").split(".")) for match in _READ.finditer(text)}
            read |= {(*path, *re.findall(r'"([^"\s]+)"', match[1])) for match in _INDEXED.finditer(text)}
            whole |= {(*path, *match[1].strip(".").split(".")) for pattern in _WHOLE for match in pattern.finditer(text)}
    if path:
        for paths in (read, whole):  # `global` is one for the chart and all of its subcharts
            paths |= {one[len(path) :] for one in paths if one[len(path)] == "global"}
    for folder, name in _subcharts(files, prefix, origin):
        below, more_read, more_whole = _chart(files, folder, (*path, name), origin)
        defaults = merge({name: below, "global": below.get("global") or {}}, defaults)
        read |= more_read
        whole |= more_whole
    # A value of a dependency may be set although its chart is not in the archive; nothing is known about it then.
    return defaults, read, whole


def _subcharts(files: Mapping[str, bytes], prefix: str, origin: str) -> Iterator[tuple[str, str]]:
    """The directory of each subchart and the name under which the parent's values hold its own."""
    folders = sorted({name[len(f"{prefix}charts/") :].partition("/")[0] for name in files if name.startswith(f"{prefix}charts/")})
    dependencies = _yaml(files.get(f"{prefix}Chart.yaml"), origin).get("dependencies") or []
    for folder in folders:
        aliases = [one.get("alias") or folder for one in dependencies if isinstance(one, Mapping) and one.get("name") == folder]
        for name in aliases or [folder]:
            yield f"{prefix}charts/{folder}/", str(name)


def _yaml(data: bytes | None, origin: str) -> dict[str, Any]:
    import helm_python

    try:
        return dict(helm_python.values_from_yaml(data.decode("utf-8", errors="replace"))) if data and data.strip() else {}
    except helm_python.HelmError as error:
        raise Refused(f"a file of the chart is no YAML mapping: {error}", where=origin) from error


def _json(data: bytes | None, origin: str) -> dict[str, Any]:
    try:
        found = json.loads(data) if data else {}
    except ValueError as error:
        raise Refused(f"values.schema.json of the chart is no JSON: {error}", where=origin) from error
    return found if isinstance(found, dict) else {}

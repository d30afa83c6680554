"""Renderers: chart bytes and values in, objects out. One small interface, so that the library behind it can be another one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from base.errors import InvalidInput, Refused

__all__ = ["KUBERNETES", "HelmLibrary", "Release", "Renderer", "Templates", "documents", "render_package"]

Object = dict[str, Any]

#: What charts are told about the cluster (``.Capabilities.KubeVersion``). The library knows this one; charts of ours decide
#: nothing by it, and lint tells of one that would.
KUBERNETES = "v1.36.0"
_DOCUMENT_END = re.compile(r"(?m)^---[ \t]*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Release:
    """What a chart is told about its installation."""

    name: str
    namespace: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Templates:
    """What came out, hooks included: objects of the templates, and CRDs of the chart's ``crds/`` directory."""

    objects: tuple[Object, ...]
    crds: tuple[Object, ...]


class Renderer(Protocol):
    """Renders as for a first installation, without a cluster (``lookup`` finds nothing)."""

    @property
    def identity(self) -> str:
        """Name and version; part of the key of what is kept, for another engine may render otherwise."""
        ...

    def render(self, archive: bytes, release: Release) -> Templates:
        """InvalidInput when the chart refuses the values, Refused when the bytes are no chart."""
        ...


class HelmLibrary:
    """Helm's own engine in this process (helm-python-sdk)."""

    @property
    def identity(self) -> str:
        import helm_python

        return f"helm-python-sdk {helm_python.__version__} (Helm {helm_python.helm_sdk_version()})"

    def render(self, archive: bytes, release: Release) -> Templates:
        import helm_python

        try:
            with helm_python.Chart.load_archive(archive) as chart:
                rendered = chart.render(dict(release.values), name=release.name, namespace=release.namespace, is_install=True)
                crds = [entry["data"] for entry in chart.crds]
        except (helm_python.HelmValuesError, helm_python.HelmRenderError) as error:
            raise InvalidInput(
                f"the chart of {release.name} cannot be rendered with these values: {error}",
                where=f"addons.{release.name}.values",
            ) from error
        except helm_python.HelmError as error:
            raise Refused(f"the chart of {release.name} is not usable: {error}") from error
        texts = [text for name, text in sorted(rendered.items()) if not name.endswith((".txt", ".tpl"))]
        return Templates(
            tuple(obj for text in texts for obj in documents(text, release.name)),
            tuple(obj for text in sorted(crds) for obj in documents(text, release.name)),
        )


def render_package(directory: Path, context: Mapping[str, Any]) -> Templates:
    """A package of ours: ``*.yaml.j2`` in ``directory`` are manifests, ``*.yaml`` in ``crds`` beside it its CRDs."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(directory), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    objects: list[Object] = []
    for path in sorted(directory.glob("*.yaml.j2")):
        try:
            text = environment.get_template(path.name).render(context)
        except jinja2.TemplateError as error:
            raise InvalidInput(f"a manifest of the package is broken: {error}", where=str(path)) from error
        objects.extend(documents(text, str(path)))
    crds = [
        obj
        for path in sorted((directory.parent / "crds").glob("*.yaml"))
        for obj in documents(path.read_text("utf-8"), str(path))
    ]
    return Templates(tuple(objects), tuple(crds))


def documents(text: str, origin: str) -> Iterator[Object]:
    """The objects in a stream of YAML documents, read as Helm and kubectl read it. Empty documents are passed over."""
    import helm_python

    for part in _DOCUMENT_END.split(text):
        if not part.strip():
            continue
        try:
            obj = helm_python.values_from_yaml(part)
        except helm_python.HelmError as error:
            raise InvalidInput(f"what {origin} renders is no YAML mapping: {error}", where=origin) from error
        if obj:
            yield obj

"""Where CRDs come from: a version of an add-on, or files that are no version yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from base.errors import InvalidInput, NotFound, Unavailable
from catalog.crds.shape import shape_problem
from catalog.model import AddonVersion, PackageSource
from catalog.package.objects import CRD_KIND
from catalog.package.packager import Packager
from catalog.package.render import documents
from catalog.plan import PlanItem

__all__ = ["crds_in", "crds_of"]

Object = dict[str, Any]


def crds_of(packager: Packager, item: PlanItem, version: AddonVersion) -> tuple[Object, ...]:
    """The CRDs of a version, by name.

    Where the chart holds all of them in its ``crds`` directory they are taken from there: Helm does not template that directory,
    so that no values are needed, and a chart that cannot be rendered yet can be compared already. Otherwise the chart is
    rendered. Errors as :meth:`Packager.render` raises them.
    """
    if not version.crds:
        return ()
    if not isinstance(version.source, PackageSource):
        import helm_python

        with helm_python.Chart.load_archive(packager.chart(item.addon, item.version).archive) as chart:
            texts = sorted(entry["data"] for entry in chart.crds)
        found = [obj for text in texts for obj in documents(text, item.addon)]
        if {str(obj["metadata"]["name"]) for obj in found} == set(version.crds):
            return _sorted(found, f"{item.addon} {item.version}")
    return _sorted(list(packager.render(item).crds), f"{item.addon} {item.version}")


def crds_in(path: Path) -> tuple[Object, ...]:
    """The CRDs in a YAML file, or in the YAML files of a directory. NotFound where there is none at all."""
    if not path.exists():
        raise NotFound("no such file or directory", where=str(path))
    files = sorted([*path.glob("*.yaml"), *path.glob("*.yml")]) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            text = file.read_text("utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInput("is not UTF-8", where=str(file)) from error
        except OSError as error:
            raise Unavailable(f"cannot be read: {error.strerror}", where=str(file)) from error
        for obj in documents(text, str(file)):
            if obj.get("kind") != CRD_KIND:
                continue
            found.append(obj)
    if not found:
        raise NotFound("no CRD there", where=str(path))
    return _sorted(found, str(path))


def _sorted(crds: list[Object], where: str) -> tuple[Object, ...]:
    """By name, once each is known to have the shape that the comparison relies on."""
    for crd in crds:
        if problem := shape_problem(crd):
            meta = crd.get("metadata")
            name = meta.get("name") if isinstance(meta, dict) else None
            message = f"{name or 'something'} is no CustomResourceDefinition of apiextensions.k8s.io/v1: {problem}"
            raise InvalidInput(message, where=where)
    return tuple(sorted(crds, key=lambda crd: str(crd["metadata"]["name"])))

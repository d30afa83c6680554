"""From a plan item to the objects that go onto the cluster. The one way from catalogue to manifests, with its cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from base.errors import NotFound, Refused
from catalog.model import AddonVersion, Catalogue, PackageSource
from catalog.obtain.archive import sha256
from catalog.obtain.registry import Registry
from catalog.obtain.sources import Chart, Charts, FetchModule
from catalog.obtain.store import Store
from catalog.package.objects import CRD_KIND, Object, flattened, images, ordered, split_hooks, with_namespaces
from catalog.package.render import HelmLibrary, Release, Renderer, Templates, render_package
from catalog.plan import PlanItem
from catalog.resolve.choice import Obtainable

__all__ = ["Packager", "Rendered"]

#: Goes up when the same inputs would come out otherwise.
_FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Rendered:
    """One add-on as objects, without Helm hooks, in the order of application.

    Every object of a namespaced kind has its namespace, and the add-on's own Namespace is among them. ``hooks`` are the Helm
    hooks that were left out, ``images`` all images that the objects run, ``source_digest`` is that of the chart, ``digest``
    that of CRDs and objects together.
    """

    addon: str
    version: str
    crds: tuple[Object, ...]
    objects: tuple[Object, ...]
    hooks: tuple[str, ...]
    images: tuple[str, ...]
    source_digest: str
    digest: str


class Packager:
    """Renders what a plan names. ``cache`` is a directory (base.places.cache_dir()); all of it may be deleted at any time.

    ``renders`` keeps what was rendered elsewhere than below ``cache``.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        cache: Path,
        *,
        fetch_module: FetchModule,
        mirror: Path | None = None,
        registry: Registry | None = None,
        renderer: Renderer | None = None,
        renders: Path | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._charts = Charts(Store(cache / "charts"), fetch_module=fetch_module, mirror=mirror, registry=registry)
        self._renders = Store(renders or cache / "renders")
        self._renderer = renderer or HelmLibrary()

    def obtainable(self, addon: str, version: str) -> Obtainable:
        """Whether the chart of a version can be had now; answers within seconds."""
        return self._charts.obtainable(self._version(addon, version))

    def chart(self, addon: str, version: str) -> Chart:
        """The chart of a version as a .tgz, for whoever wants it as a chart (``helm install`` in a benchmark)."""
        return self._charts.get(self._version(addon, version))

    def render(self, item: PlanItem) -> Rendered:
        """The objects of one item.

        Refused when a digest does not match, or when the chart renders an image, a hook or a CRD that the catalogue does not
        name; InvalidInput when the chart refuses the values; NotFound and Unavailable when
        the chart cannot be had.
        """
        version = self._version(item.addon, item.version)
        chart = None if isinstance(version.source, PackageSource) else self._charts.get(version)
        source_digest = chart.source_digest if chart else _package_digest(version.source)
        key = self._key(item, version, source_digest)
        kept = self._kept(key)
        if kept is not None:
            return kept
        templates = self._templates(item, version, chart)
        rendered = _finished(item, version, templates, source_digest)
        self._renders.name(key, {"blob": self._renders.put(json.dumps(asdict(rendered), separators=(",", ":")).encode())})
        return rendered

    def _version(self, addon: str, version: str) -> AddonVersion:
        found = self._catalogue.version(addon, version)
        if found is None:
            raise NotFound(f"version {version} of {addon} is not in the catalogue")
        return found

    def _templates(self, item: PlanItem, version: AddonVersion, chart: Chart | None) -> Templates:
        if chart is not None:
            return self._renderer.render(chart.archive, Release(item.addon, item.namespace, item.values))
        assert isinstance(version.source, PackageSource)
        context = {"namespace": item.namespace, "version": item.version, "values": item.values}
        return render_package(version.source.directory, context)

    def _key(self, item: PlanItem, version: AddonVersion, source_digest: str) -> str:
        """Everything that the result depends on."""
        renderer = "package" if isinstance(version.source, PackageSource) else self._renderer.identity
        inputs = {
            "format": _FORMAT,
            "renderer": renderer,
            "addon": item.addon,
            "version": item.version,
            "chart": [version.chart_version, version.app_version, source_digest],
            "namespace": item.namespace,
            "values": item.values,
            "images": [image.reference for image in version.images],
            "hooks": [asdict(hook) for hook in version.hooks],
            "crds": version.crds,
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    def _kept(self, key: str) -> Rendered | None:
        known = self._renders.named(key)
        data = self._renders.get(str(known.get("blob"))) if known else None
        if data is None:
            return None
        raw: dict[str, Any] = json.loads(data)
        whole: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}
        return Rendered(**whole)


def _finished(item: PlanItem, version: AddonVersion, templates: Templates, source_digest: str) -> Rendered:
    origin = f"{item.addon} {item.version}"
    objects, hooks = split_hooks(flattened(templates.objects, origin), version.hooks, origin)
    crds = [*flattened(templates.crds, origin), *(obj for obj in objects if obj["kind"] == CRD_KIND)]
    _check_crds(crds, version, origin)
    plain = [obj for obj in objects if obj["kind"] != CRD_KIND]
    plain = ordered(with_namespaces(plain, crds, item.namespace, origin))
    crds = ordered(crds)
    _check_unique([*crds, *plain], origin)
    found = images(plain)
    _check_images(found, version, origin)
    digest = sha256(json.dumps([crds, plain], sort_keys=True, separators=(",", ":")).encode())
    return Rendered(item.addon, item.version, tuple(crds), tuple(plain), tuple(hooks), found, source_digest, digest)


def _check_images(found: Sequence[str], version: AddonVersion, origin: str) -> None:
    known = {image.reference for image in version.images}
    unknown = [image for image in found if image not in known]
    if unknown:
        raise Refused(
            f"renders images that the catalogue does not name: {', '.join(unknown)}",
            where=origin,
            todo="values of the spec change an image, or the version file lacks one",
        )


def _check_crds(crds: Sequence[Object], version: AddonVersion, origin: str) -> None:
    names = {str(crd["metadata"]["name"]) for crd in crds}
    if names != set(version.crds):
        extra, missing = sorted(names - set(version.crds)), sorted(set(version.crds) - names)
        parts = [f"renders {', '.join(extra)}, which it does not own"] if extra else []
        parts += [f"does not render {', '.join(missing)}, which it owns"] if missing else []
        raise Refused("; ".join(parts), where=origin)


def _check_unique(objects: Sequence[Mapping[str, Any]], origin: str) -> None:
    seen: set[tuple[str, str, str, str]] = set()
    for obj in objects:
        meta = obj["metadata"]
        identity = (obj["apiVersion"], obj["kind"], str(meta.get("namespace", "")), str(meta["name"]))
        if identity in seen:
            raise Refused(f"renders {obj['kind']} {meta['name']} twice", where=origin)
        seen.add(identity)


def _package_digest(source: object) -> str:
    """Over names and contents of a package's own files."""
    assert isinstance(source, PackageSource)
    files = sorted([*source.directory.glob("*.yaml.j2"), *(source.directory.parent / "crds").glob("*.yaml")])
    return sha256(b"".join(f"{path.name}\0{sha256(path.read_bytes())}\n".encode() for path in files))

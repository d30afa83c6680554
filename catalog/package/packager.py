"""From a plan item to the objects that go onto the cluster. The one way from catalogue to manifests, with its cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from base.errors import NotFound, Refused
from catalog.model import AddonVersion, Catalogue, PackageSource
from catalog.obtain.archive import sha256, unpack
from catalog.obtain.bundled import Bundle
from catalog.obtain.registry import Registry
from catalog.obtain.sources import Chart, Charts, FetchModule
from catalog.obtain.store import Store
from catalog.package.images import images, listed, rewritten
from catalog.package.kept import Kept
from catalog.package.known import check_known, known_values
from catalog.package.objects import CRD_KIND, Object, flattened, ordered, split_hooks, with_namespaces
from catalog.package.placement import placed, unplaced
from catalog.package.render import HelmLibrary, Release, Renderer, Templates, render_package
from catalog.package.repeat import Made, settled, with_made
from catalog.plan import PlanItem
from catalog.resolve.choice import Obtainable

__all__ = ["Packager", "Rendered"]

#: Goes up when the same inputs would come out otherwise.
_FORMAT = "2"


@dataclass(frozen=True, slots=True)
class Rendered:
    """One add-on as objects, without Helm hooks, in the order of application.

    Every object of a namespaced kind has its namespace, and the add-on's own Namespace is among them. ``hooks`` are the Helm
    hooks that were left out, ``images`` all images that the objects run, as the catalogue names them (the objects themselves
    name a pinned one with its digest, and out of the cluster's own registry where it has one). ``source_digest`` is that of the
    chart, ``digest`` that of CRDs and objects together, without what was made up once.
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

    ``bundle`` leaves every other source of charts out. ``renders`` keeps what was rendered elsewhere than below ``cache``.
    ``kept`` is where passwords and certificates that charts make up are kept with a cluster; without it, objects show that there
    is something to be made.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        cache: Path,
        *,
        fetch_module: FetchModule,
        mirror: Path | None = None,
        registry: Registry | None = None,
        bundle: Bundle | None = None,
        renderer: Renderer | None = None,
        renders: Path | None = None,
        kept: Path | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._charts = Charts(Store(cache / "charts"), fetch_module=fetch_module, mirror=mirror, registry=registry, bundle=bundle)
        self._renders = Store(renders or cache / "renders")
        self._renderer = renderer or HelmLibrary()
        self._kept_values = Kept(kept) if kept else None

    def obtainable(self, addon: str, version: str) -> Obtainable:
        """Whether the chart of a version can be had now; answers within seconds."""
        return self._charts.obtainable(self._version(addon, version))

    def chart(self, addon: str, version: str) -> Chart:
        """The chart of a version as a .tgz, for whoever wants it as a chart (``helm install`` in a benchmark)."""
        return self._charts.get(self._version(addon, version))

    def render(self, item: PlanItem) -> Rendered:
        """The objects of one item, in the order of :class:`Rendered`. What was rendered once is never rendered again.

        Refused when a digest does not match, when the chart renders an image, a hook or a CRD that the catalogue does not
        name, something else at each rendering, or pods that do not get what the cluster asks of them; InvalidInput when the
        chart refuses the values, or the spec sets one that it does not know; NotFound and Unavailable when the chart cannot
        be had.
        """
        version = self._version(item.addon, item.version)
        chart = None if isinstance(version.source, PackageSource) else self._charts.get(version)
        if chart is None:
            self._charts.check_package(version)
        source_digest = chart.source_digest if chart else _package_digest(version.source)
        key = self._key(item, version, source_digest)
        found = self._found(key, item.addon)
        if found is None:
            found = self._fresh(item, version, chart, source_digest)
            self._renders.name(key, {"blob": self._renders.put(_packed(*found))})
        rendered, made = found
        if not made or self._kept_values is None:
            return rendered
        whole = self._kept_values.settle(item.addon, made)
        return replace(rendered, objects=with_made(rendered.objects, whole, item.namespace))

    def _version(self, addon: str, version: str) -> AddonVersion:
        found = self._catalogue.version(addon, version)
        if found is None:
            raise NotFound(f"version {version} of {addon} is not in the catalogue")
        return found

    def _fresh(
        self, item: PlanItem, version: AddonVersion, chart: Chart | None, source_digest: str
    ) -> tuple[Rendered, tuple[Made, ...]]:
        """Rendered twice, because once does not show what a chart makes up."""
        origin = f"{item.addon} {item.version}"
        values = item.values
        if chart is not None:
            known = known_values(unpack(chart.archive, chart.origin), chart.origin)
            check_known(item.addon, item.version, item.given, known)
            values = placed(values, version.paths, item.placement, known.defaults)
        elif item.placement:
            values = placed(values, version.paths, item.placement, {})
        first, second = (self._templates(item, version, chart, values) for _ in range(2))
        objects, made = settled(
            list(flattened(first.objects, origin)), list(flattened(second.objects, origin)), version.generated, origin
        )
        return _finished(item, version, Templates(objects, first.crds), source_digest), made

    def _templates(self, item: PlanItem, version: AddonVersion, chart: Chart | None, values: Mapping[str, Any]) -> Templates:
        if chart is not None:
            return self._renderer.render(chart.archive, Release(item.addon, item.namespace, values))
        assert isinstance(version.source, PackageSource)
        context = {"namespace": item.namespace, "version": item.version, "values": values}
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
            "given": item.given,
            "placement": asdict(item.placement),
            "paths": version.paths,
            "images": [asdict(image) for image in version.images],
            "generated": [asdict(one) for one in version.generated],
            "hooks": [asdict(hook) for hook in version.hooks],
            "crds": version.crds,
        }
        return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()

    def _found(self, key: str, addon: str) -> tuple[Rendered, tuple[Made, ...]] | None:
        """What was rendered before. Values that were made up are not in the cache: they are those that are kept."""
        known = self._renders.named(key)
        data = self._renders.get(str(known.get("blob"))) if known else None
        if data is None:
            return None
        raw: dict[str, Any] = json.loads(data)
        wanted = {(kind, space, name, tuple(path)) for kind, space, name, path in raw.pop("made")}
        whole: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}
        if not wanted or self._kept_values is None:
            return Rendered(**whole), ()
        made = tuple(one for one in self._kept_values.of(addon) if (one.kind, one.namespace, one.name, one.path) in wanted)
        return (Rendered(**whole), made) if len(made) == len(wanted) else None


def _packed(rendered: Rendered, made: Sequence[Made]) -> bytes:
    """For the cache, with the places of what was made up and without the values."""
    places = [[one.kind, one.namespace, one.name, list(one.path)] for one in made]
    return json.dumps({**asdict(rendered), "made": places}, separators=(",", ":")).encode()


def _finished(item: PlanItem, version: AddonVersion, templates: Templates, source_digest: str) -> Rendered:
    origin = f"{item.addon} {item.version}"
    objects, hooks = split_hooks(flattened(templates.objects, origin), version.hooks, origin)
    crds = [*flattened(templates.crds, origin), *(obj for obj in objects if obj["kind"] == CRD_KIND)]
    _check_crds(crds, version, origin)
    plain = [obj for obj in objects if obj["kind"] != CRD_KIND]
    plain = ordered(with_namespaces(plain, crds, item.namespace, origin))
    crds = ordered(crds)
    _check_unique([*crds, *plain], origin)
    registry = item.placement.registry
    found = listed(images(plain), version, origin, registry)
    plain = rewritten(plain, version.images, registry)
    if registry and (astray := [image for image in images(plain) if not image.startswith(f"{registry}/")]):
        raise Refused(f"these images cannot be taken out of {registry}: {', '.join(astray)}", where=origin)
    if missing := unplaced(plain, version, item.placement):
        raise Refused(
            "pods do not get what the cluster asks of them:\n" + "\n".join(f"  - {sentence}" for sentence in missing),
            where=origin,
            todo="add the place in the chart's values to the add-on's paths, or give the value in the spec",
        )
    digest = sha256(json.dumps([crds, plain], sort_keys=True, separators=(",", ":")).encode())
    return Rendered(item.addon, item.version, tuple(crds), tuple(plain), tuple(hooks), found, source_digest, digest)


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

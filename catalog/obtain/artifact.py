"""A chart as a Helm OCI artifact, whatever its source: what a bundle holds, and how it is read back against the same pins.

A chart out of a registry is copied as it is there. Of all others the artifact is made here, always with the same bytes. A chart
out of a Go module carries the module's list of file hashes along, whose own hash is the pinned ``h1:`` sum, and its Chart.yaml
as upstream has it: so each of its files can be checked against the pin without the rest of the module.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from base.errors import NotFound, Refused
from catalog.model import AddonVersion, FileSource, ModuleSource, OciSource, PackageSource, RepositorySource
from catalog.obtain.archive import listing_sum, pack, sha256, unpack
from catalog.obtain.layout import Layout
from catalog.obtain.media import CHART, CHART_CONFIG, MANIFEST, Descriptor, chart_layer, children
from catalog.obtain.registry import same

__all__ = ["Original", "chart_name", "find_original", "package_chart", "put_artifact", "stamped"]

#: Layers of ours beside the chart.
_LISTING = "application/vnd.chandlery.module.listing.v1+text"
_CHART_YAML = "application/vnd.chandlery.module.chart.v1+yaml"


@dataclass(frozen=True, slots=True)
class Original:
    """A chart before the catalogue's versions are written into it, verified against its source's pins.

    ``archive`` is the .tgz as it was published, for sources that publish one; ``files`` are the chart's files. ``digest`` is
    what identifies the source: a module's ``h1:`` sum, else the archive's SHA-256. ``listing`` is that of a module.
    """

    files: Mapping[str, bytes]
    digest: str
    origin: str
    archive: bytes = b""
    listing: str = ""


def stamped(version: AddonVersion, files: Mapping[str, bytes]) -> bytes:
    """The chart as it is rendered: a .tgz with the catalogue's versions in it."""
    return pack(files, name=chart_name(version.source), version=version.chart_version, app_version=version.app_version)


def put_artifact(layout: Layout, version: AddonVersion, chart: Original) -> Descriptor:
    """Write the artifact of a chart into a layout; what names its manifest."""
    layers = [layout.put(chart.archive or stamped(version, chart.files), CHART)]
    if chart.listing:
        layers.append(layout.put(chart.listing.encode(), _LISTING))
        layers.append(layout.put(chart.files["Chart.yaml"], _CHART_YAML))
    about = {
        "name": chart_name(version.source),
        "version": version.chart_version or version.version,
        "appVersion": version.app_version or version.version,
        "apiVersion": "v2",
        "type": "application",
    }
    config = layout.put(_json(about), CHART_CONFIG)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config.as_data(),
        "layers": [layer.as_data() for layer in layers],
        "annotations": {
            "org.opencontainers.image.title": about["name"],
            "org.opencontainers.image.version": about["version"],
        },
    }
    return layout.put(_json(manifest), MANIFEST)


def find_original(layout: Layout, version: AddonVersion, wanted: Descriptor) -> Original:
    """The chart of ``version`` out of the artifact that ``wanted`` names, held against the pins of the version's source.

    Refused with both digests where a pin does not hold, NotFound where a blob is missing.
    """
    where = f"{layout.directory}: {version.addon} {version.version}"
    manifest = layout.manifest(wanted)
    layers = children(manifest, where)
    archive = layout.read(chart_layer(manifest, where).digest)
    source = version.source
    if isinstance(source, ModuleSource):
        return _module_chart(layout, source, layers, archive, where)
    if isinstance(source, PackageSource):
        return _same_package(Original(unpack(archive, where), sha256(archive), where, archive), package_chart(version))
    pinned = source.archive_digest if isinstance(source, OciSource) else source.digest
    same(f"chart of {version.addon} {version.version}", pinned, sha256(archive), where)
    return Original(unpack(archive, where), sha256(archive), where, archive)


#: What Helm says of a package of ours. Its templates are not Helm's, and half an installation would be worse than none.
_REFUSAL = '{{ fail "this is a package of chandlery, not of Helm: install it with `chandlery up --from-bundle`" }}\n'


def package_chart(version: AddonVersion) -> Original:
    """A package of ours in the form of a chart, so that a bundle lacks nothing. Helm refuses to install it and says why."""
    assert isinstance(version.source, PackageSource)
    place = version.source.directory
    files = {f"package/{path.name}": path.read_bytes() for path in sorted(place.glob("*.yaml.j2"))}
    files |= {f"package/crds/{path.name}": path.read_bytes() for path in sorted((place.parent / "crds").glob("*.yaml"))}
    about = f"apiVersion: v2\nname: {chart_name(version.source)}\nversion: {version.version}\nappVersion: {version.version}\n"
    files |= {"Chart.yaml": about.encode(), "templates/refusal.yaml": _REFUSAL.encode()}
    archive = pack(files, name=chart_name(version.source), version=version.version, app_version=version.version)
    return Original(unpack(archive, version.addon), sha256(archive), str(place), archive)


def _same_package(bundled: Original, ours: Original) -> Original:
    """The package as it is here. Refused where the bundle was made of another one."""
    if bundled.files != ours.files:
        changed = sorted(n for n in bundled.files.keys() | ours.files.keys() if bundled.files.get(n) != ours.files.get(n))
        raise Refused(
            f"the bundle holds another package than this checkout ({', '.join(changed[:5])})",
            where=bundled.origin,
            todo="use the checkout that the bundle was made with",
        )
    return ours


def _module_chart(layout: Layout, source: ModuleSource, layers: Sequence[Descriptor], archive: bytes, where: str) -> Original:
    beside = {layer.media_type: layout.read(layer.digest) for layer in layers if layer.media_type in (_LISTING, _CHART_YAML)}
    if len(beside) != 2:
        raise Refused("its artifact lacks what proves that it comes out of its module", where=where)
    listing = beside[_LISTING].decode(errors="replace")
    origin = f"{source.module}@{source.version}"
    same(f"module {origin}", source.sum, listing_sum(listing), where)
    files = {**unpack(archive, where), "Chart.yaml": beside[_CHART_YAML]}
    prefix = f"{origin}/{source.path.strip('/')}/"
    lines = (line.partition("  ") for line in listing.split("\n"))
    wanted = {name.removeprefix(prefix): digest for digest, _, name in lines if name.startswith(prefix)}
    if not wanted:
        raise NotFound(f"module {origin} has no chart in {source.path}", where=where)
    found = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    if found != wanted:
        changed = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        raise Refused(f"its files are not those of module {origin}: {', '.join(changed[:5])}", where=where)
    return Original(files, source.sum, where, listing=listing)


def chart_name(source: object) -> str:
    """The name of the chart, which is its directory's and the first part of its file's."""
    if isinstance(source, ModuleSource):
        return source.path.rstrip("/").rpartition("/")[2]
    if isinstance(source, OciSource):
        return source.repository.rpartition("/")[2]
    if isinstance(source, RepositorySource):
        return source.chart
    if isinstance(source, FileSource):
        return source.path.stem
    if isinstance(source, PackageSource):
        return source.directory.parent.name
    raise TypeError(f"{source!r} is no chart source")


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

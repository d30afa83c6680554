"""The bill of materials of a resolved cluster: CycloneDX 1.6. Pure; the same plan gives the same bytes.

Components are the add-ons, their charts, images and CRD sets. What is not pinned has no hash and says so; a Go module's ``h1:``
sum is no hash of a file and stands as a property.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from catalog.model import (
    AddonVersion,
    Catalogue,
    FileSource,
    Image,
    ModuleSource,
    OciSource,
    PackageSource,
    RepositorySource,
    describe,
)
from catalog.package.packager import Rendered
from catalog.plan import Plan, PlanItem

if TYPE_CHECKING:
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from packageurl import PackageURL

__all__ = ["bill_of_materials"]


def bill_of_materials(
    plan: Plan, catalogue: Catalogue, rendered: Mapping[str, Rendered], *, timestamp: datetime.datetime | None = None
) -> str:
    """The JSON text. ``rendered`` is by add-on, one for each item of the plan; ``timestamp`` is left out where none is given.

    There is no serial number, which would have to be new each time: the plan's digest is the version of the cluster's component.
    """
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import ComponentType
    from cyclonedx.model.tool import ToolRepository
    from cyclonedx.output.json import JsonV1Dot6

    cluster = _component("cluster", plan.cluster, plan.digest, ComponentType.PLATFORM)
    tool = _component("tool:chandlery", "chandlery", "", ComponentType.APPLICATION)
    bom = Bom(metadata=BomMetaData(component=cluster, tools=ToolRepository(components=[tool])))
    bom.serial_number = None  # type: ignore[assignment]  # the writer leaves it out; the setter's type does not know
    bom.metadata.timestamp = timestamp  # type: ignore[assignment]  # likewise
    addons = {item.addon: _addon(item) for item in plan.items}
    bom.register_dependency(cluster, list(addons.values()))
    images: dict[tuple[str, str], Component] = {}
    for item in plan.items:
        version = catalogue.version(item.addon, item.version)
        if version is None:
            raise KeyError(f"{item.addon} {item.version}")
        parts = [_chart(item, version, rendered[item.addon])]
        for image in version.images:
            parts.append(images.setdefault((image.reference, image.digest), _image(image)))
        if rendered[item.addon].crds:
            parts.append(_crds(item, rendered[item.addon].crds))
        _register(bom, addons[item.addon], parts, [addons[name] for name in item.requires if name in addons])
    return f"{JsonV1Dot6(bom).output_as_string(indent=2)}\n"


def _register(bom: Bom, addon: Component, parts: Sequence[Component], required: Sequence[Component]) -> None:
    for component in (addon, *parts):
        bom.components.add(component)
    bom.register_dependency(addon, [*parts, *required])


def _component(
    ref: str,
    name: str,
    version: str,
    kind: ComponentType,
    *,
    purl: PackageURL | None = None,
    sha256: str = "",
    said: Mapping[str, str | Sequence[str]] | None = None,
    description: str = "",
) -> Component:
    from cyclonedx.model import HashAlgorithm, HashType, Property
    from cyclonedx.model.component import Component

    pairs = [(key, one) for key, value in (said or {}).items() for one in ([value] if isinstance(value, str) else value)]
    return Component(
        bom_ref=ref,
        name=name,
        version=version or None,
        type=kind,
        purl=purl,
        description=description or None,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=sha256.removeprefix("sha256:"))] if sha256 else [],
        properties=[Property(name=f"chandlery:{key}", value=value) for key, value in pairs if value],
    )


def _addon(item: PlanItem) -> Component:
    from cyclonedx.model.component import ComponentType

    said = {
        "state": item.state,
        "pin": item.chart_pin if item.chart_pin == item.image_pin else "unpinned",
        "role": item.role,
        "namespace": item.namespace,
    }
    ref = f"addon:{item.addon}@{item.version}"
    return _component(ref, item.addon, item.version, ComponentType.APPLICATION, said=said, description=item.title)


def _chart(item: PlanItem, version: AddonVersion, rendered: Rendered) -> Component:
    from cyclonedx.model.component import ComponentType
    from packageurl import PackageURL

    source, name, hashed = version.source, item.addon, ""
    said: dict[str, str] = {"pin": version.chart_pin, "source": describe(source), "rendered": rendered.digest}
    if isinstance(source, ModuleSource):
        head, _, last = source.module.lower().rpartition("/")
        purl = PackageURL("golang", head or None, last, source.version, subpath=source.path)
        said["sum"] = source.sum
    elif isinstance(source, OciSource):
        purl, name, hashed = (
            _oci(source.repository, source.tag, source.digest),
            source.repository.rpartition("/")[2],
            source.archive_digest,
        )
    elif isinstance(source, RepositorySource):
        purl = PackageURL("helm", None, source.chart, source.version, {"repository_url": source.url})
        name, hashed = source.chart, source.digest
    else:
        # The package's own files have no archive: their digest is over names and contents.
        purl = PackageURL("generic", None, item.addon, version.chart_version)
        hashed = source.digest if isinstance(source, FileSource) else ""
        if isinstance(source, PackageSource):
            said["files"] = rendered.source_digest
    ref = f"chart:{item.addon}@{version.chart_version}"
    return _component(ref, name, version.chart_version, ComponentType.FILE, purl=purl, sha256=hashed, said=said)


def _image(image: Image) -> Component:
    from cyclonedx.model.component import ComponentType

    repository = f"{image.registry}/{image.repository}"
    said = {"pin": "pinned" if image.digest else "unpinned", "operand": "true" if image.operand else ""}
    return _component(
        f"image:{image.reference}" + (f"@{image.digest}" if image.digest else ""),
        repository,
        image.tag,
        ComponentType.CONTAINER,
        purl=_oci(repository, image.tag, image.digest),
        sha256=image.digest,
        said=said,
    )


def _oci(repository: str, tag: str, digest: str) -> PackageURL:
    """The ``oci`` type of package URLs: the version is the digest, and absent where nobody knows it."""
    from packageurl import PackageURL

    name = repository.rpartition("/")[2].lower()
    return PackageURL("oci", None, name, digest or None, {"repository_url": repository.lower(), "tag": tag})


def _crds(item: PlanItem, crds: Sequence[Mapping[str, Any]]) -> Component:
    from cyclonedx.model.component import ComponentType

    text = json.dumps(list(crds), sort_keys=True, separators=(",", ":"))
    names = sorted(str(crd["metadata"]["name"]) for crd in crds)
    ref = f"crds:{item.addon}@{item.version}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    said = {"pin": item.chart_pin, "crd": names}
    return _component(ref, f"{item.addon} CRDs", item.version, ComponentType.DATA, sha256=digest, said=said)

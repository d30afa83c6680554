"""The file edge of the catalogue: one YAML section in, one value of :mod:`catalog.model` out, problems collected.

Read with the same positioned reader as cluster specs. (A schema library would cost more start-up time than resolving a cluster
does, and its errors know no line.)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from base.yamltree import Table
from catalog.model import (
    FACTS,
    ORDERED,
    Addon,
    AddonVersion,
    Channel,
    ChartSource,
    Compatibility,
    Constraint,
    DroppedHook,
    Embedded,
    FactName,
    FileSource,
    Guard,
    Image,
    KnownIssue,
    KubernetesRange,
    ModuleSource,
    OciSource,
    PackageSource,
    Peer,
    RepositorySource,
    Requirement,
    Scheme,
    TargetName,
    Tested,
    VersionRange,
    minor_number,
    number_range,
)
from catalog.plan import Program, Webhook
from spec.reader import Section

T = TypeVar("T")

#: What addon.yaml says for all versions, and a version's file again where it differs.
PACKAGE_FIELDS = ("requires", "crds", "paths", "hooks", "embedded", "checks")
ADDON_FIELDS = (
    "name", "title", "role", "reference", "namespace", "targets", "scheme", "upstream", "excludes", "strays", *PACKAGE_FIELDS,
)  # fmt: skip
VERSION_FIELDS = (
    "version", "released", "support", "withdrawn", "unverified", "chart", "images", "compatibility", "guards", "issues",
    *PACKAGE_FIELDS,
)  # fmt: skip
CHANNEL_FIELDS = ("name", "allowsUnpinned", "versions")
ROLES = (
    "certificates", "crds", "devices", "discovery", "fractions", "network", "quota", "repair", "scheduler", "slurm",
)  # fmt: skip
TARGETS: tuple[TargetName, ...] = ("embedded", "kind", "cluster")
UNPINNED = "unpinned"

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
_MODULE_SUM = re.compile(r"h1:[A-Za-z0-9+/]{43}=\Z")
_WORKLOAD = re.compile(r"[a-z0-9-]+/[a-z0-9-]+(\{pool\})?\Z")
_CONFIGURATION = re.compile(r"(Mutating|Validating)WebhookConfiguration/\S+\Z")


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for each version that does not say otherwise. ``package`` has the fields of :data:`PACKAGE_FIELDS`."""

    package: Mapping[str, Any]
    values_template: str = ""
    config_schema: Mapping[str, Any] = field(default_factory=dict)


def read_addon(section: Section) -> Addon:
    """``addon.yaml``, without what it says for its versions."""
    targets = section.words("targets", required=True)
    for target in targets:
        if target not in TARGETS:
            section.bad("targets", f"{target!r} is not one of {', '.join(TARGETS)}")
    return Addon(
        name=section.label("name", required=True),
        title=section.text("title", required=True),
        role=section.text("role", required=True, choices=ROLES),
        namespace=section.label("namespace", required=True),
        targets=tuple(cast(TargetName, target) for target in targets),
        scheme=_scheme(section),
        upstream=section.text("upstream"),
        excludes=_mapping_of_text(section, "excludes"),
        strays=_mapping_of_text(section, "strays"),
        reference=section.flag("reference"),
    )


def read_package(section: Section) -> dict[str, Any]:
    """What the section says about the chart's shape, and nothing for what it leaves out."""
    read: Mapping[str, Callable[[], object]] = {
        "requires": lambda: tuple(
            _each(section, "requires", ("addon", "reason", "sameVersion", "range", "scheme"), _requirement)
        ),
        "crds": lambda: section.words("crds"),
        "paths": lambda: _paths(section),
        "hooks": lambda: tuple(_each(section, "hooks", ("kind", "name", "reason", "doneBy"), _hook)),
        "embedded": lambda: _embedded(section),
        "checks": lambda: section.words("checks"),
    }
    return {name: make() for name, make in read.items() if section.has(name)}


def read_version(section: Section, addon: Addon, directory: Path, defaults: Defaults) -> AddonVersion:
    """``versions/<version>.yaml``; ``directory`` is the add-on's, to which paths of its package are relative."""
    chart = section.mapping("chart", required=True) or Table({}, section.table.position)
    source, chart_version, app_version = _chart(Section(chart, "chart", tuple(chart.entries), section.problems), directory)
    version = section.text("version", required=True)
    return AddonVersion(
        addon=addon.name,
        version=version,
        released=section.text("released"),
        source=source,
        chart_version=chart_version,
        app_version=app_version or chart_version,
        images=tuple(_each(section, "images", ("reference", "digest", "operand"), _image)),
        compatibility=_compatibility(section),
        guards=tuple(_each(section, "guards", ("path", "why", "cost"), _guard)),
        issues=tuple(_each(section, "issues", ("id", "title", "reference", "guard", "cost", "check", "fixedIn"), _issue)),
        support=section.text("support"),
        withdrawn=section.text("withdrawn"),
        unverified=section.words("unverified"),
        values_template=defaults.values_template,
        config_schema=defaults.config_schema,
        **{**defaults.package, **read_package(section)},
    )


def read_channel(section: Section) -> Channel:
    """``channels/<name>.yaml``."""
    return Channel(
        name=section.label("name", required=True),
        versions=_mapping_of_text(section, "versions"),
        allows_unpinned=section.flag("allowsUnpinned"),
    )


def _each(section: Section, name: str, fields: tuple[str, ...], make: Callable[[Section], T]) -> Iterator[T]:
    for element in section.sections(name, fields):
        yield make(element)


def _requirement(section: Section) -> Requirement:
    return Requirement(
        section.label("addon", required=True),
        section.text("reason", required=True),
        section.flag("sameVersion"),
        _range(section, _scheme(section)),
    )


def _scheme(section: Section) -> Scheme:
    return cast(Scheme, section.text("scheme", default="semver", choices=("semver", "calendar")))


def _range(section: Section, scheme: Scheme, name: str = "range") -> VersionRange:
    text = section.text(name)
    try:
        return VersionRange(text, scheme)
    except ValueError as error:
        section.bad(name, str(error), 'write bounds such as ">=0.17.0 <0.19.0"')
        return VersionRange("")


def _hook(section: Section) -> DroppedHook:
    return DroppedHook(
        section.text("kind", required=True), section.text("name"), section.text("reason", required=True), section.text("doneBy")
    )


def _guard(section: Section) -> Guard:
    return Guard(section.text("path", required=True), section.text("why", required=True), section.text("cost"))


def _issue(section: Section) -> KnownIssue:
    return KnownIssue(
        section.label("id", required=True),
        section.text("title", required=True),
        section.text("reference", required=True),
        section.text("guard"),
        section.text("cost"),
        section.text("check"),
        section.text("fixedIn"),
    )


def _image(section: Section) -> Image:
    reference = section.text("reference", required=True)
    name, colon, tag = reference.rpartition(":")
    if reference and (not colon or "/" in tag or "/" not in name):
        section.bad("reference", f"{reference!r} is no registry/name:tag")
    if tag == "latest":
        section.bad("reference", "the tag latest names no version")
    return Image(reference, _digest(section, "digest", required=False), section.flag("operand"))


def _digest(section: Section, name: str, *, required: bool) -> str:
    """A digest, or an empty string for the word ``unpinned``, which is how a file says that it does not know."""
    text = section.text(name, required=required)
    if text and text != UNPINNED and not _DIGEST.match(text):
        section.bad(name, f"{text[:20]!r} is neither sha256:<64 hexadecimal digits> nor {UNPINNED}")
    return "" if text == UNPINNED else text


def _chart(section: Section, directory: Path) -> tuple[ChartSource, str, str]:
    common = ("source", "chartVersion", "appVersion")
    kinds: Mapping[str, tuple[tuple[str, ...], Callable[[Section, Path], ChartSource]]] = {
        "go-module": (("module", "version", "sum", "path", "checksumDatabase"), _module_source),
        "oci": (("repository", "tag", "digest", "archiveDigest"), _oci_source),
        "helm-repository": (("repository", "chart", "version", "archiveDigest"), _repository_source),
        "file": (("path", "digest"), _file_source),
        "package": (("directory",), _package_source),
    }
    kind = section.text("source", required=True, choices=tuple(kinds)) or "package"
    fields, make = kinds[kind]
    known = Section(section.table, section.path, (*common, *fields), section.problems)
    return make(known, directory), known.text("chartVersion", required=True), known.text("appVersion")


def _module_source(section: Section, directory: Path) -> ChartSource:
    del directory
    checksum = section.text("sum", required=True)
    if checksum and not _MODULE_SUM.match(checksum):
        section.bad("sum", f"{checksum!r} is no h1: checksum", "as in go.sum, of the module's zip and not of its go.mod")
    return ModuleSource(
        section.text("module", required=True),
        section.text("version", required=True),
        checksum,
        section.text("path", required=True),
        section.flag("checksumDatabase", default=True),
    )


def _oci_source(section: Section, directory: Path) -> ChartSource:
    del directory
    repository = section.text("repository", required=True)
    if "://" in repository:
        section.bad("repository", "has a scheme", "write host/path without oci://")
    return OciSource(
        repository,
        section.text("tag", required=True),
        _digest(section, "digest", required=True),
        _digest(section, "archiveDigest", required=True),
    )


def _repository_source(section: Section, directory: Path) -> ChartSource:
    del directory
    url = section.text("repository", required=True)
    if url and not url.startswith("https://"):
        section.bad("repository", "is no https:// address")
    return RepositorySource(
        url,
        section.text("chart", required=True),
        section.text("version", required=True),
        _digest(section, "archiveDigest", required=True),
    )


def _file_source(section: Section, directory: Path) -> ChartSource:
    return FileSource(directory / section.text("path", required=True), _digest(section, "digest", required=True))


def _package_source(section: Section, directory: Path) -> ChartSource:
    return PackageSource(directory / section.text("directory", default="package"))


def _compatibility(section: Section) -> Compatibility:
    unknown = Compatibility(KubernetesRange("1.0", "", ""))
    outer = section.mapping("compatibility", required=True)
    if outer is None:
        return unknown
    block = Section(outer, "compatibility", ("kubernetes", "constraints", "peers", "tested"), section.problems)
    return Compatibility(
        _kubernetes(block) or unknown.declared,
        tuple(_each(block, "constraints", ("fact", "range", "words", "when", "reason", "source"), _constraint)),
        tuple(_each(block, "peers", ("addon", "range", "scheme", "reason", "source"), _peer)),
        tuple(_each(block, "tested", ("on", "record", "facts"), _tested)),
    )


def _kubernetes(block: Section) -> KubernetesRange | None:
    table = block.mapping("kubernetes", required=True)
    if table is None:
        return None
    declared = Section(table, block.at("kubernetes"), ("from", "to", "source"), block.problems)
    minimum, maximum = declared.text("from", required=True), declared.text("to")
    for name, text in (("from", minimum), ("to", maximum)):
        try:
            minor_number(text or "1.0")
        except ValueError:
            declared.bad(name, f"{text!r} is no Kubernetes minor", 'write it as "1.36"')
            return None
    return KubernetesRange(minimum or "1.0", maximum, declared.text("source", required=True))


def _constraint(section: Section) -> Constraint:
    fact = section.text("fact", required=True, choices=FACTS)
    words = section.words("words")
    text = section.text("range")
    if fact in ORDERED:
        if not text or words:
            section.bad("fact", f"{fact} is a number", 'give it a range such as ">=580"')
        try:
            number_range(text)
        except ValueError as error:
            section.bad("range", str(error))
    elif fact and (text or not words):
        section.bad("fact", f"{fact} is a word", "list what is admitted under `words`")
    return Constraint(
        cast(FactName, fact or "kernel"),
        section.text("reason", required=True),
        section.text("source", required=True),
        text,
        words,
        section.text("when"),
    )


def _peer(section: Section) -> Peer:
    return Peer(
        section.label("addon", required=True),
        _range(section, _scheme(section)),
        section.text("reason", required=True),
        section.text("source", required=True),
    )


def _tested(section: Section) -> Tested:
    return Tested(_mapping_of_text(section, "facts"), section.text("on", required=True), section.text("record", required=True))


def _embedded(section: Section) -> Embedded:
    table = section.mapping("embedded")
    if table is None:
        return Embedded()
    embedded = Section(table, "embedded", ("programs", "simulated", "webhooks"), section.problems)
    return Embedded(
        programs=tuple(_each(embedded, "programs", ("workload", "tool", "args", "env"), _program)),
        simulated=embedded.words("simulated"),
        webhooks=tuple(_each(embedded, "webhooks", ("configuration", "workload", "madeBy", "reason"), _webhook)),
    )


def _program(section: Section) -> Program:
    workload = section.text("workload", required=True)
    if workload and not _WORKLOAD.match(workload):
        section.bad("workload", f"{workload!r} is no namespace/deployment")
    return Program(workload, section.text("tool", required=True), section.words("args"), _mapping_of_text(section, "env"))


def _webhook(section: Section) -> Webhook:
    configuration = section.text("configuration", required=True)
    if configuration and not _CONFIGURATION.match(configuration):
        section.bad("configuration", f"{configuration!r} is no Kind/name of a webhook configuration")
    workload, reason = section.text("workload"), section.text("reason")
    if not workload and not reason:
        section.bad("configuration", "nothing serves it, and no reason says why", "name the workload, or the reason")
    return Webhook(configuration, workload, section.text("madeBy", default="chart"), reason)


def _mapping_of_text(section: Section, name: str) -> dict[str, str]:
    table = section.mapping(name) or Table({}, section.table.position)
    inner = Section(table, section.at(name), tuple(table.entries), section.problems)
    return {key: inner.text(key, required=True) for key in table.entries}


def _paths(section: Section) -> dict[str, tuple[str, ...]]:
    table: Any = section.mapping("paths") or Table({}, section.table.position)
    inner = Section(table, section.at("paths"), tuple(table.entries), section.problems)
    return {key: inner.words(key) for key in table.entries}

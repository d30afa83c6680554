"""What must hold of the add-ons beside KAI's: their versions, channels, compatibility, typed configuration and edges.

Nothing here repeats a number of the data; what is written twice would only be written wrong twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import jsonschema
import pytest
import yaml

from catalog.model import (
    AddonVersion,
    Catalogue,
    ModuleSource,
    VersionRange,
    minor_number,
    version_key,
)
from catalog.package.values import leaves
from catalog.read.load import ROOT, load

DOCS = ROOT.parent / "docs"
CATALOGUE: Catalogue = load(eager=True)
OURS = (
    "cert-manager",
    "gpu-operator",
    "network-operator",
    "node-feature-discovery",
    "nvsentinel",
    "slurm-operator",
    "slurm-operator-crds",
)
VERSIONS = [version for addon in OURS for version in CATALOGUE.versions[addon]]
#: Roles of add-ons that do nothing without a GPU or a network card.
HARDWARE = {"devices", "network", "repair"}

each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.addon}-{v.version}")
each_channel = pytest.mark.parametrize("channel", sorted(CATALOGUE.channels))


def known(addon: str, version: str) -> AddonVersion:
    found = CATALOGUE.version(addon, version)
    assert found is not None
    return found


@each_version
def test_an_image_names_its_registry_and_a_tag_that_does_not_move(version: AddonVersion) -> None:
    references = [image.reference for image in version.images]
    assert len(references) == len(set(references))
    for image in version.images:
        assert "." in image.registry, f"{image.reference} leaves the registry to the container runtime"
        assert any(character.isdigit() for character in image.tag), f"{image.reference} may be another image tomorrow"


@each_version
def test_what_nobody_could_try_is_said(version: AddonVersion) -> None:
    assert set(version.unverified) <= {"chart", "hardware"}
    assert ("chart" in version.unverified) == (version.chart_pin == "unpinned")
    assert ("hardware" in version.unverified) == (CATALOGUE.addons[version.addon].role in HARDWARE)


@each_version
def test_what_was_tested_is_recorded_and_within_what_upstream_declares(version: AddonVersion) -> None:
    declared = version.compatibility.declared
    for tested in version.compatibility.tested:
        assert not version.unverified
        assert (DOCS / tested.record).is_file()
        assert declared.admits(tested.facts["kubernetes"])
        assert version.version in (DOCS / tested.record).read_text()


@each_version
def test_a_declared_range_is_a_range(version: AddonVersion) -> None:
    declared = version.compatibility.declared
    assert not declared.maximum or minor_number(declared.minimum) <= minor_number(declared.maximum)
    for constraint in version.compatibility.constraints:
        fields = _properties(version.config_schema) if constraint.when else {}
        assert not constraint.when or constraint.when in fields, f"{constraint.when} is nothing that can be configured"


@each_version
def test_a_known_issue_is_fixed_in_a_later_version_if_at_all(version: AddonVersion) -> None:
    scheme = CATALOGUE.addons[version.addon].scheme
    for issue in version.issues:
        assert not issue.fixed_in or version_key(issue.fixed_in, scheme) > version_key(version.version, scheme)
        assert bool(issue.cost) or not issue.guard, f"{issue.id}: a guard has its price, or says that it has none"


def test_hardware_operators_are_not_pretended_on_simulated_nodes() -> None:
    for name in OURS:
        addon = CATALOGUE.addons[name]
        if addon.role in HARDWARE | {"discovery"}:
            assert "embedded" not in addon.targets
            assert not any(v.embedded.simulated or v.embedded.programs for v in CATALOGUE.versions[name])


def test_programs_of_one_version_never_stand_for_another() -> None:
    built = {tool: str(pin["version"]) for tool, pin in _tools().items()}
    seen = 0
    for version in VERSIONS:
        for program in version.embedded.programs:
            assert built[program.tool] == version.version
            seen += 1
    assert seen


def test_one_module_has_one_sum_and_only_one_is_missing_from_the_checksum_database() -> None:
    sources = [version.source for version in VERSIONS if isinstance(version.source, ModuleSource)]
    assert len({(s.module, s.version) for s in sources}) == len({(s.module, s.version, s.sum, s.database) for s in sources})
    assert {(s.module, s.version) for s in sources if not s.database} == {("github.com/SlinkyProject/slurm-operator", "v0.4.0")}


def test_operator_and_crds_of_slurm_have_the_same_versions() -> None:
    operators, crds = (CATALOGUE.versions[name] for name in ("slurm-operator", "slurm-operator-crds"))
    assert [v.version for v in operators] == [v.version for v in crds]
    for operator in operators:
        assert any(r.addon == "slurm-operator-crds" and r.same_version for r in operator.requires)


def test_edge_has_the_newest_version_of_every_addon_that_may_be_installed() -> None:
    newest = {
        name: [v.version for v in versions if not v.withdrawn][-1]
        for name, versions in CATALOGUE.versions.items()
        if any(not v.withdrawn for v in versions)
    }
    assert CATALOGUE.channels["edge"].versions == newest


def test_no_channel_is_ahead_of_the_one_before_it() -> None:
    for behind, ahead in (("candidate", "edge"), ("stable", "candidate")):
        for name, version in CATALOGUE.channels[behind].versions.items():
            scheme, before = CATALOGUE.addons[name].scheme, CATALOGUE.channels[ahead].versions[name]
            assert version_key(version, scheme) <= version_key(before, scheme), f"{name}: {behind} is ahead of {ahead}"


def test_a_candidate_was_rendered_or_run_here_and_stable_is_pinned() -> None:
    for name, version in CATALOGUE.channels["candidate"].versions.items():
        if name not in OURS:
            continue
        found = known(name, version)
        assert found.chart_pin == "pinned" or found.compatibility.tested, f"{name} {version} was only read about"
    assert not CATALOGUE.channels["stable"].allows_unpinned
    assert CATALOGUE.channels["stable"].versions
    for name, version in CATALOGUE.channels["stable"].versions.items():
        assert (known(name, version).chart_pin, known(name, version).image_pin) == ("pinned", "pinned")


@each_channel
def test_versions_of_a_channel_go_together(channel: str) -> None:
    versions = CATALOGUE.channels[channel].versions
    for name, number in versions.items():
        version = known(name, number)
        for requirement in version.requires:
            there = versions.get(requirement.addon)
            assert there or channel != "edge", f"{name} needs {requirement.addon}, which the channel does not have"
            assert there is None or requirement.range.admits(there)
            assert there is None or not requirement.same_version or there == number
        for peer in version.compatibility.peers:
            assert peer.addon not in versions or peer.range.admits(versions[peer.addon]), f"{name} against {peer.addon}"


def test_the_old_gpu_operator_is_too_old_for_what_stands_beside_it() -> None:
    old, new = CATALOGUE.versions["gpu-operator"][0], CATALOGUE.versions["gpu-operator"][-1]
    assert all(old.version not in channel.versions.values() for channel in CATALOGUE.channels.values())
    bounds: list[tuple[str, VersionRange]] = []
    for version in CATALOGUE.versions.get("gpu-fractioning", ()):
        bounds += [(requirement.addon, requirement.range) for requirement in version.requires]
        bounds += [(peer.addon, peer.range) for peer in version.compatibility.peers]
    wanted = [bound for name, bound in bounds if name == "gpu-operator" and bound.text]
    if not wanted:
        pytest.skip("nothing in the catalogue asks for a GPU operator of some age")
    assert all(new.version != old.version and bound.admits(new.version) and not bound.admits(old.version) for bound in wanted)


def test_nobody_assessed_the_way_of_nvsentinel() -> None:
    assert CATALOGUE.edges.get("nvsentinel", ()) == ()


def test_every_edge_leads_from_versions_that_there_are_to_one_that_there_is() -> None:
    seen = 0
    for name in OURS:
        scheme = CATALOGUE.addons[name].scheme
        for edge in CATALOGUE.edges.get(name, ()):
            origins = [v.version for v in CATALOGUE.versions[name] if edge.origin.admits(v.version)]
            assert origins, f"{name}: {edge.origin} is no version"
            assert known(name, edge.to)
            assert all(version_key(origin, scheme) < version_key(edge.to, scheme) for origin in origins)
            assert edge.verdict != "manual" or edge.steps, "manual means that somebody has steps to do"
            assert edge.references
            seen += 1
    assert seen


def test_slurm_has_a_way_from_each_version_to_the_next_and_none_back() -> None:
    for name in ("slurm-operator", "slurm-operator-crds"):
        numbers = [version.version for version in CATALOGUE.versions[name]]
        for here, there in pairwise(numbers):
            ways = [edge for edge in CATALOGUE.edges[name] if edge.to == there and edge.origin.admits(here)]
            assert [(way.verdict, way.reversible) for way in ways] == [("manual", False)]


# Typed configuration. Templates are rendered here by jinja alone, so that these hold whatever fills in the defaults.


@each_version
def test_a_schema_is_closed_and_every_property_has_a_description_and_a_default(version: AddonVersion) -> None:
    schema = version.config_schema
    if not schema:
        return
    jsonschema.Draft202012Validator.check_schema(schema)
    for path, node in _objects(schema):
        assert node["additionalProperties"] is False, path
        for name, field in node["properties"].items():
            assert field["description"].endswith("."), f"{path}.{name}"
            assert "default" in field, f"{path}.{name}"
            jsonschema.Draft202012Validator(field).validate(field["default"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({"noSuchKnob": 1})


@each_version
def test_every_knob_reaches_the_values_of_the_chart(version: AddonVersion) -> None:
    schema = version.config_schema
    usual = _values(version, _defaults(schema))
    for path, field in _properties(schema).items():
        changed = _with(_defaults(schema), path.split("."), _another(field))
        jsonschema.Draft202012Validator(schema).validate(changed)
        assert _values(version, changed) != usual, f"{path} changes nothing"


@each_version
def test_no_knob_moves_a_guard_and_every_guard_is_explained(version: AddonVersion) -> None:
    schema = version.config_schema
    usual = _values(version, _defaults(schema))["guards"]
    assert {".".join(path) for path, _ in leaves(usual or {})} == {guard.path for guard in version.guards}
    for path, field in _properties(schema).items():
        assert _values(version, _with(_defaults(schema), path.split("."), _another(field)))["guards"] == usual


def _objects(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    if schema.get("type") == "object":
        yield path, schema
        for name, field in schema["properties"].items():
            yield from _objects(field, f"{path}.{name}".lstrip("."))


def _properties(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Every property that is no object, by its dotted path."""
    return {
        f"{path}.{name}".lstrip("."): field
        for path, node in _objects(schema)
        for name, field in node["properties"].items()
        if field["type"] != "object"
    }


def _defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    filled: dict[str, Any] = {}
    for path, field in _properties(schema).items():
        filled = _with(filled, path.split("."), field["default"])
    return filled


def _with(config: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    inner = value if len(path) == 1 else _with(config.get(path[0], {}), path[1:], value)
    return {**config, path[0]: inner}


def _another(field: Mapping[str, Any]) -> Any:
    """A value that the schema admits and that is not the default."""
    default = field["default"]
    if "enum" in field:
        return next(value for value in field["enum"] if value != default)
    return {"boolean": not default, "integer": field.get("minimum", 0) + 1, "string": "other", "array": ["other"]}[field["type"]]


def _values(version: AddonVersion, config: Mapping[str, Any]) -> dict[str, Any]:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)
    text = environment.from_string(version.values_template or "{defaults: {}, guards: {}}").render(
        target="cluster",
        version=version.version,
        chart_version=version.chart_version,
        app_version=version.app_version,
        config=config,
    )
    values: dict[str, Any] = yaml.safe_load(text)
    return json.loads(json.dumps(values))  # type: ignore[no-any-return]  # and nothing that JSON cannot hold


def _tools() -> Mapping[str, Mapping[str, Any]]:
    tools: Mapping[str, Mapping[str, Any]] = yaml.safe_load(Path(ROOT.parent / "toolchain/tools.yaml").read_text())["tools"]
    return tools

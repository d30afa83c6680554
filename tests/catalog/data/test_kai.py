"""What must hold of KAI's add-ons, whatever their versions are: guards, hooks, images, what excludes what, and dead values.

Nothing here repeats a number of the data that may move; what is written twice would only be written wrong twice.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from base.errors import Position, SpecError
from catalog.lint.run import CHECKS
from catalog.lint.world import World
from catalog.model import AddonVersion, Catalogue, Fingerprint, OciSource, number_range, version_key
from catalog.package.config import config_problems, filled
from catalog.package.objects import split_hooks
from catalog.package.request import noop_of, request_problems
from catalog.package.values import chart_values, leaves
from catalog.plan import Facts
from catalog.read.load import ROOT, load
from catalog.resolve.bonds import bonds
from catalog.resolve.choice import Choice
from catalog.resolve.needs import Place, judge
from catalog.resolve.resolver import resolve
from spec.load import load as load_spec
from spec.model import AddonRequest

DOCS = ROOT.parent / "docs"
ADDONS = ROOT / "addons"
UPSTREAM = ROOT.parents[1] / "shared/upstream/kai-scheduler"
CATALOGUE: Catalogue = load(eager=True)
OURS = ("gpu-fractioning", "hami-resource-isolator", "kai-reference", "kai-resource-management", "kai-scheduler")
VERSIONS = [version for addon in OURS for version in CATALOGUE.versions[addon]]
CONFIGURED = [version for version in VERSIONS if version.config_schema]
KAI = CATALOGUE.versions["kai-scheduler"]
FRACTIONS = [version for version in VERSIONS if CATALOGUE.addons[version.addon].role == "fractions"]
#: Who schedules pods with KAI's kinds: one of them in a cluster.
SCHEDULERS = ("kai-reference", "kai-resource-management", "kai-scheduler")
GRACE = "default-staleness-grace-period"

each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.addon}-{v.version}")
each_configured = pytest.mark.parametrize("version", CONFIGURED, ids=lambda v: f"{v.addon}-{v.version}")
each_kai = pytest.mark.parametrize("version", KAI, ids=lambda v: v.version)
each_fraction = pytest.mark.parametrize("version", FRACTIONS, ids=lambda v: f"{v.addon}-{v.version}")


def values_of(version: AddonVersion, config: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
    return chart_values(CATALOGUE.addons[version.addon], version, target="cluster", given={}, config=config).values


def excluded(one: str, other: str) -> bool:
    return other in CATALOGUE.addons[one].excludes or one in CATALOGUE.addons[other].excludes


def test_no_reference_is_cut_off_by_a_comment() -> None:
    """YAML takes " #1" for a comment where nothing quotes it."""
    files = [path for addon in OURS for path in (ADDONS / addon).rglob("*.yaml") if path.parent.name != "crds"]
    assert files
    for path in files:
        cut = [line for line in path.read_text().splitlines() if re.match(r"[^\"'#]*(#[^\"']*)?\s#\d", line)]
        assert not cut, f"{path.name}: {cut}"


# Images, hooks, what was tried.


@each_version
def test_an_image_has_a_tag_of_its_version_and_a_registry(version: AddonVersion) -> None:
    references = [image.reference for image in version.images]
    assert references
    assert len(references) == len(set(references))
    for image in version.images:
        assert "." in image.registry
        assert image.tag.removeprefix("v") == version.version


@each_kai
def test_the_chart_and_every_image_of_kai_have_one_tag(version: AddonVersion) -> None:
    assert isinstance(version.source, OciSource)
    assert {image.tag for image in version.images} == {version.app_version} == {f"v{version.version}"}
    assert version.source.tag.removeprefix("v") == version.version


@each_version
def test_what_nobody_could_try_is_said(version: AddonVersion) -> None:
    assert set(version.unverified) <= {"chart", "hardware"}
    assert ("hardware" in version.unverified) == (CATALOGUE.addons[version.addon].role == "fractions")
    for tested in version.compatibility.tested:
        assert not version.unverified
        assert version.compatibility.declared.admits(tested.facts["kubernetes"])
        assert version.version in (DOCS / tested.record).read_text()


@each_version
def test_a_hook_is_named_and_one_that_does_work_says_who_does_it(version: AddonVersion) -> None:
    for hook in version.hooks:
        assert hook.name, f"{hook.kind}: whatever else the chart makes a hook of would be dropped unseen"
        assert hook.done_by or hook.kind != "Job"


@each_version
def test_what_a_guard_holds_is_among_the_values_and_an_issue_with_a_guard_has_its_price(version: AddonVersion) -> None:
    present = {".".join(path) for path, _ in leaves(values_of(version))}
    guards = {guard.path for guard in version.guards}
    assert guards <= present
    for issue in version.issues:
        assert not issue.guard or (issue.guard in guards and issue.cost)
        scheme = CATALOGUE.addons[version.addon].scheme
        assert not issue.fixed_in or version_key(issue.fixed_in, scheme) > version_key(version.version, scheme)


@each_kai
def test_what_was_mended_in_a_line_is_not_told_of_its_later_versions(version: AddonVersion) -> None:
    line = version.version.rpartition(".")[0]
    for other in KAI:
        if other.version.rpartition(".")[0] == line:
            fixes = {issue.id: issue.fixed_in for issue in other.issues if issue.fixed_in}
            mended = {name for name, fix in fixes.items() if version_key(fix) <= version_key(version.version)}
            assert not mended & {issue.id for issue in version.issues}


@each_kai
def test_a_kai_that_evicts_finishing_gangs_is_guarded_and_no_other(version: AddonVersion) -> None:
    issues = [issue for issue in version.issues if issue.id == "stale-gang-eviction"]
    args = values_of(version)["scheduler"].get("args") or {}
    assert bool(issues) == (GRACE in args)
    assert all(issue.guard.endswith(GRACE) and issue.cost and issue.check for issue in issues)
    if issues:
        assert args[GRACE].startswith("-")
        assert config_problems(version, {"schedulerArgs": {GRACE: "60s"}}, lambda _: Position("x"))


@each_kai
def test_the_config_comes_from_the_package(version: AddonVersion) -> None:
    """Rendered with the chart, or out of the ConfigMap of the hook that would apply it: never both, never neither."""
    values = values_of(version)
    rendered = bool((values.get("kaiConfig") or {}).get("render"))
    hook = [one for one in version.hooks if one.kind == "ConfigMap" and one.done_by == "manifest"]
    assert rendered != bool(hook)
    assert (values.get("kaiConfigDeployer") or {}).get("enabled", True) != rendered
    assert values["topologyMigration"]["enabled"] is False
    assert values["postCleanup"]["enabled"] is False


@each_kai
def test_the_names_upstream_publishes_are_the_ones_described(version: AddonVersion) -> None:
    folder = _upstream(version)
    crds = [obj["metadata"]["name"] for path in sorted((folder / "crds").glob("*.yaml")) for obj in _objects(path)]
    assert crds
    assert sorted(crds) == sorted(version.crds)
    hooks = _objects(folder / "hooks.yaml")
    assert {(o["kind"], o["metadata"]["name"]) for o in hooks} == {(hook.kind, hook.name) for hook in version.hooks}


@each_kai
def test_upstreams_own_rendering_has_one_config_with_every_image_that_is_listed(version: AddonVersion) -> None:
    folder = _upstream(version)
    kept, _ = split_hooks([*_objects(folder / "rendered.yaml"), *_objects(folder / "hooks.yaml")], version.hooks, "upstream")
    (config,) = [obj for obj in kept if obj["kind"] == "Config"]
    assert not [name for name in config["metadata"].get("annotations") or {} if name.startswith("helm.sh/hook")]
    told = json.dumps(kept)
    for image in version.images:
        name = image.repository.rpartition("/")[2]
        assert f'"{name}"' in told or f"/{name}:" in told, f"nothing of the chart speaks of {name}"


def _upstream(version: AddonVersion) -> Path:
    folder = UPSTREAM / f"v{version.version}"
    if not folder.is_dir():
        pytest.skip(f"nothing of KAI {version.version} was kept to compare with")
    return folder


def _objects(path: Path) -> list[dict[str, Any]]:
    found = [obj for obj in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) if obj]
    assert found
    return found


# Values that do nothing.


@each_kai
def test_a_value_that_does_nothing_is_refused_in_a_spec_and_found_by_lint(version: AddonVersion) -> None:
    assert version.noops
    addon = CATALOGUE.addons[version.addon]
    for noop in version.noops:
        values = _nested(noop.path.split("."), "x")
        problems = request_problems(version, AddonRequest(addon.name, values=values), "spec.yaml")
        assert [problem.todo for problem in problems] == [noop.instead]
        setting = replace(version, values_template=yaml.safe_dump({"defaults": values, "guards": {}}))
        world = World(Catalogue({addon.name: addon}, {addon.name: (setting,)}, {}), datetime.date(2026, 12, 1))
        assert [found for found in CHECKS["CAT210"](world) if noop.path in found.message or noop.instead in found.message]


@each_version
def test_no_configuration_sets_a_value_that_does_nothing(version: AddonVersion) -> None:
    every = [{}, *(_nested(path, _another(field)) for path, field in _knobs(version.config_schema))]
    for config in every:
        assert [path for path, _ in leaves(values_of(version, config)) if noop_of(version.noops, path)] == []


def test_values_that_people_set_in_vain_are_known() -> None:
    for version in KAI:
        for component in ("scheduler", "binder", "admission", "podgrouper", "queuecontroller", "podgroupcontroller"):
            assert noop_of(version.noops, (component, "replicas"))
        assert noop_of(version.noops, ("binder", "resourceReservation", "runtimeClassName"))
        assert not noop_of(version.noops, ("operator", "replicaCount"))


# Typed configuration.


@each_configured
def test_a_schema_is_closed_and_every_knob_is_explained(version: AddonVersion) -> None:
    schema = version.config_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert config_problems(version, {"noSuchKnob": 1}, lambda _: Position("x"))
    jsonschema.Draft202012Validator(schema).validate(filled(schema))
    for path, node in _nodes(schema):
        assert node.get("additionalProperties") is False or "propertyNames" in node, path
        for name, field in node.get("properties", {}).items():
            assert field["description"].endswith("."), f"{path}.{name}"
            assert "default" in field, f"{path}.{name}"


@each_configured
def test_every_knob_reaches_the_chart_and_none_moves_a_guard(version: AddonVersion) -> None:
    usual = values_of(version)
    for path, field in _knobs(version.config_schema):
        config = _nested(path, _another(field))
        if config_problems(version, config, lambda _: Position("x")):
            assert path == ("usageHistory", "enabled"), "only this one needs another beside it"
        changed = values_of(version, config)
        assert changed != usual, f"{'.'.join(path)} changes nothing"
        for guard in version.guards:
            assert _at(changed, guard.path) == _at(usual, guard.path)


@pytest.mark.parametrize("version", [v for v in KAI if "usageHistory" in v.config_schema["properties"]], ids=lambda v: v.version)
def test_usage_is_remembered_in_a_prometheus_that_is_there(version: AddonVersion) -> None:
    """Otherwise the operator asks for one of its own, whose image no list has."""
    assert config_problems(version, {"usageHistory": {"enabled": True}}, lambda _: Position("x"))
    whole = {"usageHistory": {"enabled": True, "prometheusUrl": "http://prometheus.monitoring:9090"}}
    assert not config_problems(version, whole, lambda _: Position("x"))


@each_kai
def test_a_misspelt_action_or_flag_is_refused(version: AddonVersion) -> None:
    for config in (
        {"actions": {"consolidate": {"enabled": False}}},
        {"schedulerArgs": {"qsp": "100"}},
        {"schedulerArgs": {"qps": 1}},
    ):
        if set(config) <= set(version.config_schema["properties"]):
            assert config_problems(version, config, lambda _: Position("x"))
    assert not config_problems(version, {"actions": {"consolidation": {"enabled": False}}}, lambda _: Position("x"))


def _nodes(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping that a schema describes, those under names that the user gives included."""
    if schema.get("type") == "object":
        yield path, schema
        for name, field in schema.get("properties", {}).items():
            yield from _nodes(field, f"{path}.{name}".lstrip("."))
        if isinstance(schema.get("additionalProperties"), Mapping):
            yield from _nodes(schema["additionalProperties"], f"{path}.*")


def _knobs(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    for name, field in schema.get("properties", {}).items():
        if "properties" in field:
            yield from _knobs(field, (*path, name))
        else:
            yield (*path, name), field


def _another(field: Mapping[str, Any]) -> Any:
    """A value that the schema admits and that is not the default."""
    default = field.get("default")
    if "enum" in field:
        return next(value for value in field["enum"] if value != default)
    if field["type"] == "object":
        inner = field["additionalProperties"]
        return {field["propertyNames"]["enum"][0]: filled(inner) if inner["type"] == "object" else "7"}
    if "http" in field.get("pattern", ""):
        return "http://other.invalid"
    return {"boolean": not default, "integer": field.get("minimum", 0) + 1, "number": 3, "string": "other"}[field["type"]]


def _nested(path: tuple[str, ...] | list[str], value: Any) -> dict[str, Any]:
    return {path[0]: value if len(path) == 1 else _nested(path[1:], value)}


def _at(values: Mapping[str, Any], dotted: str) -> Any:
    node: Any = values
    for step in dotted.split("."):
        node = node[step]
    return node


# What goes with what.


def test_one_cluster_has_one_scheduler_of_kais_kinds() -> None:
    assert set(SCHEDULERS) == set(CATALOGUE.schedulers())
    for one in SCHEDULERS:
        assert all(excluded(one, other) for other in SCHEDULERS if other != one)


def test_memory_of_parts_of_gpus_is_capped_by_one_addon_only() -> None:
    names = {version.addon for version in FRACTIONS}
    assert len(names) > 1
    assert all(excluded(one, other) for one in names for other in names if one != other)


@pytest.mark.parametrize("driver", ["535.288.01", "580", "595.91.07", "614", "614.999.99", "615", "615.0.1", "615.71.09", "625"])
def test_each_driver_has_exactly_one_way_to_cap_memory(driver: str) -> None:
    bounds = {v.addon: [c.range for c in v.compatibility.constraints if c.fact == "driver"] for v in FRACTIONS}
    assert all(bounds.values())
    ways = [addon for addon, ranges in bounds.items() if all(number_range(text)(driver) for text in ranges)]
    assert len(ways) == 1


@each_fraction
def test_parts_of_gpus_need_a_kai_that_there_is_and_no_mig(version: AddonVersion) -> None:
    for name in ("kai-scheduler", "kai-resource-management"):
        (kai,) = [peer for peer in version.compatibility.peers if peer.addon == name]
        assert any(kai.range.admits(found) for found in CATALOGUE.names(name))
        assert kai.source
    assert not all(kai.admits(found.version) for kai in _bounds(version, "kai-scheduler") for found in KAI)
    assert CATALOGUE.addons[version.addon].targets == ("cluster",)
    for word, admitted in (("on", False), ("off", True)):
        place = Place("cluster", Fingerprint({"mig": (word,)}, {"mig": "spec"}), CATALOGUE.channels["edge"])
        against = [
            finding for finding in judge(CATALOGUE.addons[version.addon], version, place, {}).against if "mig" in str(finding)
        ]
        assert (not against) == admitted


def _bounds(version: AddonVersion, other: str) -> list[Any]:
    return [bond for bond in bonds(CATALOGUE.addons[version.addon], version, CATALOGUE) if bond.other == other]


def test_the_gpu_operator_of_2025_cannot_stand_beside_gpu_fractioning() -> None:
    operators = CATALOGUE.names("gpu-operator")
    for version in CATALOGUE.versions["gpu-fractioning"]:
        asked = _bounds(version, "gpu-operator")
        assert asked
        fits = [name for name in operators if all(bond.admits(name) for bond in asked)]
        assert fits
        assert operators[0] not in fits


def _plan(tmp_path: Path, scheduler: str, addons: str) -> list[str]:
    spec = tmp_path / "spec.yaml"
    facts = 'facts: {driver: "615.71.09", cuda: "13.4", containerd: "2.1", nri: "on", cgroup: v2, mig: "off", os: ubuntu}\n'
    spec.write_text(
        "cluster: c\nchannel: edge\ntarget: {kind: cluster, kubeconfig: k}\n"
        f"scheduler: {scheduler}\nnodePools: [{{name: default, count: 1}}]\n{facts}addons: {{{addons}}}\n"
    )
    facts_ = Facts("cluster", "1.35", Path("k"), "uid", tmp_path, nodes={"architecture": ("amd64",)})
    return [item.addon for item in resolve(load_spec(spec), CATALOGUE, facts_, Choice(scheduler, "x")).items]


def _newest(addon: str) -> str:
    return f"{addon}: {{version: {CATALOGUE.names(addon)[-1]}}}"


def test_either_scheduler_with_memory_limits_makes_a_plan(tmp_path: Path) -> None:
    operator = _newest("gpu-operator")
    for scheduler in ("kai-scheduler", "kai-resource-management"):
        there = _plan(tmp_path, scheduler, ", ".join((_newest(scheduler), operator, _newest("gpu-fractioning"))))
        assert {scheduler, "gpu-fractioning", "gpu-operator"} <= set(there)


def test_two_of_them_or_an_older_kai_make_none(tmp_path: Path) -> None:
    fractions = (_newest("gpu-fractioning"), _newest("gpu-operator"))
    old = f"kai-scheduler: {{version: {KAI[0].version}}}"
    for scheduler, addons in (
        ("kai-scheduler", (_newest("kai-scheduler"), _newest("kai-resource-management"))),
        ("kai-scheduler", (_newest("kai-scheduler"), *fractions, _newest("hami-resource-isolator"))),
        ("kai-scheduler", (old, *fractions)),
    ):
        with pytest.raises(SpecError):
            _plan(tmp_path, scheduler, ", ".join(addons))


def test_nothing_stray_is_a_version() -> None:
    addon = CATALOGUE.addons["kai-scheduler"]
    assert addon.strays
    assert not {tag.removeprefix("v") for tag in addon.strays} & {version.version for version in KAI}


# Ways between versions.


def test_every_edge_leads_between_versions_that_there_are_and_nothing_untried_is_safe() -> None:
    edges = CATALOGUE.edges["kai-scheduler"]
    assert edges
    for edge in edges:
        origins = [v.version for v in KAI if edge.origin.admits(v.version)]
        assert origins
        assert edge.to in {v.version for v in KAI}
        assert edge.references
        assert edge.verdict != "manual" or edge.steps
        forward = all(version_key(origin) < version_key(edge.to) for origin in origins)
        assert forward or edge.verdict == "blocked", "upstream supports no way back"
        assert not edge.reversible
        assert edge.verdict != "safe" or all(not v.unverified for v in KAI if v.version in (*origins, edge.to))


def test_a_way_that_takes_a_guard_off_warns_of_the_gangs_that_it_held() -> None:
    guarded = {v.version for v in KAI if any(guard.path.endswith(GRACE) for guard in v.guards)}
    warned = 0
    for edge in CATALOGUE.edges["kai-scheduler"]:
        loses = edge.to not in guarded and any(edge.origin.admits(version) for version in guarded)
        if edge.verdict != "blocked" and loses:
            assert any("gangs" in step and "evicted" in step for step in edge.steps)
            warned += 1
    assert warned


def test_a_knob_that_moves_was_there_before_and_is_there_afterwards() -> None:
    moved = 0
    for edge in CATALOGUE.edges["kai-scheduler"]:
        after = CATALOGUE.version("kai-scheduler", edge.to)
        assert after is not None
        before = [v for v in KAI if edge.origin.admits(v.version)]
        for move in edge.moves:
            if "raw value" in move.note:
                continue
            assert all(move.source.partition(".")[0] in v.config_schema["properties"] for v in before)
            assert move.source.partition(".")[0] not in after.config_schema["properties"]
            assert not move.to or move.to.partition(".")[0] in after.config_schema["properties"]
            moved += 1
    assert moved

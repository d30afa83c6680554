"""Lint of the real catalogue: what its files promise holds, and each version renders what its file says, exactly.

``UPDATE_GOLDENS=1`` writes the golden files anew. Charts come from Go's module cache or its proxy, or from the directory that
``CHANDLERY_MIRROR`` names; a version whose chart cannot be had is skipped, and the reason says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from base.errors import NotFound, Unavailable
from base.events import QuietReporter
from catalog.model import AddonVersion, ModuleSource, OciSource, PackageSource
from catalog.obtain.sources import mirror_name
from catalog.package.objects import label, split_hooks
from catalog.package.packager import Packager, Rendered
from catalog.package.render import HelmLibrary, Release
from catalog.package.values import chart_values, leaves
from catalog.plan import Facts, Plan, PlanItem
from catalog.read.load import load
from catalog.resolve.choice import Choice
from catalog.resolve.resolver import resolve
from spec.load import load as load_spec
from toolchain import module_zip

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).resolve().parent / "golden"
UPSTREAM = ROOT.parent / "shared/upstream/kai-scheduler/v0.17.0"
CATALOGUE = load(eager=True)
VERSIONS = [version for versions in CATALOGUE.versions.values() for version in versions]
#: Versions of which a whole picture is kept. Others would tell nothing that the checks below do not.
PICTURED = [
    ("cert-manager", "1.21.2"),
    ("gpu-operator", "0.0.0-20250917190837-d73a0086a6ba"),
    ("kai-reference", "0.1.0"),
    ("kai-scheduler", "0.17.0"),
    ("slurm-operator", "0.4.0"),
    ("slurm-operator", "1.0.0"),
    ("slurm-operator-crds", "1.0.0"),
]

#: A value for each kind of path that carries a mark.
MARKED: Mapping[str, Callable[[str], Any]] = {
    "tolerations": lambda mark: [{"key": mark, "operator": "Exists"}],
    "nodeSelector": lambda mark: {"kubernetes.io/os": mark},
    "affinity": lambda mark: {"podAffinity": {"marked": mark}},
    "imagePullSecrets": lambda mark: [{"name": mark}],
    "priorityClassName": lambda mark: mark,
    "registry": lambda mark: mark,
}

each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.addon}-{v.version}")


def plan(scheduler: str, target: str = "embedded") -> Plan:
    spec = load_spec(ROOT / "clusters/quickstart.yaml")
    facts = Facts(target, "1.36", Path("k"), "uid", Path("s"), kai_binaries=Path("/kai"))  # type: ignore[arg-type]
    return resolve(spec, CATALOGUE, facts, Choice(scheduler, "x"))


def known(addon: str, version: str) -> AddonVersion:
    found = CATALOGUE.version(addon, version)
    assert found is not None
    return found


def fetch(source: ModuleSource) -> Path:
    return module_zip(source.module, source.version, source.sum, QuietReporter(), sum_database=source.database)


@pytest.fixture(scope="module")
def packager(tmp_path_factory: pytest.TempPathFactory) -> Packager:
    return Packager(CATALOGUE, tmp_path_factory.mktemp("cache"), fetch_module=fetch, mirror=_mirror())


def item(version: AddonVersion) -> PlanItem:
    """The item of a plan that has this version, whatever channel it is in, on the target that asks most of it."""
    addon = CATALOGUE.addons[version.addon]
    target = addon.targets[0]
    values = chart_values(addon, version, target=target, given={}).values
    return PlanItem(addon.name, version.version, addon.namespace, "real", values, "asked for by a test")


def render(packager: Packager, version: AddonVersion) -> Rendered:
    source = version.source
    if not isinstance(source, ModuleSource | PackageSource):
        mirror = _mirror()
        if not (mirror and isinstance(source, OciSource) and (mirror / mirror_name(source)).is_file()):
            pytest.skip("its chart is in a registry; CHANDLERY_MIRROR may name a directory that has it")
    try:
        return packager.render(item(version))
    except (Unavailable, NotFound) as error:
        pytest.skip(f"the chart cannot be had here: {error.message}")


@each_version
def test_every_guard_of_the_values_is_explained_and_every_explanation_has_its_guard(version: AddonVersion) -> None:
    addon = CATALOGUE.addons[version.addon]
    explained = {guard.path for guard in version.guards}
    forced: set[str] = set()
    for target in addon.targets:
        chart = chart_values(addon, version, target=target, given={})
        assert len(chart.guards) == len(version.guards)
        forced |= {".".join(path) for path, _ in leaves(chart.values)} & explained
    assert forced == explained


@each_version
def test_every_guard_of_a_known_issue_is_a_guard(version: AddonVersion) -> None:
    guards = {guard.path for guard in version.guards}
    assert {issue.guard for issue in version.issues if issue.guard} <= guards


def test_the_stale_gang_guard_tells_what_it_costs() -> None:
    version = known("kai-scheduler", "0.17.0")
    chart = chart_values(CATALOGUE.addons["kai-scheduler"], version, target="embedded", given={})
    assert chart.values["scheduler"]["args"] == {"default-staleness-grace-period": "-1s"}
    assert any("default-staleness-grace-period" in guard and "costs:" in guard for guard in chart.guards)


def test_every_program_and_every_webhook_stands_in_the_addons_own_namespace() -> None:
    for version in VERSIONS:
        block, namespace = version.embedded, CATALOGUE.addons[version.addon].namespace
        workloads = [p.workload for p in block.programs] + [w.workload for w in block.webhooks if w.workload]
        assert all(workload.startswith(f"{namespace}/") for workload in (*workloads, *block.simulated))
        assert {w.workload for w in block.webhooks if w.workload} <= {p.workload for p in block.programs}


def test_kai_has_its_seven_programs() -> None:
    names = ["operator", "admission", "binder", "podgrouper", "podgroupcontroller", "queuecontroller", "scheduler"]
    assert [p.tool for p in known("kai-scheduler", "0.17.0").embedded.programs] == [f"kai:{name}" for name in names]


def test_the_quickstart_resolves_with_either_scheduler() -> None:
    assert [(i.addon, i.version, i.state) for i in plan("kai-reference").items] == [
        ("cert-manager", "1.21.2", "simulated"),
        ("kai-reference", "0.1.0", "reference"),
        ("slurm-operator-crds", "1.0.0", "real"),
        ("slurm-operator", "1.0.0", "real"),
    ]
    spec = load_spec(ROOT / "clusters/kai.yaml")
    facts = Facts("embedded", "1.36", Path("k"), "uid", Path("s"), kai_binaries=Path("/kai"))
    assert resolve(spec, CATALOGUE, facts, Choice("kai-scheduler", "x")).item("kai-scheduler").state == "real"
    # The channel's version is another one, and programs of one version must not stand in for another's.
    assert plan("kai-scheduler").item("kai-scheduler").state == "simulated"


@each_version
def test_a_version_renders_the_images_that_its_file_lists_and_no_others(packager: Packager, version: AddonVersion) -> None:
    found = set(render(packager, version).images)
    assert found <= {image.reference for image in version.images}
    assert {image.reference for image in version.images if not image.operand} <= found


@each_version
def test_a_version_renders_its_crds_and_every_hook_that_it_names(packager: Packager, version: AddonVersion) -> None:
    rendered = render(packager, version)
    assert {crd["metadata"]["name"] for crd in rendered.crds} == set(version.crds)
    for hook in version.hooks:
        assert any(told.startswith(f"{hook.kind} {hook.name}") for told in rendered.hooks), f"{hook} is not rendered"


@each_version
def test_a_version_renders_workloads_for_its_embedded_block(packager: Packager, version: AddonVersion) -> None:
    if "embedded" not in CATALOGUE.addons[version.addon].targets:
        pytest.skip("not for the embedded target")
    rendered = render(packager, version)
    found = {f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in rendered.objects if o["kind"] == "Deployment"}
    embedded = version.embedded
    named = {program.workload for program in embedded.programs} | set(embedded.simulated)
    assert found <= named
    made_at_run_time = any(webhook.made_by in found for webhook in embedded.webhooks)
    assert named <= found or made_at_run_time
    configurations = {
        f"{o['kind']}/{o['metadata']['name']}" for o in rendered.objects if o["kind"].endswith("WebhookConfiguration")
    }
    assert configurations == {w.configuration for w in embedded.webhooks if w.made_by == "chart"}


@each_version
def test_two_renderings_are_equal_to_the_byte(packager: Packager, version: AddonVersion, tmp_path: Path) -> None:
    first = render(packager, version)
    again = Packager(CATALOGUE, tmp_path, fetch_module=fetch, mirror=_mirror())
    assert render(again, version).digest == first.digest


@each_version
def test_every_place_for_tolerations_and_the_like_reaches_an_object(packager: Packager, version: AddonVersion) -> None:
    """A mark of its own at each dotted path must come out somewhere, or the path is a silent no-op."""
    if isinstance(version.source, PackageSource) or not version.paths:
        pytest.skip("a package of ours, or without such places")
    render(packager, version)
    values, marks = dict(item(version).values), dict[str, str]()
    for field, paths in version.paths.items():
        for path in paths:
            mark = f"mark-{len(marks)}"
            values = _put(values, path.split("."), MARKED[field](mark))
            marks[path] = mark
    archive, addon = packager.chart(version.addon, version.version).archive, CATALOGUE.addons[version.addon]
    templates = HelmLibrary().render(archive, Release(addon.name, addon.namespace, values))
    told = json.dumps(split_hooks(templates.objects, version.hooks, addon.name)[0])
    assert [path for path, mark in marks.items() if f'{mark}"' not in told and f"{mark}/" not in told] == []


@pytest.mark.parametrize(("addon", "number"), PICTURED)
def test_a_version_renders_as_its_golden_file_says(packager: Packager, addon: str, number: str) -> None:
    version = known(addon, number)
    rendered = render(packager, version)
    told = {
        "crds": [crd["metadata"]["name"] for crd in rendered.crds],
        "objects": [f"{obj['apiVersion']} {label(obj)}" for obj in rendered.objects],
        "images": list(rendered.images),
        "hooks left out": list(rendered.hooks),
        "values": item(version).values,
        "programs": {program.workload: [program.tool, *program.args] for program in version.embedded.programs},
        "webhooks": {webhook.configuration: webhook.workload or "not exercised" for webhook in version.embedded.webhooks},
    }
    path = GOLDEN / f"{addon}-{number}.json"
    text = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text)
    assert text == path.read_text()


def test_every_golden_file_belongs_to_a_version() -> None:
    assert {path.name for path in GOLDEN.glob("*.json")} == {f"{addon}-{number}.json" for addon, number in PICTURED}


def test_what_is_rendered_can_be_written_down_as_json(packager: Packager) -> None:
    for one in plan("kai-reference").items:
        rendered = render(packager, known(one.addon, one.version))
        assert json.loads(json.dumps([rendered.crds, rendered.objects])) == [list(rendered.crds), list(rendered.objects)]


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_kai_renders_as_upstream_does_but_for_the_guard_and_the_namespace(packager: Packager) -> None:
    ours = {label(obj): obj for obj in render(packager, known("kai-scheduler", "0.17.0")).objects}
    theirs = {label(obj): obj for obj in _upstream("rendered.yaml")}
    assert set(ours) - set(theirs) == {"Namespace kai-scheduler"}
    assert set(theirs) <= set(ours)
    assert [name for name in theirs if ours[name] != theirs[name]] == ["SchedulingShard default"]
    shard = ours["SchedulingShard default"]["spec"]
    assert shard.pop("args") == {"default-staleness-grace-period": "-1s"}
    assert shard == theirs["SchedulingShard default"]["spec"]


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_the_reference_engine_brings_kais_priority_classes_and_default_queues(packager: Packager) -> None:
    ours = {label(obj): obj for obj in render(packager, known("kai-reference", "0.1.0")).objects}
    shared = [obj for obj in _upstream("rendered.yaml") if obj["kind"] in ("PriorityClass", "Queue")]
    assert len(shared) == 6
    for obj in shared:
        mine = ours[label(obj)]
        assert (mine.get("value"), mine.get("spec")) == (obj.get("value"), obj.get("spec"))


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_kais_crds_are_the_ones_that_the_catalogue_names() -> None:
    names = [obj["metadata"]["name"] for path in (UPSTREAM / "crds").glob("*.yaml") for obj in _upstream(f"crds/{path.name}")]
    assert sorted(names) == sorted(known("kai-scheduler", "0.17.0").crds)


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_kais_hooks_that_upstream_renders_are_all_looked_at() -> None:
    looked_at = {(hook.kind, hook.name) for hook in known("kai-scheduler", "0.17.0").hooks}
    assert {(obj["kind"], obj["metadata"]["name"]) for obj in _upstream("hooks.yaml")} == looked_at


def _upstream(name: str) -> list[dict[str, Any]]:
    return [obj for obj in yaml.load_all((UPSTREAM / name).read_text(), Loader=yaml.CSafeLoader) if obj]


def _put(values: Mapping[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    if len(path) == 1:
        return {**values, path[0]: value}
    return {**values, path[0]: _put(values.get(path[0]) or {}, path[1:], value)}


def _mirror() -> Path | None:
    mirror = os.environ.get("CHANDLERY_MIRROR")
    return Path(mirror) if mirror else None

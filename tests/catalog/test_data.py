"""Lint of the real catalogue: what its files promise holds, and each add-on renders as its golden file says.

``UPDATE_GOLDENS=1`` writes the golden files anew. Charts come from Go's module cache or its proxy; what cannot be had is skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from base.errors import NotFound, Unavailable
from base.events import QuietReporter
from catalog.model import AddonVersion, ModuleSource
from catalog.package.objects import label
from catalog.package.packager import Packager, Rendered
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
CATALOGUE = load()
VERSIONS = [version for versions in CATALOGUE.versions.values() for version in versions]


def plan(scheduler: str, target: str = "embedded") -> Plan:
    spec = load_spec(ROOT / "clusters/quickstart.yaml")
    facts = Facts(target, "1.36", Path("k"), "uid", Path("s"), kai_binaries=Path("/kai"))  # type: ignore[arg-type]
    return resolve(spec, CATALOGUE, facts, Choice(scheduler, "x"))


def newest(addon: str) -> AddonVersion:
    """The version that channel edge has."""
    found = CATALOGUE.version(addon, CATALOGUE.channels["edge"].versions[addon])
    assert found is not None
    return found


def fetch(module: str, version: str, checksum: str, /) -> Path:
    return module_zip(module, version, checksum, QuietReporter())


@pytest.fixture(scope="module")
def packager(tmp_path_factory: pytest.TempPathFactory) -> Packager:
    return Packager(CATALOGUE, tmp_path_factory.mktemp("cache"), fetch_module=fetch, mirror=_mirror())


def render(packager: Packager, item: PlanItem) -> Rendered:
    version = CATALOGUE.version(item.addon, item.version)
    assert version is not None
    if not isinstance(version.source, ModuleSource) and item.addon != "kai-reference" and not os.environ.get("CHANDLERY_MIRROR"):
        pytest.skip("set CHANDLERY_MIRROR to a directory with the packaged chart")
    try:
        return packager.render(item)
    except (Unavailable, NotFound) as error:
        pytest.skip(f"the chart cannot be had here: {error.message}")


def items() -> Mapping[str, PlanItem]:
    return {item.addon: item for scheduler in ("kai-scheduler", "kai-reference") for item in plan(scheduler).items}


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.addon}-{v.version}")
def test_every_guard_of_the_values_is_explained_and_every_explanation_has_its_guard(version: AddonVersion) -> None:
    addon = CATALOGUE.addons[version.addon]
    explained = {guard.path for guard in version.guards}
    forced: set[str] = set()
    for target in addon.targets:
        chart = chart_values(addon, version, target=target, given={})
        assert len(chart.guards) == len(version.guards)
        forced |= {".".join(path) for path, _ in leaves(chart.values)} & explained
    assert forced == explained


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.addon}-{v.version}")
def test_every_guard_of_a_known_issue_is_a_guard(version: AddonVersion) -> None:
    guards = {guard.path for guard in version.guards}
    assert {issue.guard for issue in version.issues if issue.guard} <= guards


def test_the_stale_gang_guard_tells_what_it_costs() -> None:
    item = plan("kai-scheduler").item("kai-scheduler")
    assert item.values["scheduler"]["args"] == {"default-staleness-grace-period": "-1s"}
    assert any("default-staleness-grace-period" in guard and "costs:" in guard for guard in item.guards)


def test_every_program_and_every_webhook_stands_in_the_addons_own_namespace() -> None:
    for version in VERSIONS:
        block, namespace = version.embedded, CATALOGUE.addons[version.addon].namespace
        workloads = [p.workload for p in block.programs] + [w.workload for w in block.webhooks if w.workload]
        assert all(workload.startswith(f"{namespace}/") for workload in (*workloads, *block.simulated))
        assert {w.workload for w in block.webhooks if w.workload} <= {p.workload for p in block.programs}


def test_kai_has_its_seven_programs() -> None:
    names = ["operator", "admission", "binder", "podgrouper", "podgroupcontroller", "queuecontroller", "scheduler"]
    assert [p.tool for p in newest("kai-scheduler").embedded.programs] == [f"kai:{name}" for name in names]


def test_the_edge_channel_has_every_addon() -> None:
    assert set(CATALOGUE.channels["edge"].versions) == set(CATALOGUE.addons)


def test_the_quickstart_resolves_with_either_scheduler() -> None:
    assert [(i.addon, i.version, i.state) for i in plan("kai-reference").items] == [
        ("cert-manager", "1.21.2", "simulated"),
        ("kai-reference", "0.1.0", "reference"),
        ("slurm-operator-crds", "1.0.0", "real"),
        ("slurm-operator", "1.0.0", "real"),
    ]
    assert plan("kai-scheduler").item("kai-scheduler").state == "real"


@pytest.mark.parametrize("addon", sorted(CATALOGUE.addons))
def test_an_addon_renders_as_its_golden_file_says(packager: Packager, addon: str) -> None:
    item = items()[addon]
    rendered = render(packager, item)
    told = {
        "crds": [crd["metadata"]["name"] for crd in rendered.crds],
        "objects": [f"{obj['apiVersion']} {label(obj)}" for obj in rendered.objects],
        "images": list(rendered.images),
        "hooks left out": list(rendered.hooks),
        "values": item.values,
        "programs": {program.workload: [program.tool, *program.args] for program in item.programs},
        "webhooks": {webhook.configuration: webhook.workload or "not exercised" for webhook in item.webhooks},
    }
    path = GOLDEN / f"{addon}-{item.version}.json"
    text = json.dumps(told, indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("addon", sorted(CATALOGUE.addons))
def test_two_renderings_are_equal_to_the_byte(packager: Packager, addon: str, tmp_path: Path) -> None:
    item = items()[addon]
    first = render(packager, item)
    again = Packager(CATALOGUE, tmp_path, fetch_module=fetch, mirror=_mirror())
    assert render(again, item).digest == first.digest


@pytest.mark.parametrize("addon", sorted(CATALOGUE.addons))
def test_every_workload_of_the_embedded_block_is_rendered_or_made_by_one_that_is(packager: Packager, addon: str) -> None:
    rendered = render(packager, items()[addon])
    found = {f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in rendered.objects if o["kind"] == "Deployment"}
    embedded = newest(addon).embedded
    named = {program.workload for program in embedded.programs} | set(embedded.simulated)
    assert found <= named
    made_at_run_time = any(webhook.made_by in found for webhook in embedded.webhooks)
    assert named <= found or made_at_run_time
    configurations = {
        f"{o['kind']}/{o['metadata']['name']}" for o in rendered.objects if o["kind"].endswith("WebhookConfiguration")
    }
    assert configurations == {w.configuration for w in embedded.webhooks if w.made_by == "chart"}


def test_what_is_rendered_can_be_written_down_as_json(packager: Packager) -> None:
    for item in plan("kai-reference").items:
        rendered = render(packager, item)
        assert json.loads(json.dumps([rendered.crds, rendered.objects])) == [list(rendered.crds), list(rendered.objects)]


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_kai_renders_as_upstream_does_but_for_the_guard_and_the_namespace(packager: Packager) -> None:
    ours = {label(obj): obj for obj in render(packager, items()["kai-scheduler"]).objects}
    theirs = {label(obj): obj for obj in _upstream("rendered.yaml")}
    assert set(ours) - set(theirs) == {"Namespace kai-scheduler"}
    assert set(theirs) <= set(ours)
    assert [name for name in theirs if ours[name] != theirs[name]] == ["SchedulingShard default"]
    shard = ours["SchedulingShard default"]["spec"]
    assert shard.pop("args") == {"default-staleness-grace-period": "-1s"}
    assert shard == theirs["SchedulingShard default"]["spec"]


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_the_reference_engine_brings_kais_priority_classes_and_default_queues(packager: Packager) -> None:
    ours = {label(obj): obj for obj in render(packager, items()["kai-reference"]).objects}
    shared = [obj for obj in _upstream("rendered.yaml") if obj["kind"] in ("PriorityClass", "Queue")]
    assert len(shared) == 6
    for obj in shared:
        mine = ours[label(obj)]
        assert (mine.get("value"), mine.get("spec")) == (obj.get("value"), obj.get("spec"))


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_kais_crds_are_the_ones_that_the_catalogue_names() -> None:
    names = [obj["metadata"]["name"] for path in (UPSTREAM / "crds").glob("*.yaml") for obj in _upstream(f"crds/{path.name}")]
    assert sorted(names) == sorted(newest("kai-scheduler").crds)


@pytest.mark.skipif(not UPSTREAM.is_dir(), reason="the upstream test data is not here")
def test_kais_hooks_that_upstream_renders_are_all_looked_at() -> None:
    known = {(hook.kind, hook.name) for hook in newest("kai-scheduler").hooks}
    assert {(obj["kind"], obj["metadata"]["name"]) for obj in _upstream("hooks.yaml")} == known


def _upstream(name: str) -> list[dict[str, Any]]:
    return [obj for obj in yaml.load_all((UPSTREAM / name).read_text(), Loader=yaml.CSafeLoader) if obj]


def _mirror() -> Path | None:
    mirror = os.environ.get("CHANDLERY_MIRROR")
    return Path(mirror) if mirror else None

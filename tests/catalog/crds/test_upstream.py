"""Real CRDs: what KAI's releases did to their users. Test data beside the repository and Slurm's
modules; skipped where they are not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from base.errors import NotFound, Unavailable
from base.events import QuietReporter
from catalog.crds.diff import compare
from catalog.crds.source import crds_in, crds_of
from catalog.crds.stored import Judge
from catalog.model import ModuleSource
from catalog.package.packager import Packager
from catalog.read.load import load
from catalog.supply.items import find_version, item_of
from toolchain import module_zip

UPSTREAM = Path(__file__).resolve().parents[4] / "shared" / "upstream" / "kai-scheduler"
kai = pytest.mark.skipif(not UPSTREAM.is_dir(), reason="KAI's CRDs are not beside the repository")


def worse(old: str, new: str) -> list[tuple[str, str, str]]:
    found = compare(crds_in(UPSTREAM / old / "crds"), crds_in(UPSTREAM / new / "crds"))
    return [(change.rule, change.crd.partition(".")[0], change.path) for change in found if change.level != "safe"]


@kai
def test_kai_0_14_to_0_16_drops_fields_and_restricts_names() -> None:
    assert worse("v0.14.7", "v0.16.8") == [
        ("property-removed", "podgroups", ".spec.backoffLimit"),
        ("property-removed", "podgroups", ".spec.completions"),
        ("property-removed", "podgroups", ".spec.parallelism"),
        ("pattern-added", "podgroups", ".spec.subGroups[].name"),
        ("pattern-added", "podgroups", ".spec.subGroups[].parent"),
        ("pattern-added", "schedulingshards", ".spec.usageDBConfig.usageParams.windowSize"),
    ]


@kai
def test_kai_0_16_to_0_17_adds_rules_to_topologies_and_drops_counters() -> None:
    found = worse("v0.16.8", "v0.17.0")
    assert {(rule, crd) for rule, crd, _ in found} == {("status-property-removed", "podgroups"), ("cel-added", "topologies")}


@kai
def test_the_way_back_from_kai_0_17_is_no_safer() -> None:
    rules = {rule for rule, _, _ in worse("v0.17.0", "v0.14.7")}
    assert rules == {"property-removed", "limit-tightened", "cel-added"}


@kai
def test_crds_of_840_kb_are_compared_within_a_second() -> None:
    old, new = (crds_in(UPSTREAM / version / "crds") for version in ("v0.14.7", "v0.17.0"))
    start = time.process_time()
    compare(old, new)
    assert time.process_time() - start < 1.0


@kai
def test_a_subgroup_with_capitals_fits_0_14_and_not_0_16() -> None:
    group = {"spec": {"minMember": 1, "subGroups": [{"name": "Leader", "minMember": 1}], "backoffLimit": 1}}
    judged = {}
    for version in ("v0.14.7", "v0.16.8"):
        (crd,) = (c for c in crds_in(UPSTREAM / version / "crds") if c["metadata"]["name"].startswith("podgroups"))
        found = Judge(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]).judge(group)
        judged[version] = ([fault.path for fault in found.invalid], [fault.path for fault in found.dropped])
    assert judged == {"v0.14.7": ([], []), "v0.16.8": ([".spec.subGroups[].name"], [".spec.backoffLimit"])}


def test_slurm_operator_0_4_to_1_0_removes_the_version_that_is_stored(tmp_path: Path) -> None:
    """Every custom resource of 0.4.0 has to be made anew: v1alpha1 is stored, gone in 1.0.0, and nothing converts."""
    catalogue = load()
    old, new = (find_version(catalogue, "slurm-operator-crds", text) for text in ("0.4.0", "1.0.0"))

    def fetch(source: ModuleSource) -> Path:
        return module_zip(source.module, source.version, source.sum, QuietReporter(), sum_database=source.database)

    packager = Packager(catalogue, tmp_path, fetch_module=fetch)
    try:
        was, now = (crds_of(packager, item_of(addon, version), version) for addon, version in (old, new))
    except (NotFound, Unavailable) as error:
        pytest.skip(f"the chart cannot be had: {error.message}")
    found = compare(was, now)
    removed = {change.crd.partition(".")[0] for change in found if change.rule == "version-removed"}
    assert removed == {"accountings", "controllers", "loginsets", "nodesets", "restapis", "tokens"}
    relabelled = {change.path for change in found if change.version == "v1alpha1 -> v1beta1" and change.level == "blocking"}
    assert relabelled == {".spec.initconf", ".spec.service"}, "what v1beta1 would drop of v1alpha1's data"

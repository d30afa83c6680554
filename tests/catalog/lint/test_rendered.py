"""Rules about what charts render, each on a chart that has the fault and on one that has not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.lint.rendered import IDS, lint_rendered
from catalog.lint.world import Found, World
from catalog.model import Addon, AddonVersion, Catalogue, Channel, DroppedHook, FileSource, Image, ModuleSource, PackageSource
from catalog.obtain.archive import sha256
from catalog.package.packager import Packager
from catalog.package.render import HelmLibrary
from tests.catalog.lint.worlds import DEMO, OTHER, TODAY, demo, other
from tests.catalog.synthetic import DEPLOYMENT, packaged

ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: shared}\n"
TOLERATIONS = "      tolerations: {{ toYaml .Values.tolerations | nindent 8 }}\n"
POD = DEPLOYMENT.replace("      containers:", f"{TOLERATIONS}      containers:").replace("registry.invalid", "r.invalid")
SELECTED = POD.replace(
    "      containers:", "      nodeSelector: {{ toYaml .Values.nodeSelector | nindent 8 }}\n      containers:"
)
DAEMON = SELECTED.replace("kind: Deployment", "kind: DaemonSet")
HOOK = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: upgrade, annotations: {helm.sh/hook: pre-install}}\n"
VALUES = "replicas: 1\ntolerations: []\n"
BARE: Mapping[str, Any] = {
    "crds": (), "hooks": (), "requires": (), "values_template": "", "config_schema": {}, "guards": (), "issues": (),
}  # fmt: skip


class Shelf:
    """Made-up charts on the disk, and what the rendered rules say of them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.versions: list[AddonVersion] = []

    def put(
        self, addon: str = "demo", *, templates: Mapping[str, str] | None = None, values: str = VALUES, **fields: Any
    ) -> Shelf:
        archive = packaged(templates=templates or {"deployment.yaml": POD}, **{"values.yaml": values})
        path = self.root / f"{addon}.tgz"
        path.write_bytes(archive)
        make = demo if addon == "demo" else other
        images = fields.pop("images", (Image("r.invalid/demo:v1.0.0"),))
        source = FileSource(path, sha256(archive))
        self.versions.append(make(**{**BARE, "source": source, "images": images, **fields}))
        return self

    def found(self, *, addons: tuple[Addon, ...] = (DEMO, OTHER)) -> list[tuple[str, Found]]:
        versions = {name: tuple(v for v in self.versions if v.addon == name) for name in ("demo", "other")}
        channel = Channel("edge", {name: made[0].version for name, made in versions.items() if made}, True)
        catalogue = Catalogue({addon.name: addon for addon in addons}, versions, {"edge": channel})
        packager = Packager(catalogue, self.root / "cache", fetch_module=_no_module)
        return list(lint_rendered(World(catalogue, TODAY), packager, HelmLibrary()))

    def ids(self, **more: Any) -> set[str]:
        return {rule for rule, _ in self.found(**more)}


def _no_module(source: ModuleSource) -> Path:
    raise AssertionError(f"{source} is not wanted here")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


IMAGE = "r.invalid/demo:v1.0.0"
#: rule -> (charts that it tells of, charts that it does not).
CASES: Mapping[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "CAT801": (
        [
            {"templates": {"x.yaml": '{{ fail "no" }}'}, "images": ()},
            {"images": ()},
            {"templates": {"x.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {a: {{ randAlpha 9 }}}\n"}},
        ],
        [{}],
    ),
    "CAT802": (
        [{"values_template": "defaults: {replica: 2}\nguards: {}\n"}],
        [{"values_template": "defaults: {replicas: 2}\nguards: {}\n"}],
    ),
    "CAT803": (
        [{"images": (Image(IMAGE), Image("r.invalid/more:1"))}],
        [{"images": (Image(IMAGE), Image("r.invalid/more:1", operand=True))}],
    ),
    "CAT804": (
        [{"hooks": (DroppedHook("Job", "upgrade", "x", "crds"),)}],
        [{"hooks": (DroppedHook("Job", "upgrade", "x", "crds"),), "templates": {"a.yaml": POD, "b.yaml": HOOK}}],
    ),
    "CAT805": (
        [
            {"paths": {"tolerations": ("podTolerations",)}},
            {"paths": {"tolerations": ("tolerations",), "priorityClassName": ("priority",)}},
        ],
        [{"paths": {"tolerations": ("tolerations",)}}],
    ),
    "CAT810": (
        [{"templates": {"a.yaml": POD, "b.yaml": DAEMON}, "paths": {"nodeSelector": ("nodeSelector",)}}],
        [{"templates": {"a.yaml": SELECTED}, "paths": {"nodeSelector": ("nodeSelector",)}}],
    ),
    "CAT806": (
        [{"templates": {"a.yaml": POD, "b.yaml": '# {{ now | date "2006" }}\n'}}],
        [{"templates": {"a.yaml": POD, "b.yaml": "# now, {{ .Values.replicas }} {{/* knows nothing */}}\n"}}],
    ),
    "CAT808": ([{"source": FileSource(Path("/nonexistent/demo.tgz"), "sha256:" + "a" * 64)}], [{}]),
    "CAT809": (
        [{"templates": {"a.yaml": POD, "b.yaml": '{{ if semverCompare ">1.2" .Capabilities.KubeVersion.Version }}{{ end }}'}}],
        [{"templates": {"a.yaml": POD, "b.yaml": '{{ if .Capabilities.APIVersions.Has "v1" }}{{ end }}'}}],
    ),
}
BAD = [(rule, case) for rule, (bad, _) in CASES.items() for case in bad]
GOOD = [(rule, case) for rule, (_, good) in CASES.items() for case in good]


def full(case: Mapping[str, Any]) -> dict[str, Any]:
    return {"templates": {"deployment.yaml": POD}, **case}


@pytest.mark.parametrize(("rule", "case"), BAD, ids=[rule for rule, _ in BAD])
def test_a_rule_tells_of_what_it_is_for(shelf: Shelf, rule: str, case: dict[str, Any]) -> None:
    assert rule in shelf.put(**full(case)).ids()


@pytest.mark.parametrize(("rule", "case"), GOOD, ids=[rule for rule, _ in GOOD])
def test_a_rule_is_silent_just_this_side_of_it(shelf: Shelf, rule: str, case: dict[str, Any]) -> None:
    assert rule not in shelf.put(**full(case)).ids()


def test_two_addons_of_a_channel_that_make_the_same_object_are_told(shelf: Shelf) -> None:
    both = {"deployment.yaml": POD, "role.yaml": ROLE}
    shelf.put(templates=both).put("other", templates=both)
    ((rule, told),) = shelf.found()
    assert rule == "CAT807"
    assert told.message == "ClusterRole shared is made by demo and other"


def test_addons_that_never_stand_together_may_make_the_same_object(shelf: Shelf) -> None:
    both = {"deployment.yaml": POD, "role.yaml": ROLE}
    shelf.put(templates=both).put("other", templates=both)
    assert shelf.ids(addons=(replace(DEMO, excludes={"other": "x"}), OTHER)) == set()
    assert shelf.ids(addons=(DEMO, replace(OTHER, role="scheduler"))) == set()


def test_a_package_of_our_own_has_no_chart_to_look_into(shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (tmp_path / "package/a.yaml.j2").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{image: 'r.invalid/demo:v1.0.0'}]}\n"
    )
    shelf.versions.append(demo(**{**BARE, "source": PackageSource(tmp_path / "package"), "images": (Image(IMAGE),)}))
    assert shelf.ids() == set()


def test_every_rule_has_both_kinds_of_test() -> None:
    assert {*CASES, "CAT807"} == set(IDS)
    assert all(bad and good for bad, good in CASES.values())

"""The helm program renders what the library renders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from base.errors import InvalidInput, NotFound, Refused, Unavailable
from base.events import QuietReporter
from catalog.model import ModuleSource
from catalog.package.helm_program import HelmProgram
from catalog.package.packager import Packager
from catalog.package.render import HelmLibrary, Release, Templates
from catalog.package.values import chart_values
from catalog.plan import PlanItem
from catalog.read.load import load
from tests.catalog.synthetic import DEPLOYMENT, packaged
from toolchain import module_zip, pins
from toolchain.sources import present

#: The one that CHANDLERY_HELM names, or the toolchain's where it is there already; it is not built for these.
PROGRAM = os.environ.get("CHANDLERY_HELM") or present(pins.load().tool("helm")) or "/nonexistent"
needs_helm = pytest.mark.skipif(not os.access(PROGRAM, os.X_OK), reason="no helm program (CHANDLERY_HELM may name one)")
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parts.demo.invalid}
"""
TEMPLATES = {
    "deployment.yaml": DEPLOYMENT,
    "hook.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n",
    "where.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: w}\ndata:\n  minor: {{ .Capabilities.KubeVersion.Minor | quote }}\n"
        "  install: {{ .Release.IsInstall | quote }}\n  namespace: {{ .Release.Namespace }}\n"
        "  number: {{ .Values.number | toJson | quote }}\n---\n{{- range .Values.many }}\n---\napiVersion: v1\nkind: Secret\n"
        "metadata: {name: {{ . }}}\n{{- end }}\n"
    ),
    "NOTES.txt": "not: yaml: at all",
}
RELEASE = Release("demo", "demo-ns", {"replicas": 3, "many": ["a", "b"], "number": 1.5})


def told(templates: Templates) -> list[str]:
    return sorted(json.dumps(obj, sort_keys=True) for obj in templates.objects)


@needs_helm
def test_both_make_the_same_objects_of_a_made_up_chart() -> None:
    archive = packaged(templates=TEMPLATES, **{"crds/parts.yaml": CRD})
    ours, theirs = HelmLibrary().render(archive, RELEASE), HelmProgram(Path(PROGRAM)).render(archive, RELEASE)
    assert len(ours.objects) == 5
    assert told(ours) == told(theirs)
    assert ours.crds == theirs.crds


@needs_helm
@pytest.mark.parametrize("name", ["cert-manager", "slurm-operator", "slurm-operator-crds", "gpu-operator"])
def test_both_make_the_same_objects_of_a_real_chart(tmp_path: Path, name: str) -> None:
    """Of all versions whose charts come from Go's module cache or its proxy."""
    catalogue = load()
    addon = catalogue.addons[name]
    modules = [one for one in catalogue.versions[name] if isinstance(one.source, ModuleSource)]
    assert modules

    def fetch(source: ModuleSource) -> Path:
        return module_zip(source.module, source.version, source.sum, QuietReporter(), sum_database=source.database)

    for version in modules:
        values = chart_values(addon, version, target=addon.targets[0], given={}).values
        item = PlanItem(name, version.version, addon.namespace, "real", values, "x")
        renderers = (HelmLibrary(), HelmProgram(Path(PROGRAM)))
        try:
            made = [Packager(catalogue, tmp_path, fetch_module=fetch, renderer=renderer).render(item) for renderer in renderers]
        except (Unavailable, NotFound) as error:
            pytest.skip(f"the chart cannot be had here: {error.message}")
        assert made[0].objects or made[0].crds
        assert made[0] == made[1]


@needs_helm
def test_dependencies_that_the_chart_does_not_have_are_left_out_as_the_library_does() -> None:
    about = (
        "apiVersion: v2\nname: demo\nversion: 0.0.0\ndependencies: [{name: gone, version: 1.0.0, repository: 'file://../gone'}]\n"
    )
    archive = packaged(**{"Chart.yaml": about})
    assert told(HelmLibrary().render(archive, RELEASE)) == told(HelmProgram(Path(PROGRAM)).render(archive, RELEASE))


@needs_helm
def test_faults_are_of_the_same_class() -> None:
    failing = packaged(templates={"x.yaml": '{{ fail "replicas must be odd" }}'})
    for renderer in (HelmLibrary(), HelmProgram(Path(PROGRAM))):
        with pytest.raises(InvalidInput, match="replicas must be odd"):
            renderer.render(failing, RELEASE)
        with pytest.raises(Refused):
            renderer.render(b"no chart", RELEASE)


@needs_helm
def test_it_is_another_engine_with_its_own_version() -> None:
    identity = HelmProgram(Path(PROGRAM)).identity
    assert identity.startswith("helm program v")
    assert identity != HelmLibrary().identity


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="helm cannot be run"):
        HelmProgram(tmp_path / "helm").render(packaged(), RELEASE)


def test_a_program_that_fails_is_told_with_its_own_words(tmp_path: Path) -> None:
    program = tmp_path / "helm"
    program.write_text("#!/bin/sh\necho 'Error: values are odd' >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(InvalidInput, match="values are odd"):
        HelmProgram(program).render(packaged(), RELEASE)

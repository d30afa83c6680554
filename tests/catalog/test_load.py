"""The catalogue is read whole, and what is wrong in its files or between them is told with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import NotFound, SpecError
from catalog.model import FileSource, KubernetesRange, ModuleSource, OciSource, PackageSource, minor_number, version_key
from catalog.read.load import load

ADDON = """\
name: demo
title: Demo
role: slurm
namespace: demo
targets: [embedded]
"""
VERSION = """\
version: 1.0.0
chart: {source: oci, repository: r.invalid/demo, tag: v1.0.0, digest: unpinned, archiveDigest: unpinned, chartVersion: v1.0.0}
images:
  - reference: r.invalid/demo:v1.0.0
compatibility:
  kubernetes: {from: "1.30", source: made up}
"""
CHANNEL = "name: edge\nallowsUnpinned: true\nversions: {demo: 1.0.0}\n"


def write(root: Path, *, addon: str = ADDON, version: str = VERSION, channel: str = CHANNEL, folder: str = "demo") -> Path:
    for path, text in {
        f"addons/{folder}/addon.yaml": addon,
        f"addons/{folder}/versions/1.0.0.yaml": version,
        "channels/edge.yaml": channel,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def wrong(root: Path, **files: str) -> str:
    with pytest.raises(SpecError) as caught:
        load(write(root, **files))
    return str(caught.value).replace(f"{root}/", "")


def test_a_small_catalogue_is_read(tmp_path: Path) -> None:
    made = load(write(tmp_path))
    version = made.version("demo", "1.0.0")
    assert version is not None
    assert version.source == OciSource("r.invalid/demo", "v1.0.0")
    assert (version.chart_version, version.app_version) == ("v1.0.0", "v1.0.0")
    assert (version.chart_pin, version.image_pin) == ("unpinned", "unpinned")
    assert version.compatibility.declared == KubernetesRange("1.30", "", "made up")
    assert made.channels["edge"].versions == {"demo": "1.0.0"}


@pytest.mark.parametrize(
    ("chart", "source"),
    [
        (
            "{source: go-module, module: m.invalid/x, version: v1.0.0, path: charts/x, chartVersion: 1, "
            f"sum: 'h1:{'A' * 43}='}}",
            ModuleSource("m.invalid/x", "v1.0.0", f"h1:{'A' * 43}=", "charts/x"),
        ),
        (f"{{source: file, path: x.tgz, digest: 'sha256:{'a' * 64}', chartVersion: 1}}", FileSource),
        ("{source: package, chartVersion: 1}", PackageSource),
    ],
)
def test_every_source_of_charts_is_read(tmp_path: Path, chart: str, source: object) -> None:
    text = VERSION.replace(VERSION.splitlines()[1], f"chart: {chart}")
    version = load(write(tmp_path, version=text)).version("demo", "1.0.0")
    assert version is not None
    assert version.source == source if isinstance(source, ModuleSource) else isinstance(version.source, source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("name: demo", "name: other", "addon.yaml:1:1: name: 'other' stands in directory 'demo'"),
        ("role: slurm", "role: slrum", "addon.yaml:3:1: role: 'slrum' is not one of"),
        ("[embedded]", "[embeded]", "addon.yaml:5:1: targets: 'embeded' is not one of"),
        ("title: Demo", "titel: Demo", "addon.yaml:2:1: titel: unknown field (did you mean title?)"),
        ("title: Demo\n", "", "addon.yaml:1:1: title: is missing"),
        ("title: Demo", "title: Demo\nrequires: [{addon: nope, reason: x}]", "addon.yaml: requires: unknown add-on 'nope'"),
        ("title: Demo", "title: Demo\nexcludes: {nope: x}", "addon.yaml: excludes: unknown add-on 'nope'"),
        ("title: Demo", "title: Demo\nembedded: {programs: [{workload: x, tool: t}]}", "'x' is no namespace/deployment"),
        (
            "title: Demo",
            "title: Demo\nembedded: {webhooks: [{configuration: ValidatingWebhookConfiguration/x}]}",
            "nothing serves it, and no reason says why",
        ),
        ("title: Demo", "title: Demo\nembedded: {webhooks: [{configuration: x, reason: y}]}", "is no Kind/name of a webhook"),
        ("title: Demo", "title: Demo\nreference: maybe", "expected true or false, found the text 'maybe'"),
        ("title: Demo", "title: Demo\ncrds: x", "expected a list of words, found the text 'x'"),
        ("title: Demo", "title: Demo\ncrds: [[x]]", "crds[0]: expected a word, found a list"),
    ],
)
def test_faults_of_an_addon_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert problem in wrong(tmp_path, addon=ADDON.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("version: 1.0.0", "version: 1.0.1", "1.0.0.yaml:1:1: version: '1.0.1' stands in file '1.0.0.yaml'"),
        ("digest: unpinned", "digest: abc", "chart.digest: 'abc' is neither sha256:<64 hexadecimal digits> nor unpinned"),
        ("digest: unpinned, ", "", "chart.digest: is missing"),
        ("repository: r.", "repository: oci://r.", "chart.repository: has a scheme"),
        ("source: oci", "source: ocy", "chart.source: 'ocy' is not one of go-module, oci"),
        ("tag: v1.0.0", "tga: v1.0.0", "chart.tga: unknown field"),
        ("demo:v1.0.0\n", "demo\n", "images[0].reference: 'r.invalid/demo' is no registry/name:tag"),
        ("demo:v1.0.0\n", "demo:latest\n", "the tag latest names no version"),
        ('"1.30"', '"2.30"', "compatibility.kubernetes.from: '2.30' is no Kubernetes minor"),
        (", source: made up", "", "compatibility.kubernetes.source: is missing"),
        ("compatibility:", "compatibilty:", "compatibility: is missing"),
    ],
)
def test_faults_of_a_version_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert problem in wrong(tmp_path, version=VERSION.replace(old, new))


def test_a_checksum_of_the_wrong_sort_is_told(tmp_path: Path) -> None:
    chart = "chart: {source: go-module, module: m, version: v1, path: p, sum: 'sha256:00', chartVersion: 1}"
    assert "is no h1: checksum" in wrong(tmp_path, version=VERSION.replace(VERSION.splitlines()[1], chart))


@pytest.mark.parametrize(
    ("channel", "problem"),
    [
        ("name: edge\nversions: {demo: 2.0.0}", "edge.yaml: versions.demo: version 2.0.0 is not in the catalogue"),
        ("name: edge\nversions: {nope: 1.0.0}", "edge.yaml: versions.nope: unknown add-on 'nope'"),
        ("name: other\nallowsUnpinned: true\nversions: {}", "edge.yaml:1:1: name: 'other' stands in file 'edge.yaml'"),
        ("name: edge\nversions: {demo: 1.0.0}", "versions.demo: 1.0.0 is unpinned (chart unpinned, images unpinned)"),
    ],
)
def test_faults_of_a_channel(tmp_path: Path, channel: str, problem: str) -> None:
    assert problem in wrong(tmp_path, channel=channel)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    text = wrong(tmp_path, addon=ADDON.replace("slurm", "x"), version=VERSION.replace("1.0.0\nchart", "1.0.1\nchart"), channel="")
    assert "3 problems in the catalogue" in text


def test_an_addon_without_its_file_or_without_versions_is_told(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "addons/demo/addon.yaml").unlink()
    with pytest.raises(SpecError, match="is missing"):
        load(tmp_path)


def test_no_catalogue_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no catalogue there"):
        load(tmp_path)


def test_versions_stand_in_the_order_of_their_numbers() -> None:
    versions = ["v0.10.0", "0.9.1", "1.0.0", "0.9.1-rc1", "26.4.1"]
    assert sorted(versions, key=version_key) == ["0.9.1-rc1", "0.9.1", "v0.10.0", "1.0.0", "26.4.1"]
    assert sorted(["25.11.0", "25.05.1"], key=lambda v: version_key(v, "calendar")) == ["25.05.1", "25.11.0"]


@pytest.mark.parametrize(("version", "minor"), [("1.36", 36), ("v1.36", 36), ("1.36.3", 36), ("v1.9.0-rc.1", 9)])
def test_a_kubernetes_version_has_a_minor(version: str, minor: int) -> None:
    assert minor_number(version) == minor


@pytest.mark.parametrize("version", ["", "1", "2.0", "x.y", "1.x"])
def test_what_is_no_kubernetes_version_is_no_number(version: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        minor_number(version)


def test_a_range_holds_both_its_ends() -> None:
    closed, open_end = KubernetesRange("1.30", "1.36", ""), KubernetesRange("1.9", "", "")
    assert [closed.admits(minor) for minor in ("1.29", "1.30", "1.36", "1.37")] == [False, True, True, False]
    assert [open_end.admits(minor) for minor in ("1.8", "1.9", "1.100")] == [False, True, True]
    assert (str(closed), str(open_end)) == ("1.30 to 1.36", "1.9 and newer")

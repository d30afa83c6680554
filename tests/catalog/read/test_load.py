"""The catalogue is read whole, and what is wrong in its files or between them is told with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import NotFound, SpecError
from catalog.model import FileSource, KubernetesRange, ModuleSource, OciSource, PackageSource
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
        load(write(root, **files), eager=True)
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
        (
            "title: Demo",
            "title: Demo\nrequires: [{addon: nope, reason: x}]",
            "addon.yaml:3:13: requires[0].addon: unknown add-on 'nope'",
        ),
        ("title: Demo", "title: Demo\nexcludes: {nope: x}", "addon.yaml:3:12: excludes.nope: unknown add-on 'nope'"),
        ("title: Demo", "title: Demo\nembedded: {programs: [{workload: x, tool: t}]}", "'x' is no namespace/deployment"),
        (
            "title: Demo",
            "title: Demo\nembedded: {webhooks: [{configuration: ValidatingWebhookConfiguration/x}]}",
            "nothing serves it, and no reason says why",
        ),
        ("title: Demo", "title: Demo\nembedded: {webhooks: [{configuration: x, reason: y}]}", "is no Kind/name of a webhook"),
        ("title: Demo", "title: Demo\nreference: maybe", "expected true or false, found the text 'maybe'"),
        ("title: Demo", "title: Demo\ncrds: x", "expected a list of words, found the text 'x'"),
        ("[embedded]", "[]", "addon.yaml:5:1: targets: names nothing"),
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
        ("repository: r.", "repository: oci://r.", "chart.repository: 'oci://r.invalid/demo' has a scheme"),
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
        (
            "name: edge\nversions: {demo: 2.0.0}",
            "edge.yaml:2:12: versions.demo: version 2.0.0 is not in the catalogue (did you mean 1.0.0?)",
        ),
        ("name: edge\nversions: {nope: 1.0.0}", "edge.yaml:2:12: versions.nope: unknown add-on 'nope' (known: demo)"),
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


def test_version_files_are_read_when_they_are_asked_for(tmp_path: Path) -> None:
    made = load(write(tmp_path, version=VERSION.replace("source: oci", "source: ocy")))
    assert made.names("demo") == ("1.0.0",)
    for ask in (lambda: made.version("demo", "1.0.0"), lambda: made.versions["demo"]):
        with pytest.raises(SpecError, match="'ocy' is not one of") as caught:
            ask()
        assert "1 problem in the catalogue" in str(caught.value)
    assert made.version("demo", "2.0.0") is None
    assert made.version("nope", "1.0.0") is None
    assert made.names("nope") == ()


def test_a_version_that_was_read_is_not_read_again(tmp_path: Path) -> None:
    made = load(write(tmp_path))
    found = made.version("demo", "1.0.0")
    (tmp_path / "addons/demo/versions/1.0.0.yaml").unlink()
    assert made.version("demo", "1.0.0") is found
    assert made.versions["demo"] == (found,)


SCHEMA = '{"type": "object", "properties": {"x": {"type": "boolean", "default": true}}}'


def test_what_stands_beside_a_version_comes_before_what_stands_beside_the_addon(tmp_path: Path) -> None:
    write(tmp_path)
    folder = tmp_path / "addons/demo"
    (folder / "values.yaml.j2").write_text("defaults: {a: 1}\nguards: {}\n")
    (folder / "config.schema.json").write_text(SCHEMA)
    (folder / "versions/1.1.0.yaml").write_text(VERSION.replace("version: 1.0.0", "version: 1.1.0"))
    (folder / "versions/1.1.0.values.yaml.j2").write_text("defaults: {a: 2}\nguards: {}\n")
    (folder / "versions/1.1.0.config.schema.json").write_text("{}")
    old, new = load(tmp_path, eager=True).versions["demo"]
    assert ("a: 1" in old.values_template, "a: 2" in new.values_template) == (True, True)
    assert (old.config_schema["type"], new.config_schema) == ("object", {})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"type": "object",}', "config.schema.json:1:19: is no JSON: "),
        (b"[1]", "is no JSON object"),
        (b'{"default": NaN}', "NaN is no number of JSON"),
        (b'"\xff"', "is no JSON"),
        (b"[" * 100_000, "is no JSON"),
        (b"", "is no JSON"),
    ],
)
def test_a_configuration_schema_that_is_none_is_told(tmp_path: Path, text: bytes, problem: str) -> None:
    write(tmp_path)
    (tmp_path / "addons/demo/config.schema.json").write_bytes(text)
    assert problem in wrong(tmp_path)


def test_a_template_that_is_no_text_is_told(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "addons/demo/values.yaml.j2").write_bytes(b"defaults: {}\nguards: {a: \xff}\n")
    assert "values.yaml.j2:2:1: is not UTF-8" in wrong(tmp_path)


@pytest.mark.parametrize("ending", ["values.yaml.j2", "config.schema.json"])
def test_a_file_beside_a_version_that_is_not_there_is_told(tmp_path: Path, ending: str) -> None:
    write(tmp_path)
    (tmp_path / f"addons/demo/versions/1.0.1.{ending}").write_text("{}")
    assert f"1.0.1.{ending}: belongs to no version (there is no 1.0.1.yaml beside it)" in wrong(tmp_path)


def test_a_file_whose_name_is_no_version_is_told_before_it_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "addons/demo/versions/newest.yaml").write_text("nonsense")
    with pytest.raises(SpecError, match="'newest' is no semver version"):
        load(tmp_path)


def test_one_version_has_one_file(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "addons/demo/versions/v1.0.0.yaml").write_text(VERSION)
    assert "v1.0.0 is the same version as 1.0.0" in wrong(tmp_path)


def test_a_stray_tag_has_no_file_and_stands_in_no_channel(tmp_path: Path) -> None:
    strays = ADDON + "strays: {v1.0.0: was pushed by mistake}\n"
    text = wrong(tmp_path, addon=strays)
    assert "1.0.0.yaml: version: 1.0.0 is a stray tag: was pushed by mistake" in text
    assert "edge.yaml:3:12: versions.demo: 1.0.0 is a stray tag: was pushed by mistake (it can never be picked)" in text


def test_an_addon_that_names_itself_is_told(tmp_path: Path) -> None:
    assert "excludes.demo: demo names itself" in wrong(tmp_path, addon=ADDON + "excludes: {demo: why}\n")


EDGES = """\
edges:
  - from: "=0.9.0"
    to: v1.0.0
    verdict: manual
    code: fields-dropped
    reason: fields go
    reversible: false
    steps: [write them down]
    moves: [{from: a.b, to: "", note: gone}, {from: c, to: d}]
"""


def test_edges_are_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "addons/demo/edges.yaml").write_text(EDGES)
    made = load(tmp_path, eager=True)
    (edge,) = made.edges["demo"]
    assert (edge.addon, str(edge.origin), edge.to, edge.verdict, edge.reversible) == ("demo", "=0.9.0", "1.0.0", "manual", False)
    assert [(move.source, move.to, move.note) for move in edge.moves] == [("a.b", "", "gone"), ("c", "d", "")]
    assert edge.steps == ("write them down",)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('"=0.9.0"', '">>1"', "edges.yaml:2:5: edges[0].from: "),
        ("to: v1.0.0", "to: newest", "edges[0].to: 'newest' is no semver version"),
        ("manual", "mnual", "edges[0].verdict: 'mnual' is not one of safe, manual, blocked (did you mean manual?)"),
        ("fields-dropped", "Fields Dropped", "'Fields Dropped' is no reason code in kebab case"),
        ("    reversible: false\n", "", "edges[0].reversible: is missing"),
        ("moves:", "move:", "edges[0].move: unknown field (did you mean moves"),
        ("edges:", "edgse:", "edges: is missing"),
    ],
)
def test_faults_of_edges(tmp_path: Path, old: str, new: str, problem: str) -> None:
    write(tmp_path)
    (tmp_path / "addons/demo/edges.yaml").write_text(EDGES.replace(old, new))
    assert problem in wrong(tmp_path)
    with pytest.raises(SpecError):
        dict(load(tmp_path).edges)


COMPATIBILITY = """\
  constraints:
    - {fact: driver, range: ">=580", reason: r, source: s}
    - {fact: nri, words: [on], reason: r, source: s, when: fractions}
  peers:
    - {addon: other, range: ">=25.05", scheme: calendar, reason: r, source: s}
"""


def test_constraints_and_peers_are_read(tmp_path: Path) -> None:
    write(tmp_path, folder="other", addon=ADDON.replace("demo", "other"), version=VERSION)
    version = load(write(tmp_path, version=VERSION + COMPATIBILITY), eager=True).version("demo", "1.0.0")
    assert version is not None
    driver, nri = version.compatibility.constraints
    assert (driver.fact, driver.range, nri.words, nri.when) == ("driver", ">=580", ("on",), "fractions")
    (peer,) = version.compatibility.peers
    assert (peer.addon, peer.range.admits("25.11.0"), peer.range.admits("24.11.0")) == ("other", True, False)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("fact: driver", "fact: drivr", "constraints[0].fact: 'drivr' is not one of"),
        (', range: ">=580"', "", "constraints[0].range: is missing"),
        ('range: ">=580"', "range: newest", "constraints[0].range: 'newest' is no bound of a range"),
        ('range: ">=580"', 'range: ">=580", words: [x]', "constraints[0].words: unknown field"),
        ("words: [on]", "words: [yes]", "constraints[1].words: 'yes' is not one of on, off"),
        ("words: [on]", "words: []", "constraints[1].words: names nothing"),
        ("calendar", "semver", "peers[0].range: '25.05' is no semver version"),
        ("addon: other", "addon: othr", "peers[0].addon: unknown add-on 'othr' (did you mean other?)"),
        (", source: s, when", ", when", "constraints[1].source: is missing"),
    ],
)
def test_faults_of_constraints_and_peers(tmp_path: Path, old: str, new: str, problem: str) -> None:
    write(tmp_path, folder="other", addon=ADDON.replace("demo", "other"), version=VERSION)
    assert problem in wrong(tmp_path, version=VERSION + COMPATIBILITY.replace(old, new))

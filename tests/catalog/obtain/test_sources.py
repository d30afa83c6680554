"""Charts come from where the catalogue says, verified before they are used, and are kept afterwards."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from base.errors import Exit, NotFound, Refused, exit_code
from catalog.model import AddonVersion, FileSource, ModuleSource, OciSource
from catalog.obtain.archive import module_sum, sha256, unpack
from catalog.obtain.registry import Registry
from catalog.obtain.sources import Charts, mirror_name
from catalog.obtain.store import Store
from tests.catalog.obtain.registry_server import FakeRegistry, serving
from tests.catalog.synthetic import chart_files, packaged, sourced

NOWHERE = OciSource("127.0.0.1:9/charts/demo", "v1.0.0")


def no_module(source: ModuleSource) -> Path:
    raise AssertionError(f"{source} is not wanted here")


def charts(cache: Path, *, mirror: Path | None = None) -> Charts:
    return Charts(Store(cache), fetch_module=no_module, mirror=mirror, registry=Registry(connect=1, read=1))


def mirrored(directory: Path, data: bytes) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "demo-v1.0.0.tgz").write_bytes(data)
    return directory


def refused(made: Charts, version: AddonVersion) -> str:
    with pytest.raises(Refused) as caught:
        made.get(version)
    assert exit_code(caught.value) is Exit.REFUSED
    return str(caught.value)


class Module:
    """A Go module with a chart in it, and how often it was asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path / "m.zip"
        self.asked: list[tuple[str, str, str]] = []
        with zipfile.ZipFile(self.path, "w") as archive:
            for name, data in chart_files().items():
                archive.writestr(f"m.invalid/x@v1.0.0/charts/demo/{name}", data)
        self.source = ModuleSource("m.invalid/x", "v1.0.0", module_sum(self.path, "m.invalid/x@v1.0.0"), "charts/demo")

    def __call__(self, source: ModuleSource) -> Path:
        self.asked.append((source.module, source.version, source.sum))
        return self.path


def test_a_chart_out_of_a_module_gets_the_catalogues_versions_and_is_fetched_once(tmp_path: Path) -> None:
    module = Module(tmp_path)
    made = Charts(Store(tmp_path / "cache"), fetch_module=module)
    version = sourced(module.source, chart_version="v1.2.3", app_version="v1.2.3")
    chart = made.get(version)
    assert b'version: "v1.2.3"' in unpack(chart.archive, "x")["Chart.yaml"]
    assert (chart.source_digest, chart.origin) == (module.source.sum, "m.invalid/x@v1.0.0")
    assert made.get(version) == chart
    assert module.asked == [("m.invalid/x", "v1.0.0", module.source.sum)]


def test_another_chart_version_is_another_chart(tmp_path: Path) -> None:
    module = Module(tmp_path)
    made = Charts(Store(tmp_path / "cache"), fetch_module=module)
    one = made.get(sourced(module.source, chart_version="v1"))
    assert made.get(sourced(module.source, chart_version="v2")).archive != one.archive


def test_a_module_whose_bytes_do_not_match_is_refused_with_both_checksums(tmp_path: Path) -> None:
    module = Module(tmp_path)
    wrong = ModuleSource("m.invalid/x", "v1.0.0", f"h1:{'A' * 43}=", "charts/demo")
    text = refused(Charts(Store(tmp_path / "cache"), fetch_module=module), sourced(wrong))
    assert wrong.sum in text
    assert module.source.sum in text


def test_a_module_without_the_chart_is_not_found(tmp_path: Path) -> None:
    module = Module(tmp_path)
    source = ModuleSource("m.invalid/x", "v1.0.0", module.source.sum, "charts/none")
    with pytest.raises(NotFound, match="has no chart in charts/none"):
        Charts(Store(tmp_path / "cache"), fetch_module=module).get(sourced(source))


def test_a_damaged_cache_is_filled_again(tmp_path: Path) -> None:
    module = Module(tmp_path)
    made = Charts(Store(tmp_path / "cache"), fetch_module=module)
    chart = made.get(sourced(module.source))
    next((tmp_path / "cache/blobs/sha256").iterdir()).write_bytes(b"damaged")
    assert made.get(sourced(module.source)) == chart
    assert len(module.asked) == 2


def test_a_mirror_comes_before_any_registry(tmp_path: Path) -> None:
    mirror = mirrored(tmp_path / "mirror", packaged())
    chart = charts(tmp_path / "cache", mirror=mirror).get(sourced(NOWHERE))
    assert chart.origin == str(mirror / "demo-v1.0.0.tgz")
    assert chart.source_digest == sha256(packaged())


def test_a_mirror_whose_bytes_are_not_the_pinned_ones_is_refused_with_both_digests(tmp_path: Path) -> None:
    pinned = OciSource(NOWHERE.repository, NOWHERE.tag, "sha256:" + "a" * 64, "sha256:" + "a" * 64)
    text = refused(charts(tmp_path / "cache", mirror=mirrored(tmp_path / "mirror", packaged())), sourced(pinned))
    assert pinned.archive_digest in text
    assert sha256(packaged()) in text


def test_an_unpinned_chart_that_changes_under_its_name_is_refused_and_says_how_to_go_on(tmp_path: Path) -> None:
    made = charts(tmp_path / "cache", mirror=mirrored(tmp_path / "mirror", packaged()))
    made.get(sourced(NOWHERE))
    changed = packaged(**{"values.yaml": "replicas: 2\n"})
    mirrored(tmp_path / "mirror", changed)
    text = refused(made, sourced(NOWHERE))
    assert sha256(packaged()) in text
    assert sha256(changed) in text
    assert "to forget the first: rm " in text
    Path(text.rpartition("rm ")[2]).unlink()
    assert made.get(sourced(NOWHERE)).source_digest == sha256(changed)


def test_a_mirror_that_holds_no_chart_is_refused(tmp_path: Path) -> None:
    assert "is no chart archive" in refused(charts(tmp_path / "c", mirror=mirrored(tmp_path / "m", b"<html>")), sourced(NOWHERE))


def test_a_file_is_checked_every_time(tmp_path: Path) -> None:
    path = tmp_path / "demo-1.tgz"
    path.write_bytes(packaged())
    version = sourced(FileSource(path, sha256(packaged())))
    made = charts(tmp_path / "cache")
    made.get(version)
    path.write_bytes(packaged(**{"values.yaml": "replicas: 2\n"}))
    assert "pinned is" in refused(made, version)


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="cannot be read"):
        charts(tmp_path / "cache").get(sourced(FileSource(tmp_path / "none.tgz", "")))


def test_a_registry_serves_once_and_the_cache_afterwards(tmp_path: Path) -> None:
    with serving(FakeRegistry(packaged())) as registry:
        version = sourced(OciSource(registry.repository, "v1.0.0"))
        made = charts(tmp_path / "cache")
        assert made.obtainable(version).detail == f"from {registry.repository}"
        chart = made.get(version)
    assert made.get(version) == chart
    assert made.obtainable(version).detail == "kept in the cache"


def test_obtainable_says_no_with_the_reason_and_never_raises(tmp_path: Path) -> None:
    found = charts(tmp_path / "cache", mirror=tmp_path).obtainable(sourced(NOWHERE))
    assert not found.yes
    assert f"not in {tmp_path}, 127.0.0.1:9/charts/demo: the registry cannot be reached" in found.detail


def test_obtainable_sees_the_mirror(tmp_path: Path) -> None:
    mirror = mirrored(tmp_path / "mirror", packaged())
    assert charts(tmp_path / "cache", mirror=mirror).obtainable(sourced(NOWHERE)).yes


def test_a_mirror_names_files_as_helm_does() -> None:
    assert mirror_name(OciSource("ghcr.io/kai-scheduler/kai-scheduler/kai-scheduler", "v0.17.0")) == "kai-scheduler-v0.17.0.tgz"

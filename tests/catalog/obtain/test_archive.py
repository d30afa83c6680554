"""Chart archives are packed always the same and unpacked with care; module checksums are Go's own."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import Refused
from catalog.obtain.archive import module_files, module_sum, pack, sha256, unpack

FILES = {"Chart.yaml": b"name: x\nversion: 0.0.0\nappVersion: 0.0.0\n", "templates/a.yaml": b"a: 1\n", "values.yaml": b"\n"}
PATHS = st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8}){0,2}\.yaml", fullmatch=True)


def tar(*entries: tuple[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, data in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def test_the_catalogues_versions_replace_the_placeholders() -> None:
    files = unpack(pack(FILES, name="x", version="v1.2.3", app_version="25.11"), "x")
    assert files["Chart.yaml"] == b'name: x\nversion: "v1.2.3"\nappVersion: "25.11"\n'


def test_a_missing_app_version_is_added_and_nested_ones_are_left() -> None:
    chart = b"name: x\nversion: 1\ndependencies:\n  - name: y\n    version: 9\n"
    files = unpack(pack({"Chart.yaml": chart}, name="x", version="2", app_version="3"), "x")
    text = files["Chart.yaml"].decode()
    assert text == 'name: x\nversion: "2"\ndependencies:\n  - name: y\n    version: 9\nappVersion: "3"\n'


def test_what_has_no_chart_yaml_is_no_chart() -> None:
    with pytest.raises(Refused, match="no Chart"):
        pack({"values.yaml": b""}, name="x", version="1", app_version="1")


@given(st.dictionaries(PATHS, st.binary(max_size=50), max_size=5))
def test_the_same_files_make_the_same_bytes_whatever_their_order(more: dict[str, bytes]) -> None:
    files = {**more, "Chart.yaml": FILES["Chart.yaml"]}
    backwards = dict(reversed(files.items()))
    one = pack(files, name="x", version="1", app_version="1")
    assert pack(backwards, name="x", version="1", app_version="1") == one
    assert {**unpack(one, "x"), "Chart.yaml": b""} == {**files, "Chart.yaml": b""}


@pytest.mark.parametrize("name", ["../evil", "x/../../evil", "/etc/passwd"])
def test_a_path_that_leaves_the_archive_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="leads out of the archive"):
        unpack(tar((name, b"x")), "x")


def test_links_and_devices_are_passed_over() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        link = tarfile.TarInfo("x/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert unpack(buffer.getvalue(), "x") == {}


def test_an_archive_that_unpacks_to_more_than_any_chart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catalog.obtain.archive._UNPACKED_LIMIT", 1000)
    with pytest.raises(Refused, match="more than any chart"):
        unpack(tar(("x/big", b"0" * 2000)), "x")


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive", gzip.compress(b"no tar" * 200), tar(("x/a", b"y" * 5000))[:-60]],
    ids=["empty", "text", "no tar", "cut off"],
)
def test_what_is_no_archive_or_only_a_part_is_refused(data: bytes) -> None:
    with pytest.raises(Refused, match="is no chart archive"):
        unpack(data, "x")


@given(st.binary(max_size=200))
def test_no_bytes_make_unpacking_raise_anything_else(data: bytes) -> None:
    with pytest.raises(Refused):
        unpack(data, "x")


def module(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(f"m.invalid/x@v1.0.0/{name}", data)
    return path


def test_a_module_checksum_is_gos_own_for_a_zip_and_for_what_it_unpacks_to(tmp_path: Path) -> None:
    # golang.org/x/mod/sumdb/dirhash, Hash1: a line "<sha256>  <name>" for each file, sorted by name, and SHA-256 over them.
    contents = {"xyz": b"data for xyz", "abc": b"data for abc"}
    zipped = module(tmp_path / "m.zip", contents)
    unpacked = tmp_path / "dir"
    unpacked.mkdir()
    for name, data in contents.items():
        (unpacked / name).write_bytes(data)
    lines = "".join(f"{sha256(contents[n]).removeprefix('sha256:')}  m.invalid/x@v1.0.0/{n}\n" for n in ("abc", "xyz"))
    expected = "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()
    assert module_sum(zipped, "m.invalid/x@v1.0.0") == module_sum(unpacked, "m.invalid/x@v1.0.0") == expected


def test_one_changed_byte_changes_the_checksum(tmp_path: Path) -> None:
    one = module(tmp_path / "a.zip", {"a": b"1"})
    other = module(tmp_path / "b.zip", {"a": b"2"})
    assert module_sum(one, "m.invalid/x@v1.0.0") != module_sum(other, "m.invalid/x@v1.0.0")


def test_files_of_one_directory_come_without_the_rest(tmp_path: Path) -> None:
    path = module(tmp_path / "m.zip", {"charts/x/Chart.yaml": b"c", "charts/xy/Chart.yaml": b"d", "main.go": b""})
    assert module_files(path, "m.invalid/x@v1.0.0", "charts/x") == {"Chart.yaml": b"c"}


def test_what_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.zip").write_bytes(b"no zip")
    with pytest.raises(Refused, match="is no module zip"):
        module_sum(tmp_path / "m.zip", "m@v1")

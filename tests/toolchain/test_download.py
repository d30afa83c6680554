from __future__ import annotations

import hashlib
import io
import socket
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import Exit, Refused, exit_code
from tests.toolchain.conftest import Recorder, with_release
from tests.toolchain.site import Site, serve
from toolchain import cache, download
from toolchain.pins import Tool
from toolchain.sources import obtain_tools

PROGRAM = b"#!/bin/sh\necho tool v1.2.3\n"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serve() as served:
        yield served


def offer(site: Site, name: str, content: bytes, *, summed: bytes | None = None) -> None:
    site.files[f"/{name}"] = content
    digest = hashlib.sha256(content if summed is None else summed).hexdigest()
    site.files["/SHA256SUMS"] = f"{'0' * 64}  other\n{digest}  {name}\n".encode()


def archive(**members: bytes) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name.replace("__", "/"))
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return raw.getvalue()


def fetch(tool: Tool, reporter: Recorder) -> Path:
    assert tool.release is not None
    return download.release(tool, tool.release, reporter)


def test_a_release_is_checked_and_cached(tool: Tool, site: Site, cache_root: Path, reporter: Recorder) -> None:
    offer(site, "x-1.2.3", PROGRAM)
    tool = with_release(tool, site.url)
    path = fetch(tool, reporter)
    found = cache.lookup(tool)
    assert found is not None
    assert found[0] == path
    assert path.read_bytes() == PROGRAM
    assert (found[1].source, found[1].origin) == ("release", f"{site.url}/x-1.2.3")
    assert cache_root in path.parents


def test_only_the_wanted_members_of_an_archive_are_kept(tool: Tool, site: Site, cache_root: Path, reporter: Recorder) -> None:
    del cache_root
    offer(site, "x-1.2.3.tar.gz", archive(dist__bin__x=PROGRAM, dist__helper=b"help", README=b"no"))
    path = fetch(with_release(tool, site.url, member="dist/bin/x", beside=("dist/helper",)), reporter)
    assert path.read_bytes() == PROGRAM
    assert sorted(file.name for file in path.parent.iterdir()) == ["entry.json", "helper", "x"]


def test_a_wrong_checksum_is_refused_and_leaves_nothing(tool: Tool, site: Site, cache_root: Path, reporter: Recorder) -> None:
    offer(site, "x-1.2.3", PROGRAM, summed=b"something else")
    tool = with_release(tool, site.url)
    with pytest.raises(Refused, match="does not match its checksum") as refused:
        fetch(tool, reporter)
    assert exit_code(refused.value) == Exit.REFUSED
    assert cache.lookup(tool) is None
    assert [path.name for path in cache_root.iterdir()] == ["release-checksums.json"]


def test_a_checksum_that_changes_after_its_first_use_is_refused(
    tool: Tool, site: Site, cache_root: Path, reporter: Recorder
) -> None:
    offer(site, "x-1.2.3", PROGRAM)
    tool = with_release(tool, site.url)
    path = fetch(tool, reporter)
    path.unlink()
    offer(site, "x-1.2.3", PROGRAM + b"# and more\n")
    with pytest.raises(Refused, match="now serves another checksum") as refused:
        fetch(tool, reporter)
    assert exit_code(refused.value) == Exit.REFUSED
    assert str(cache_root / "release-checksums.json") in refused.value.where


@pytest.mark.parametrize("missing", ["/x-1.2.3", "/SHA256SUMS"])
def test_a_file_that_the_publisher_does_not_have_is_no_error_of_the_run(
    tool: Tool, site: Site, cache_root: Path, reporter: Recorder, missing: str
) -> None:
    del cache_root
    offer(site, "x-1.2.3", PROGRAM)
    del site.files[missing]
    with pytest.raises(download.NotServed, match="404"):
        fetch(with_release(tool, site.url), reporter)


def test_an_archive_without_the_program_is_not_used(tool: Tool, site: Site, cache_root: Path, reporter: Recorder) -> None:
    del cache_root
    offer(site, "x-1.2.3.tar.gz", archive(README=b"no"))
    with pytest.raises(download.NotServed, match="does not contain dist/x"):
        fetch(with_release(tool, site.url, member="dist/x"), reporter)


def test_a_site_that_refuses_connections_is_given_up_at_once_and_the_program_built(
    tool: Tool, fake_go: Path, cache_root: Path, reporter: Recorder
) -> None:
    del fake_go, cache_root
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    started = time.monotonic()
    found = obtain_tools([with_release(tool, f"http://127.0.0.1:{port}")], reporter)
    assert time.monotonic() - started < 5
    assert found["x"].exists()
    assert "no release download of x" in reporter.text()
    assert "cannot be reached" in reporter.text()


def test_a_site_that_stays_silent_is_given_up_within_seconds_and_asked_only_once(
    tool: Tool, site: Site, cache_root: Path, reporter: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cache_root
    monkeypatch.setattr(download, "STALL_SECONDS", 0.5)
    site.silent.set()
    tool = with_release(tool, site.url)
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(download.NotServed, match="cannot be reached"):
            fetch(tool, reporter)
    assert time.monotonic() - started < 3
    assert site.asked == ["/SHA256SUMS"]


def test_the_limits_are_seconds() -> None:
    assert download.CONNECT_SECONDS + max(download.STALL_SECONDS, download.CHECKSUM_SECONDS) <= 15


SUM = "ab" * 32


@pytest.mark.parametrize(
    "text",
    [
        SUM,
        f"{SUM}\n",
        f"{SUM}  x-1.2.3\n",
        f"{SUM} *x-1.2.3\n",
        f"{SUM.upper()}  ./x-1.2.3\n",
        f"{'0' * 64}  y\n{SUM}  x-1.2.3\n",
        f'{{"assets": [{{"name": "y"}}, {{"name": "x-1.2.3", "digest": "sha256:{SUM}"}}]}}',
    ],
)
def test_checksums_are_read_as_publishers_write_them(text: str) -> None:
    assert download.published_sum(text, "x-1.2.3") == SUM


@pytest.mark.parametrize("text", ["", "<html>not found</html>", f"{SUM}  x-1.2.3.sig", '{"assets": []}', "{", SUM[:-1]])
def test_no_checksum_is_made_up(text: str) -> None:
    assert download.published_sum(text, "x-1.2.3") is None


@given(st.text(max_size=200))
def test_any_answer_of_a_site_gives_a_sum_or_none(text: str) -> None:
    found = download.published_sum(text, "x")
    assert found is None or len(found) == 64

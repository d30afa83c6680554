"""Go modules served from a directory, by the file protocol that Go itself has for it."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from base.errors import Exit, NotFound, Refused, Unavailable, exit_code
from tests.toolchain.conftest import Recorder
from toolchain import golang, gomodules
from toolchain.pins import Tool
from toolchain.sources import obtain_tools, present

MODULE = "example.test/Hello"
FILES = {
    "go.mod": "module example.test/Hello\n\ngo 1.26.0\n",
    "charts/one/Chart.yaml": "name: one\n",
    "cmd/x/main.go": 'package main\n\nvar version string\n\nfunc main() { println("tool v" + version) }\n',
}


def written_sum(prefix: str, files: dict[str, str]) -> str:
    """Go's Hash1 written out once more, from its documentation: sha256 over sorted ``hex  name`` lines."""
    lines = sorted((f"{prefix}/{name}", hashlib.sha256(text.encode()).hexdigest()) for name, text in files.items())
    digest = hashlib.sha256("".join(f"{hexed}  {name}\n" for name, hexed in lines).encode()).digest()
    return f"h1:{base64.b64encode(digest).decode()}"


SUM = written_sum(f"{MODULE}@v1.2.3", FILES)


@pytest.fixture
def proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module proxy in a directory, and a module cache of the test's own. The public database is off: no network."""
    versions = tmp_path / "proxy" / "example.test" / "!hello" / "@v"
    versions.mkdir(parents=True)
    (versions / "list").write_text("v1.2.3\n")
    (versions / "v1.2.3.info").write_text('{"Version": "v1.2.3"}')
    (versions / "v1.2.3.mod").write_text(FILES["go.mod"])
    with zipfile.ZipFile(versions / "v1.2.3.zip", "w") as file:
        for name, text in FILES.items():
            file.writestr(f"{MODULE}@v1.2.3/{name}", text)
    monkeypatch.setenv("GOPROXY", (tmp_path / "proxy").as_uri())
    monkeypatch.setenv("GONOSUMDB", "example.test")
    monkeypatch.setenv("GOSUMDB", "off")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modcache"))
    yield versions
    for path in (tmp_path / "modcache").rglob("*"):
        if path.is_dir():
            path.chmod(0o755)


@pytest.fixture
def go() -> Path:
    found = golang.find()
    if found is None:
        pytest.skip("no Go on this machine: all programs came from elsewhere")
    return found


def test_the_directory_hash_is_the_one_that_go_documents(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert gomodules.directory_hash(tmp_path, f"{MODULE}@v1.2.3") == SUM
    (tmp_path / "charts" / "one" / "Chart.yaml").write_text("name: two\n")
    assert gomodules.directory_hash(tmp_path, f"{MODULE}@v1.2.3") != SUM


def test_capital_letters_are_escaped_as_go_does() -> None:
    assert gomodules.escaped("github.com/SlinkyProject/slurm-operator") == "github.com/!slinky!project/slurm-operator"


@pytest.mark.integration
def test_a_module_is_fetched_checked_and_then_used_without_go(
    proxy: Path, go: Path, reporter: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert go.exists()
    directory = gomodules.module_zip(MODULE, "v1.2.3", SUM, reporter)
    assert (directory / "charts" / "one" / "Chart.yaml").read_text() == "name: one\n"
    monkeypatch.setenv("PATH", "")
    for path in proxy.iterdir():
        path.unlink()
    assert gomodules.module_zip(MODULE, "v1.2.3", SUM, reporter) == directory


@pytest.mark.integration
def test_a_module_with_other_bytes_than_pinned_is_refused(proxy: Path, go: Path, reporter: Recorder) -> None:
    assert proxy.exists()
    assert go.exists()
    with pytest.raises(Refused, match="does not match its pinned sum") as refused:
        gomodules.module_zip(MODULE, "v1.2.3", "h1:AAAA", reporter)
    assert exit_code(refused.value) == Exit.REFUSED


@pytest.mark.integration
def test_a_file_changed_in_the_module_cache_is_refused(proxy: Path, go: Path, reporter: Recorder) -> None:
    assert proxy.exists()
    assert go.exists()
    chart = gomodules.module_zip(MODULE, "v1.2.3", SUM, reporter) / "charts" / "one" / "Chart.yaml"
    chart.chmod(0o644)
    chart.write_text("name: evil\n")
    with pytest.raises(Refused, match="does not match its pinned sum"):
        gomodules.module_zip(MODULE, "v1.2.3", SUM, reporter)


@pytest.mark.integration
def test_a_version_that_does_not_exist_is_not_found(proxy: Path, go: Path, reporter: Recorder) -> None:
    assert proxy.exists()
    assert go.exists()
    with pytest.raises(NotFound, match=r"v9\.9\.9"):
        gomodules.module_zip(MODULE, "v9.9.9", SUM, reporter)


@pytest.mark.integration
def test_without_a_network_and_with_an_empty_cache_a_module_is_unavailable(
    proxy: Path, go: Path, reporter: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert proxy.exists()
    assert go.exists()
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:1")
    with pytest.raises(Unavailable, match="cannot be downloaded") as raised:
        gomodules.module_zip(MODULE, "v1.2.3", SUM, reporter)
    assert exit_code(raised.value) == Exit.UNAVAILABLE


@pytest.fixture
def hello(tool: Tool, proxy: Path) -> Tool:
    """A tool that a real Go builds from the proxy in the directory."""
    line = f"{hashlib.sha256(FILES['go.mod'].encode()).hexdigest()}  go.mod\n"
    mod_sum = f"h1:{base64.b64encode(hashlib.sha256(line.encode()).digest()).decode()}"
    family = tool.build.directory
    (family / "go.mod").write_text(f"module chandlery.local/x\n\ngo 1.26.0\n\nrequire {MODULE} v1.2.3\n")
    (family / "go.sum").write_text(f"{MODULE} v1.2.3 {SUM}\n{MODULE} v1.2.3/go.mod {mod_sum}\n")
    assert proxy.exists()
    build = dataclasses.replace(
        tool.build, module=MODULE, package=f"{MODULE}/cmd/x", ldflags=f"-s -w -X main.version={tool.version}"
    )
    return dataclasses.replace(tool, build=build)


@pytest.mark.integration
def test_a_real_go_builds_a_program_that_knows_its_version(hello: Tool, go: Path, cache_root: Path, reporter: Recorder) -> None:
    assert go.exists()
    program = obtain_tools([hello], reporter)["x"]
    answer = subprocess.run([program], capture_output=True, text=True, check=True)
    assert answer.stderr.strip() == "tool v1.2.3"
    assert cache_root in program.parents


@pytest.mark.integration
def test_a_real_go_refuses_a_module_that_was_changed_after_it_was_pinned(
    hello: Tool, go: Path, cache_root: Path, reporter: Recorder
) -> None:
    assert go.exists()
    sums = hello.build.directory / "go.sum"
    sums.write_text(re.sub(re.escape(SUM), written_sum("x", {}), sums.read_text()))
    with pytest.raises(Refused, match="does not match its recorded checksum") as refused:
        obtain_tools([hello], reporter)
    assert exit_code(refused.value) == Exit.REFUSED
    assert present(hello) is None
    assert not list(cache_root.glob(".scratch*"))


@pytest.mark.integration
def test_a_real_go_without_a_network_leaves_a_clear_error(
    hello: Tool, go: Path, cache_root: Path, reporter: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert go.exists()
    monkeypatch.setenv("GOPROXY", "http://127.0.0.1:1")
    with pytest.raises(Unavailable, match="cannot be downloaded") as raised:
        obtain_tools([hello], reporter)
    assert exit_code(raised.value) == Exit.UNAVAILABLE
    assert "GOPROXY" in raised.value.todo
    assert str(cache_root / "logs" / "x.log") == raised.value.where
    assert Path(raised.value.where).read_text()

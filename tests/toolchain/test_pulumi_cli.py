"""Plain ``pulumi`` with the stand-in language host: the real CLI, a project of a few lines, state in a directory."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from base.deadlines import Deadline, poll
from base.events import QuietReporter
from base.processes import identity
from toolchain import language_host, obtain, pulumi_environment, python_host

pytestmark = pytest.mark.integration

PROGRAM = """
import pulumi
import helper

print("said by the program")


class Part(pulumi.ComponentResource):
    def __init__(self, name):
        super().__init__("test:index:Part", name)
        self.register_outputs({})


Part(helper.NAME)
pulumi.export("late", pulumi.Output.from_input(1).apply(lambda _: __import__("later").VALUE))
"""


@dataclass(frozen=True)
class Project:
    directory: Path
    env: dict[str, str]

    def write(self, program: str) -> None:
        (self.directory / "__main__.py").write_text(program)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["pulumi", *arguments, "--non-interactive", "--color", "never"],
            cwd=self.directory,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        with self.start(*arguments) as process:
            output, _ = process.communicate(timeout=120)
        return process.returncode, output


@pytest.fixture
def project(tmp_path: Path) -> Project:
    directory, state = tmp_path / "project", tmp_path / "state"
    for path in (directory, state):
        path.mkdir()
    (directory / "Pulumi.yaml").write_text("name: tiny\nruntime: {name: python}\n")
    (directory / "helper.py").write_text('NAME = "one"\n')
    (directory / "later.py").write_text("VALUE = 42\n")
    reporter = QuietReporter()
    first = language_host(reporter) or obtain("pulumi", reporter).parent
    env = {
        **os.environ,
        "PATH": f"{first}:{os.environ['PATH']}",
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": state.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "test",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
    }
    made = Project(directory, env)
    made.write(PROGRAM)
    code, output = made.run("stack", "init", "dev")
    assert code == 0, output
    return made


def hosts(project: Project) -> list[int]:
    """Process ids of the language hosts that work in this project."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            if (
                b"toolchain.python_host" in command
                and (path / "cwd").readlink() == project.directory
                and identity(int(path.name))
            ):
                found.append(int(path.name))
        except OSError:
            continue
    return found


def no_host(project: Project) -> bool:
    return not hosts(project)


def test_up_then_preview_without_change_then_about(project: Project) -> None:
    code, output = project.run("up", "--yes")
    assert code == 0, output
    assert "said by the program" in output
    assert "late: 42" in output  # a module that was imported in a callback, after the program's last line
    assert "2 created" in output
    assert "warning" not in output
    code, output = project.run("preview", "--expect-no-changes")
    assert code == 0, output
    code, output = project.run("about")
    assert code == 0, output
    assert "This project is written in python" in output
    assert "pulumi_kubernetes" in output.replace("-", "_")
    poll(lambda: no_host(project), Deadline.after(10), "end of the language hosts")


def test_a_program_that_fails_shows_its_traceback_once(project: Project) -> None:
    project.write("import helper\n\n\ndef build():\n    return helper.MISSING\n\n\nbuild()\n")
    code, output = project.run("up", "--yes", "--skip-preview")
    assert code not in (0, None)
    assert output.partition("Diagnostics:")[2].count("AttributeError: module 'helper' has no attribute 'MISSING'") == 1
    assert "line 8, in <module>" in output
    assert "line 5, in build" in output
    assert "server.py" not in output


def test_an_exception_in_a_callback_fails_the_run_too(project: Project) -> None:
    project.write("import pulumi\npulumi.export('x', pulumi.Output.from_input(0).apply(lambda n: 1 / n))\n")
    code, output = project.run("preview")
    assert code not in (0, None)
    assert "ZeroDivisionError" in output


SLOW = "import pathlib, time\npathlib.Path('running').touch()\ntime.sleep(120)\n"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_host_outlives_an_interrupted_or_killed_engine(project: Project, how: signal.Signals) -> None:
    project.write(SLOW)
    with project.start("up", "--yes", "--skip-preview") as process:
        try:
            poll((project.directory / "running").exists, Deadline.after(60), "start of the program")
            assert hosts(project)
            started = time.monotonic()
            process.send_signal(how)
            process.communicate(timeout=30)
            assert process.returncode != 0
            poll(lambda: no_host(project), Deadline.after(10), "end of the language host")
            assert time.monotonic() - started < 30
        finally:
            process.kill()


def test_the_cli_and_the_stand_in_lie_side_by_side() -> None:
    directory = language_host(QuietReporter())
    if directory is None:
        assert python_host.official(obtain("pulumi", QuietReporter()))
    else:
        assert sorted(path.name for path in directory.iterdir()) == ["pulumi", "pulumi-language-python"]
        assert language_host(QuietReporter()) == directory


KUBERNETES = """
from pulumi import ResourceOptions
from pulumi_kubernetes import Provider
from pulumi_kubernetes.core.v1 import ConfigMap

rendered = Provider("rendered", render_yaml_to_directory="rendered")
ConfigMap("one", metadata={"name": "one"}, data={"key": "value"}, opts=ResourceOptions(provider=rendered))
"""


def test_the_kubernetes_provider_is_found_at_the_version_of_the_sdk(project: Project, tmp_path: Path) -> None:
    env = {**project.env, **pulumi_environment(QuietReporter(), home=tmp_path / "home")}
    project = Project(project.directory, env)
    project.write(KUBERNETES)
    code, output = project.run("up", "--yes", "--skip-preview")
    assert code == 0, output
    assert "from $PATH" not in output
    rendered = next(path for path in (project.directory / "rendered").rglob("*.yaml") if "configmap" in path.name)
    assert "key: value" in rendered.read_text()
    code, output = project.run("plugin", "ls", "--json")
    assert code == 0, output
    assert f'"version": "{importlib.metadata.version("pulumi-kubernetes")}"' in output

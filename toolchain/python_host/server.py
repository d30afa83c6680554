"""A ``pulumi-language-python`` for machines without the official one.

The Pulumi CLI starts a program of that name, reads a port from its first line of output and talks the
``LanguageRuntime`` protocol to it (``pulumi/language.proto``; calls used by CLI v3.276.0: Handshake,
GetRequiredPackages, Run, Cancel, About, GetProgramDependencies, InstallDependencies, GetPluginInfo). The Python SDK
has all of that for its Automation API; here its own server is pointed at ``__main__.py`` of the project, which runs
in the interpreter that this server runs in.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import runpy
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import grpc  # type: ignore[import-untyped]
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.automation._server import LanguageServer
from pulumi.errors import RunError
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from base.errors import ChandleryError

#: How long an engine that closed its connection may take to accept the next one before it counts as gone (seconds).
ENGINE_GRACE = 2.0


class PythonHost(LanguageServer):
    """Serves one project: ``Run`` executes its program in this process."""

    def __init__(self, stop: Callable[[], None]) -> None:
        super().__init__(program=_no_program)
        self._stop = stop

    def Handshake(self, request: Any, context: Any) -> Any:  # noqa: N802 (the protocol's name)
        del request, context
        return language_pb2.LanguageHandshakeResponse()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        del request, context
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi"))

    def GetRequiredPackages(self, request: Any, context: Any) -> Any:  # noqa: N802
        """The providers that installed Pulumi packages name in their ``pulumi-plugin.json``."""
        del request, context
        return language_pb2.GetRequiredPackagesResponse(
            packages=[
                plugin_pb2.PackageDependency(name=p["name"], kind="resource", version=p["version"], server=p.get("server", ""))
                for p in provider_packages(importlib.metadata.distributions())
            ]
        )

    def GetProgramDependencies(self, request: Any, context: Any) -> Any:  # noqa: N802
        del context
        found = dependencies(importlib.metadata.distributions(), transitive=request.transitiveDependencies)
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[language_pb2.DependencyInfo(name=name, version=version) for name, version in found]
        )

    def InstallDependencies(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        """Nothing is installed from here: the environment is made from the locked requirements by ``make``."""
        del request, context
        text = f"The program runs with {sys.executable}; its packages come from requirements/runtime.txt (make quickstart).\n"
        yield language_pb2.InstallDependenciesResponse(stdout=text.encode())

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        del request, context
        threading.Timer(0.1, self._stop).start()  # after the answer is out
        return empty_pb2.Empty()

    def Run(self, request: Any, context: Any) -> Any:  # noqa: N802
        program = entry_file(request)
        os.chdir(request.pwd or program.parent)
        sys.argv = [str(program)]
        if str(program.parent) not in sys.path:
            # Stays there: callbacks may import modules of the project long after the program's last line.
            sys.path.insert(0, str(program.parent))
        self.program = lambda: execute(program)
        result = super().Run(request, context)  # type: ignore[no-untyped-call]
        if result.error:  # was logged as a diagnostic already; said again it would only hide the traceback
            return language_pb2.RunResponse(bail=True)
        return result


def _no_program() -> None:
    raise RunError("no program was named")


def entry_file(request: Any) -> Path:
    """The Python file to run: the entry point itself, or ``__main__.py`` in it (Pulumi's default entry is ``.``)."""
    directory = request.info.program_directory or request.pwd
    path = Path(directory, request.info.entry_point or ".").resolve()
    return path / "__main__.py" if path.is_dir() else path


def execute(program: Path) -> None:
    """Run the file as ``__main__``; RunError with the reason, as a user wants to read it, when it fails."""
    try:
        runpy.run_path(str(program), run_name="__main__")
    except (RunError, grpc.RpcError):
        raise
    except ChandleryError as error:
        raise RunError(str(error)) from error
    except SystemExit as end:
        if end.code not in (None, 0):
            raise RunError(f"the program ended itself: {end.code}") from end
    except BaseException as error:
        raise RunError(program_traceback(error, program)) from error


def program_traceback(error: BaseException, program: Path) -> str:
    """The traceback from the program's own first line on, without the frames of this server."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != str(program):
        trace = trace.tb_next
    lines = traceback.format_exception(type(error), error, trace or error.__traceback__)
    return f"the program {program.name} failed:\n{''.join(lines)}"


def provider_packages(distributions: Iterable[importlib.metadata.Distribution]) -> list[dict[str, Any]]:
    """``{name, version}`` of each provider that an installed package stands for, by name."""
    found: dict[str, dict[str, Any]] = {}
    for distribution in distributions:
        for file in distribution.files or ():
            if file.name == "pulumi-plugin.json":
                with contextlib.suppress(OSError, ValueError):
                    plugin = json.loads(Path(str(distribution.locate_file(file))).read_text())
                    if plugin.get("resource"):
                        found[plugin["name"]] = {"version": distribution.version, **plugin}
    return [found[name] for name in sorted(found)]


def dependencies(distributions: Iterable[importlib.metadata.Distribution], *, transitive: bool) -> list[tuple[str, str]]:
    """Installed packages as (name, version); without ``transitive`` only those that no other one requires."""
    installed: dict[str, str] = {}
    required: set[str] = set()
    for distribution in distributions:
        installed[distribution.name] = distribution.version
        for requirement in distribution.requires or ():
            name = re.match(r"[A-Za-z0-9._-]+", requirement)
            if name and "extra ==" not in requirement:
                required.add(_normal(name[0]))
    return sorted((n, v) for n, v in installed.items() if transitive or _normal(n) not in required)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def watch_engine(address: str, gone: Callable[[], None]) -> None:
    """Call ``gone`` once the engine at ``address`` (host:port) no longer answers. Blocks.

    A connection is held open and read: its end is noticed at once. The engine closes one that stays silent, so the end
    of a connection only means something when the next one is not accepted.
    """
    host, _, port = address.rpartition(":")
    while True:
        try:
            with socket.create_connection((host, int(port)), timeout=ENGINE_GRACE) as connection:
                connection.settimeout(None)
                while connection.recv(4096):
                    pass
        except ConnectionResetError:
            continue
        except OSError:
            gone()
            return


def main(arguments: list[str] | None = None) -> NoReturn:
    """Serve until the engine (address: last argument) goes away, cancels, or ends this process."""
    given = sys.argv[1:] if arguments is None else arguments
    engine = given[-1] if given and not given[-1].startswith("-") else ""
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=_GRPC_CHANNEL_OPTIONS)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(PythonHost(stopping.set), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print(port, flush=True)
    if engine:
        threading.Thread(target=watch_engine, args=(engine, stopping.set), daemon=True).start()
    while not stopping.wait(1.0):  # a bounded wait lets Python's signal handlers run
        pass
    server.stop(grace=None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # the program's threads may sit in a call that nobody is going to answer any more

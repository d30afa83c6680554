"""Makes .venv from the hash-locked requirements: ``bin/setup runtime`` or ``bin/setup dev``. Standard library only.

A second run with unchanged locks costs a few milliseconds: a stamp in the environment names what it was made from.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = ROOT / "requirements"
UNAVAILABLE, REFUSED, INTERRUPTED = 6, 4, 130
#: A set that is there serves those named here too: the development set contains the runtime set.
COVERED_BY = {"runtime": ("dev", "runtime"), "dev": ("dev",)}


def main(kind: str) -> int:
    started = time.monotonic()
    if any(stamped(other) for other in COVERED_BY[kind]):
        return 0
    missing = missing_packages()
    if missing:
        print(f"Something is missing: run  apt-get install {' '.join(missing)}", file=sys.stderr)
        return UNAVAILABLE
    with alone():
        if any(stamped(other) for other in COVERED_BY[kind]):
            return 0
        version = ".".join(map(str, sys.version_info[:3]))
        print(f"Setting up .venv with Python {version} and requirements/{kind}.txt ...", file=sys.stderr, flush=True)
        make_environment()
        if not runs("-m", "uv", "--version"):
            install(
                "pip", "-m", "pip", "install", "--require-hashes", "--only-binary", ":all:", "-r", REQUIREMENTS / "bootstrap.txt"
            )
        locks = (REQUIREMENTS / "bootstrap.txt", REQUIREMENTS / f"{kind}.txt")
        install("uv", "-m", "uv", "pip", "sync", "--require-hashes", "--no-build", "--python", PYTHON, *locks)
        for old in VENV.glob(".made-from-*"):
            old.unlink()
        stamp(kind).touch()
    print(f"Setting up .venv took {time.monotonic() - started:.0f} s.", file=sys.stderr)
    return 0


def missing_packages() -> list[str]:
    """Debian packages without which the next steps fail; on other systems their names tell what is meant."""
    missing = []
    try:
        import ensurepip  # noqa: F401  (Debian ships it apart from Python)
        import venv  # noqa: F401
    except ImportError:
        missing.append("python3-venv")
    missing += [program for program in ("git", "make") if shutil.which(program) is None]
    roots = (
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/cert.pem",
        "/etc/ssl/ca-bundle.pem",
    )
    if sys.platform == "linux" and "SSL_CERT_FILE" not in os.environ and not any(map(os.path.exists, roots)):
        missing.append("ca-certificates")
    return missing


def stamp(kind: str) -> Path:
    """Names the environment's contents: the locks, the interpreter, and the place (its scripts contain that)."""
    parts = [(REQUIREMENTS / name).read_bytes() for name in ("bootstrap.txt", f"{kind}.txt")]
    parts += [os.path.realpath(sys.executable).encode(), sys.version.encode(), str(VENV).encode()]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(b"%d:" % len(part) + part)
    return VENV / f".made-from-{digest.hexdigest()[:20]}"


def stamped(kind: str) -> bool:
    return stamp(kind).exists() and PYTHON.exists()


def make_environment() -> None:
    """Create the environment, or keep one of the same interpreter that works and stands where it was made."""
    made_here = f"{VENV}" in _text(VENV / "pyvenv.cfg") or f"{VENV}/bin" in _text(VENV / "bin" / "activate")
    same = runs("-c", f"import sys; sys.exit(sys.version != {sys.version!r})")
    if made_here and same and (runs("-m", "uv", "--version") or runs("-m", "pip", "--version")):
        return
    result = subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        stop(UNAVAILABLE, f"python3 -m venv does not work: run  apt-get install python3-venv\n{result.stdout}{result.stderr}")


def runs(*arguments: str) -> bool:
    if not PYTHON.exists():
        return False
    with contextlib.suppress(OSError):
        return subprocess.run([PYTHON, *arguments], capture_output=True, check=False).returncode == 0
    return False


def install(what: str, *arguments: str | Path) -> None:
    """Run an installer of the environment; stop with the exit code that its failure means."""
    env = {"UV_SYSTEM_CERTS": "true", **os.environ}  # a company's own authority is known to the system, not to uv
    for pip, uv in (("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), ("PIP_CERT", "SSL_CERT_FILE")):
        if pip in env:  # what the user told pip holds for uv as well
            env.setdefault(uv, env[pip])
    result = subprocess.run(
        [PYTHON, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False
    )
    if result.returncode == 0:
        return
    if re.search(r"hash mismatch|do not match the hashes|mismatched hash", result.stdout, re.IGNORECASE):
        stop(REFUSED, f"a package does not match its locked hash:\n{result.stdout}")
    if re.search(r"no space left", result.stdout, re.IGNORECASE):
        stop(UNAVAILABLE, f"no space left on the disk: free some below {ROOT} and run the same command again")
    stop(
        UNAVAILABLE,
        f"{what} could not install the locked packages (is there a network, or a mirror set for pip?):\n{result.stdout}",
    )


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Two setups of one checkout at once: the second waits."""
    with (ROOT / "requirements" / "bootstrap.txt").open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another setup of this checkout is going on: waiting for it", file=sys.stderr, flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def stop(code: int, message: str) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in COVERED_BY:
        stop(2, "usage: bin/setup runtime|dev")
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        stop(INTERRUPTED, "\ninterrupted; run the same command again to go on")

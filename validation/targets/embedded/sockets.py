"""Who listens where, read from /proc: a port taken by a stranger has a name, and a program's own ports are known."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening TCP socket. ``address`` is dotted IPv4 (also for IPv4-mapped IPv6), else IPv6 text."""

    address: str
    port: int
    inode: int

    @property
    def loopback(self) -> bool:
        return self.address.startswith("127.") or self.address == "::1"


def parse(text: str) -> list[Listener]:
    """Listening sockets in the text of /proc/net/tcp or tcp6. Pure."""
    found = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN:
            host, _, port = fields[1].partition(":")
            found.append(Listener(_address(host), int(port, 16), int(fields[9])))
    return found


def _address(text: str) -> str:
    """The kernel prints addresses as 32-bit words in host (little-endian) order."""
    words = [bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8)]
    raw = b"".join(words)
    if len(raw) == 4:
        return str(IPv4Address(raw))
    six = IPv6Address(raw)
    return str(six.ipv4_mapped or six)


def listeners() -> list[Listener]:
    """All listening TCP sockets of this network namespace."""
    found = []
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError):
            found += parse(Path("/proc/net", name).read_text())
    return found


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """True when ``port`` could be listened on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            probe.listen(1)
        except OSError:
            return False
        return True


def holder(port: int) -> str:
    """Who listens on ``port``, as far as this user may see: ``process 123 (name)`` or ``another program``."""
    inodes = {entry.inode for entry in listeners() if entry.port == port}
    for pid, inode in _open_sockets(_pids()):
        if inode in inodes:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            return f"process {pid} ({name})"
    return "another program"


def listening(pids: Iterable[int]) -> list[Listener]:
    """Listening sockets held by the given processes."""
    inodes = {inode for _, inode in _open_sockets(pids)}
    return [entry for entry in listeners() if entry.inode in inodes]


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _open_sockets(pids: Iterable[int]) -> Iterator[tuple[int, int]]:
    for pid in pids:
        with contextlib.suppress(OSError):
            for handle in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    target = str(handle.readlink())
                    if target.startswith("socket:["):
                        yield pid, int(target[8:-1])

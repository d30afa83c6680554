"""Ports and loopback ranges of all embedded clusters of one user on this machine, so that no two ask for the same.

A claim is made once and kept: a cluster that is down still owns its ports. The register lies in the user cache under a
lock; claims of clusters whose directory is gone fall back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from base.errors import Unavailable
from base.files import lock, write_json
from validation.targets.embedded import sockets
from validation.targets.embedded.addressing import SLOTS, slot_of

#: Ports that a cluster listens on, all on 127.0.0.1. kube-controller-manager, kube-scheduler and kwok serve nothing.
PORT_NAMES = ("api", "etcd", "etcd-peer")
#: Below the kernel's default range for outgoing connections (32768-60999), which would take a port while a cluster is down.
_RANGE = range(21000, 25000)


@dataclass(frozen=True, slots=True)
class Claim:
    """``slot`` numbers the cluster's loopback ranges, ``ports`` maps :data:`PORT_NAMES` to port numbers."""

    slot: int
    ports: Mapping[str, int]


def choose_slot(taken: Collection[int]) -> int:
    """The lowest free slot. Pure."""
    for slot in range(SLOTS):
        if slot not in taken:
            return slot
    raise Unavailable(f"all {SLOTS} loopback ranges are taken by clusters", todo="delete a cluster that is no longer needed")


def choose_ports(
    held: Mapping[str, int],
    claimed: Collection[int],
    free: Callable[[int], bool],
    *,
    start: int = 0,
    names: Iterable[str] = PORT_NAMES,
) -> dict[str, int]:
    """Keep what is held, fill the rest with ports that nobody claims and that are free. Pure but for ``free``.

    The search begins ``start`` ports into the range, so that users who cannot see each other's registers seldom meet.
    """
    ports = {name: held[name] for name in names if name in held}
    used = {*claimed, *ports.values()}
    for name in names:
        if name in ports:
            continue
        for step in range(len(_RANGE)):
            port = _RANGE[(start + step) % len(_RANGE)]
            if port not in used and free(port):
                ports[name] = port
                used.add(port)
                break
        else:
            raise Unavailable(f"no free port between {_RANGE.start} and {_RANGE.stop - 1}", where="127.0.0.1")
    return ports


def _start(directory: Path) -> int:
    return int.from_bytes(hashlib.sha256(str(directory).encode()).digest()[:4], "big")


class Register:
    """The register in ``cache``. Each call is one locked read-decide-write."""

    def __init__(self, cache: Path) -> None:
        self._file = cache / "targets" / "claims.json"
        self._lock = cache / "targets" / "lock"

    def claim(self, directory: Path, *, held: Claim | None = None, api_port: int = 0, lost: Collection[str] = ()) -> Claim:
        """The claim of the cluster in ``directory``; made, or kept as it is, or with new ports in place of ``lost`` ones.

        ``held`` is what the cluster itself remembers; it counts where the register was lost, unless another cluster
        has it by now.
        """
        with lock(self._lock, "choosing ports", wait=20):
            others = self._others(directory)
            taken_ports = {port for claim in others.values() for port in claim.ports.values()}
            taken_slots = {claim.slot for claim in others.values()}
            mine = self._read().get(str(directory)) or held
            if mine is not None and mine.slot not in taken_slots:
                slot = mine.slot
            else:
                foreign = {slot_of(entry.address) for entry in sockets.listeners() if entry.address.startswith("127.")}
                slot = choose_slot({*taken_slots, *(s for s in foreign if s is not None)})
            kept = {n: p for n, p in (mine.ports if mine else {}).items() if n not in lost and p not in taken_ports}
            if api_port in taken_ports:
                raise Unavailable(
                    f"port {api_port} belongs to another cluster", where=str(self._file), todo="leave the port to be chosen"
                )
            if api_port:
                kept["api"] = api_port
            claim = Claim(slot, choose_ports(kept, taken_ports, sockets.is_free, start=_start(directory)))
            entries = {name: {"slot": c.slot, "ports": dict(c.ports)} for name, c in others.items()}
            entries[str(directory)] = {"slot": claim.slot, "ports": dict(claim.ports)}
            write_json(self._file, entries)
            return claim

    def release(self, directory: Path) -> None:
        """Give the claim of a deleted cluster back."""
        with lock(self._lock, "choosing ports", wait=20):
            others = self._others(directory)
            write_json(self._file, {name: {"slot": c.slot, "ports": dict(c.ports)} for name, c in others.items()})

    def _others(self, directory: Path) -> dict[str, Claim]:
        return {name: c for name, c in self._read().items() if name != str(directory) and Path(name).is_dir()}

    def _read(self) -> dict[str, Claim]:
        try:
            raw = json.loads(self._file.read_text())
            return {name: Claim(int(entry["slot"]), dict(entry["ports"])) for name, entry in raw.items()}
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
            return {}

"""Addresses of one cluster, worked out from its slot number. Pure.

A slot is a cluster's share of the loopback network, so that several stand side by side:

* Services get cluster IPs of ``127.(96 + slot).0.0/16``: real programs can listen on them.
* Pods on node ``host`` listen on ``127.(128 + slot).x.y``. The API server refuses loopback addresses in EndpointSlices
  (ValidateEndpointIP, "may not be in the loopback range"), so that a pod *reports* ``198.18.x.y`` instead, of the range
  kept for benchmarks by RFC 2544. Nothing dials that address: the host agent stands in the way of all who would.
* Pods on KWOK nodes report an address of ``198.19.0.0/16``; no program is behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address

SLOTS = 32
_SERVICES, _PODS = 96, 128

#: What KWOK gives its pods; one range for all clusters, as nothing ever listens there.
SIMULATED_POD_RANGE = "198.19.0.0/16"
_REPORTED = "198.18"
#: The node ``host`` itself.
HOST_ADDRESS = f"{_REPORTED}.0.1"
#: Pods on node ``host`` are numbered from here; below are the host and its spare addresses.
FIRST_POD, LAST_POD = 16, 65000


@dataclass(frozen=True, slots=True)
class PodAddress:
    """``listen`` is where the pod's programs really are, ``reported`` what stands in the pod's status."""

    number: int
    listen: str
    reported: str


@dataclass(frozen=True, slots=True)
class Addressing:
    slot: int

    @property
    def service_range(self) -> str:
        return f"127.{_SERVICES + self.slot}.0.0/16"

    @property
    def api_service(self) -> str:
        """Cluster IP of the Service ``kubernetes``: the first of the range, as the API server takes it."""
        return f"127.{_SERVICES + self.slot}.0.1"

    def pod(self, number: int) -> PodAddress:
        tail = f"{number >> 8}.{number & 255}"
        return PodAddress(number, f"127.{_PODS + self.slot}.{tail}", f"{_REPORTED}.{tail}")

    def listen_address(self, reported: str) -> str | None:
        """Where a reported pod address really listens; None for addresses that no pod of ``host`` can have."""
        if not reported.startswith(f"{_REPORTED}."):
            return None
        number = int(IPv4Address(reported)) & 0xFFFF
        return self.pod(number).listen if FIRST_POD <= number <= LAST_POD else None


def slot_of(address: str) -> int | None:
    """The slot that a loopback address belongs to, or None."""
    first, second = (int(part) for part in address.split(".")[:2])
    if first != 127:
        return None
    for base in (_SERVICES, _PODS):
        if base <= second < base + SLOTS:
            return second - base
    return None

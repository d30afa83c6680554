"""Slots never overlap, and a pod's two addresses belong together."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from hypothesis import given
from hypothesis import strategies as st

from validation.targets.embedded.addressing import FIRST_POD, LAST_POD, SLOTS, Addressing, slot_of

slots = st.integers(0, SLOTS - 1)
numbers = st.integers(FIRST_POD, LAST_POD)


@given(slots, slots)
def test_service_ranges_of_two_slots_are_apart(one: int, other: int) -> None:
    ranges = [ip_network(Addressing(slot).service_range) for slot in (one, other)]
    assert ranges[0].overlaps(ranges[1]) == (one == other)
    assert all(r.is_loopback for r in ranges)


@given(slots, numbers)
def test_a_pod_listens_on_loopback_and_reports_what_an_endpoint_slice_takes(slot: int, number: int) -> None:
    pod = Addressing(slot).pod(number)
    assert ip_address(pod.listen).is_loopback
    assert not ip_address(pod.reported).is_loopback
    assert Addressing(slot).listen_address(pod.reported) == pod.listen
    assert slot_of(pod.listen) == slot
    assert not any(ip_address(pod.listen) in ip_network(Addressing(s).service_range) for s in range(SLOTS))


@given(slots, numbers, numbers)
def test_two_pods_share_no_address(slot: int, one: int, other: int) -> None:
    first, second = Addressing(slot).pod(one), Addressing(slot).pod(other)
    assert (first.listen == second.listen) == (first.reported == second.reported) == (one == other)


def test_other_addresses_lead_nowhere() -> None:
    here = Addressing(0)
    for address in ("198.19.0.16", "10.0.0.1", "198.18.0.1", "127.128.0.16", "198.18.255.255"):
        assert here.listen_address(address) is None
    assert slot_of("127.0.0.1") is None
    assert slot_of("192.0.2.1") is None
    assert slot_of(Addressing(3).api_service) == 3

"""No two clusters of a user ask for the same port or range, and a claim outlives the cluster's processes."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import Unavailable
from validation.targets.embedded.addressing import SLOTS, Addressing
from validation.targets.embedded.claims import PORT_NAMES, Claim, Register, choose_ports, choose_slot

ports = st.integers(21000, 24999)


@given(st.sets(st.integers(0, SLOTS - 1), max_size=SLOTS - 1))
def test_the_lowest_free_slot_is_taken(taken: set[int]) -> None:
    slot = choose_slot(taken)
    assert slot not in taken
    assert all(lower in taken for lower in range(slot))


def test_when_all_slots_are_taken_it_says_so() -> None:
    with pytest.raises(Unavailable, match="all 32 loopback ranges"):
        choose_slot(range(SLOTS))


@given(
    held=st.dictionaries(st.sampled_from(PORT_NAMES), ports, max_size=3),
    claimed=st.sets(ports, max_size=50),
    busy=st.sets(ports, max_size=50),
    start=st.integers(0, 2**32),
)
def test_held_ports_stay_and_new_ones_are_free_and_nobody_elses(
    held: dict[str, int], claimed: set[int], busy: set[int], start: int
) -> None:
    found = choose_ports(held, claimed, lambda port: port not in busy, start=start)
    assert set(found) == set(PORT_NAMES)
    assert {name: found[name] for name in held} == held
    fresh = [found[name] for name in PORT_NAMES if name not in held]
    assert not set(fresh) & (claimed | busy | set(held.values()))
    assert len(set(fresh)) == len(fresh)


def test_when_no_port_is_free_it_says_so() -> None:
    with pytest.raises(Unavailable, match="no free port"):
        choose_ports({}, (), lambda _: False)


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    found = [tmp_path / "clusters" / name for name in ("a", "b", "c")]
    for directory in found:
        directory.mkdir(parents=True)
    return found


def test_three_clusters_get_three_claims_and_keep_them(directories: list[Path], tmp_path: Path) -> None:
    register = Register(tmp_path / "cache")
    claims = [register.claim(directory) for directory in directories]
    assert len({claim.slot for claim in claims}) == 3
    assert len({port for claim in claims for port in claim.ports.values()}) == 9
    assert [register.claim(directory) for directory in directories] == claims


def test_what_a_deleted_cluster_had_is_free_again(directories: list[Path], tmp_path: Path) -> None:
    register = Register(tmp_path / "cache")
    first = register.claim(directories[0])
    directories[0].rmdir()
    assert register.claim(directories[1]).slot == first.slot
    register.release(directories[1])
    assert json.loads((tmp_path / "cache/targets/claims.json").read_text()) == {}


def test_a_lost_port_is_replaced_and_the_others_stay(directories: list[Path], tmp_path: Path) -> None:
    register = Register(tmp_path / "cache")
    before = register.claim(directories[0])
    with socket.create_server(("127.0.0.1", before.ports["api"])):
        after = register.claim(directories[0], lost={"api"})
    assert after.slot == before.slot
    assert {name for name in PORT_NAMES if after.ports[name] != before.ports[name]} == {"api"}


def test_a_cluster_remembers_its_claim_when_the_register_is_lost(directories: list[Path], tmp_path: Path) -> None:
    held = Claim(5, {"api": 24001, "etcd": 24002, "etcd-peer": 24003})
    assert Register(tmp_path / "cache").claim(directories[0], held=held) == held


def test_a_broken_register_is_no_obstacle(directories: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "cache/targets/claims.json"
    file.parent.mkdir(parents=True)
    for content in ("", "{", "[]", '{"x": 1}', "null"):
        file.write_text(content)
        assert Register(tmp_path / "cache").claim(directories[0]).ports


def test_a_range_in_which_a_stranger_listens_is_left_alone(directories: list[Path], tmp_path: Path) -> None:
    register = Register(tmp_path / "cache")
    free = register.claim(directories[0]).slot
    register.release(directories[0])
    with socket.create_server((Addressing(free).api_service, 0)):
        assert register.claim(directories[1]).slot != free


def test_a_wanted_port_of_another_cluster_is_refused(directories: list[Path], tmp_path: Path) -> None:
    register = Register(tmp_path / "cache")
    theirs = register.claim(directories[0]).ports["etcd"]
    with pytest.raises(Unavailable, match=f"port {theirs} belongs to another cluster"):
        register.claim(directories[1], api_port=theirs)

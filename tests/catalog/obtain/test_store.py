"""The cache keeps bytes by digest, checks them when they are read, and may be used by many at once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from base.errors import Unavailable
from catalog.obtain.archive import sha256
from catalog.obtain.store import Store


@given(st.binary(max_size=100))
@settings(max_examples=30)
def test_what_is_put_is_got_by_its_digest(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    store = Store(tmp_path_factory.mktemp("store"))
    digest = store.put(data)
    assert digest == sha256(data)
    assert store.get(digest) == data


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
    store = Store(tmp_path / "not made yet")
    assert store.get(sha256(b"x")) is None
    assert store.named("x") is None


@pytest.mark.parametrize("damage", [b"", b"other bytes", b"dat"])
def test_a_damaged_blob_counts_as_absent_and_can_be_put_again(tmp_path: Path, damage: bytes) -> None:
    store = Store(tmp_path)
    digest = store.put(b"data")
    next(tmp_path.glob("blobs/sha256/*")).write_bytes(damage)
    assert store.get(digest) is None
    assert store.put(b"data") == digest
    assert store.get(digest) == b"data"


def test_a_name_stands_for_its_value_and_for_no_other_key(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.name("key", {"blob": "x"})
    assert store.named("key") == {"key": "key", "blob": "x"}
    assert store.named("other") is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "another"}'])
def test_a_damaged_name_counts_as_absent(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    store.name("key", {})
    store.path("key").write_text(text)
    assert store.named("key") is None


def test_many_may_put_the_same_at_once(tmp_path: Path) -> None:
    data = b"x" * 500_000
    seen: list[bytes | None] = []
    gate = threading.Barrier(8)

    def work() -> None:
        gate.wait()
        seen.append(Store(tmp_path).get(Store(tmp_path).put(data)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [data] * 8
    assert [path.name for path in (tmp_path / "blobs/sha256").iterdir()] == [sha256(data).removeprefix("sha256:")]


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, f"No space left on device for {handle}")

    monkeypatch.setattr("base.files.os.fsync", full)
    with pytest.raises(Unavailable, match="no space left"):
        Store(tmp_path).put(b"data")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []

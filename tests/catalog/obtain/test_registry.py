"""Charts out of an OCI registry: anonymous login, digests checked all the way, and every refusal told apart."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from base.errors import ChandleryError, DeadlineExceeded, NotFound, Refused, Unavailable
from catalog.obtain.archive import sha256
from catalog.obtain.registry import Registry, is_loopback
from tests.catalog.obtain.registry_server import FakeRegistry, serving
from tests.catalog.synthetic import packaged

ARCHIVE = packaged()
OTHER = "sha256:" + "b" * 64


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    with serving(FakeRegistry(ARCHIVE)) as registry:
        yield registry


def test_a_chart_is_pulled_by_tag_with_an_anonymous_token(fake: FakeRegistry) -> None:
    pulled = Registry().pull(fake.repository, "v1.0.0")
    assert pulled.archive == ARCHIVE
    assert (pulled.manifest_digest, pulled.archive_digest) == (sha256(fake.manifest), sha256(ARCHIVE))
    assert any(path.startswith("/token?service=demo&scope=repository") for path in fake.requests)


def test_a_registry_without_login_is_read_as_well(fake: FakeRegistry) -> None:
    fake.wants_token = False
    assert Registry().pull(fake.repository, "v1.0.0").archive == ARCHIVE


def test_a_pinned_chart_is_asked_for_by_digest(fake: FakeRegistry) -> None:
    Registry().pull(fake.repository, "moved-tag", digest=sha256(fake.manifest), archive_digest=sha256(ARCHIVE))
    assert f"/v2/charts/demo/manifests/{sha256(fake.manifest)}" in fake.requests


def test_bytes_that_are_not_the_pinned_ones_are_refused_with_both_digests(fake: FakeRegistry) -> None:
    with pytest.raises(Refused) as caught:
        Registry().pull(fake.repository, "v1.0.0", archive_digest=OTHER)
    assert OTHER in caught.value.message
    assert sha256(ARCHIVE) in caught.value.message


def test_a_blob_that_is_not_what_the_manifest_says_is_refused(fake: FakeRegistry) -> None:
    fake.serves = bytes(reversed(fake.archive))
    with pytest.raises(Refused, match="digest"):
        Registry(patience=1).pull(fake.repository, "v1.0.0")


def test_a_truncated_blob_is_refused(fake: FakeRegistry) -> None:
    fake.truncate = 10
    with pytest.raises(Unavailable, match="ends after"):
        Registry(patience=1).pull(fake.repository, "v1.0.0")


@pytest.mark.parametrize("layers", [[], [{"mediaType": "text/plain", "digest": OTHER}], [{"digest": OTHER}]])
def test_an_image_is_no_chart(fake: FakeRegistry, layers: list[dict[str, str]]) -> None:
    fake.layers = layers
    with pytest.raises(Refused, match="is no chart"):
        Registry().pull(fake.repository, "v1.0.0")


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        (403, Unavailable, "refuses access"),
        (404, NotFound, "does not have it"),
        (429, Unavailable, "asked too often"),
        (500, Unavailable, "status 500"),
        (504, DeadlineExceeded, "backend does not answer"),
    ],
)
def test_every_refusal_is_told_apart(fake: FakeRegistry, status: int, error: type[ChandleryError], message: str) -> None:
    fake.status = status
    with pytest.raises(error, match=message):
        Registry().probe(fake.repository, "v1.0.0")


def test_a_tag_that_is_not_there_is_not_found(fake: FakeRegistry) -> None:
    with pytest.raises(NotFound):
        Registry().probe(fake.repository, "v9.9.9")


def test_a_port_where_nobody_listens_is_given_up_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        started = time.monotonic()
        with pytest.raises(Unavailable, match="cannot be reached"):
            Registry().probe(f"127.0.0.1:{taken.getsockname()[1]}/charts/demo", "v1.0.0")
    assert time.monotonic() - started < 5


def test_a_registry_that_accepts_and_says_nothing_is_given_up() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(Unavailable, match="does not answer in time"):
            Registry(read=0.2).probe(f"127.0.0.1:{silent.getsockname()[1]}/charts/demo", "v1.0.0")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1:5000", True), ("127.9.9.9", True), ("localhost:1", True), ("[::1]:5000", True),
        ("ghcr.io", False), ("10.0.0.1:5000", False), ("localhost.evil.invalid", False), ("0.0.0.0:1", False),
    ],
)  # fmt: skip
def test_plain_http_is_for_this_machine_only(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback

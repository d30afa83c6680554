"""Certificates: made once, renewed in time, each good for one thing only."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID

from validation.targets.embedded import pki, serving_certificate
from validation.targets.embedded.layout import Layout

ADDRESSES = ["127.0.0.1", "127.96.0.1"]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    found = Layout(tmp_path, "lab")
    pki.prepare(found, ADDRESSES)
    return found


def _certificate(layout: Layout, name: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate((layout.pki / f"{name}.crt").read_bytes())


def _content(layout: Layout) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in layout.pki.rglob("*") if path.is_file()}


def test_a_second_time_changes_nothing(layout: Layout) -> None:
    before = _content(layout)
    pki.prepare(layout, ADDRESSES)
    assert _content(layout) == before


def test_keys_are_readable_by_their_owner_alone(layout: Layout) -> None:
    serving_certificate(layout, "hook", "ns")
    keys = list(layout.pki.rglob("*.key"))
    assert len(keys) > 10
    assert [k for k in keys if k.stat().st_mode & 0o077] == []
    assert layout.pki.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", pki.CLIENTS)
def test_clients_are_signed_by_the_cluster_and_are_clients_only(layout: Layout, name: str) -> None:
    found = _certificate(layout, name)
    found.verify_directly_issued_by(_certificate(layout, "ca"))
    for other in ("etcd-ca", "webhook-ca"):
        with pytest.raises((ValueError, InvalidSignature)):
            found.verify_directly_issued_by(_certificate(layout, other))
    uses = found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(uses) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_only_the_bootstrap_client_is_of_the_masters(layout: Layout) -> None:
    masters = [name for name, (_, groups) in pki.CLIENTS.items() if "system:masters" in groups]
    assert masters == ["bootstrap"]
    names = [a.value for a in _certificate(layout, "admin").subject]
    assert names == ["chandlery:admins", "chandlery:admin"]


def test_another_address_means_another_certificate(layout: Layout) -> None:
    before = _content(layout)
    pki.prepare(layout, ["127.0.0.1", "127.97.0.1"])
    changed = {path.name for path, raw in _content(layout).items() if before[path] != raw}
    assert changed == {"kube-apiserver.crt", "kube-apiserver.key"}


def test_what_runs_out_within_a_month_is_renewed(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pki, "_YEAR", dt.timedelta(days=29))
    (layout.pki / "admin.crt").unlink()
    pki.prepare(layout, ADDRESSES)
    short = (layout.pki / "admin.crt").read_bytes()
    monkeypatch.undo()
    pki.prepare(layout, ADDRESSES)
    assert (layout.pki / "admin.crt").read_bytes() != short
    assert _certificate(layout, "admin").not_valid_after_utc > dt.datetime.now(dt.UTC) + dt.timedelta(days=300)


def test_a_key_that_does_not_fit_its_certificate_is_replaced(layout: Layout) -> None:
    (layout.pki / "kwok.key").write_bytes((layout.pki / "admin.key").read_bytes())
    pki.prepare(layout, ADDRESSES)
    assert pki._load(pki.pair(layout.pki, "kwok")) is not None
    assert (layout.pki / "kwok.key").read_bytes() != (layout.pki / "admin.key").read_bytes()


def test_token_keys_are_never_made_anew(layout: Layout) -> None:
    before = (layout.pki / "sa.pub").read_bytes()
    (layout.pki / "sa.pub").unlink()
    pki.prepare(layout, ADDRESSES)
    assert (layout.pki / "sa.pub").read_bytes() == before


def test_a_webhooks_certificate_names_its_service_and_is_kept(layout: Layout) -> None:
    ca, certificate, key = serving_certificate(layout, "hook", "ns")
    assert serving_certificate(layout, "hook", "ns") == (ca, certificate, key)
    found = x509.load_pem_x509_certificate(certificate)
    found.verify_directly_issued_by(x509.load_pem_x509_certificate(ca))
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)
    assert "hook.ns.svc" in names
    assert list(found.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    assert (layout.pki / "webhooks" / "hook.ns.key").stat().st_mode & 0o077 == 0

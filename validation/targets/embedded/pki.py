"""Keys and certificates of one cluster: three authorities that do not vouch for each other.

``ca`` signs the API server and its clients, ``etcd-ca`` what talks to etcd (a client of the API server must not be one of
etcd), ``webhook-ca`` what add-ons serve their webhooks with. ServiceAccount tokens are signed with a key of their own.
Everything is made once and kept; leaf certificates are renewed when less than 30 days are left. Keys are 0600.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from base.files import lock, room_errors, write_atomic
from validation.targets.embedded.layout import Layout

_YEAR = dt.timedelta(days=365)
_RENEW = dt.timedelta(days=30)
#: Clocks of two programs on one machine agree, but a machine's clock may be set back a little at start.
_BACKDATE = dt.timedelta(minutes=10)

ADMIN_GROUP = "chandlery:admins"
#: User and groups of every client of the API server. ``bootstrap`` is all-powerful and never handed out.
CLIENTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "bootstrap": ("chandlery:bootstrap", ("system:masters",)),
    "admin": ("chandlery:admin", (ADMIN_GROUP,)),
    "kube-controller-manager": ("system:kube-controller-manager", ()),
    "kube-scheduler": ("system:kube-scheduler", ()),
    "kwok": ("chandlery:kwok", ()),
    "host-agent": ("system:node:host", ("system:nodes",)),
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files and as PEM."""

    certificate: Path
    key: Path

    @property
    def certificate_pem(self) -> bytes:
        return self.certificate.read_bytes()

    @property
    def key_pem(self) -> bytes:
        return self.key.read_bytes()


def pair(directory: Path, name: str) -> Pair:
    return Pair(directory / f"{name}.crt", directory / f"{name}.key")


def prepare(layout: Layout, api_addresses: Sequence[str]) -> None:
    """Make what is missing or runs out; leave the rest untouched."""
    with room_errors(layout.pki):
        layout.pki.mkdir(parents=True, exist_ok=True, mode=0o700)
        layout.pki.chmod(0o700)
    ca, etcd_ca = authority(layout, "ca"), authority(layout, "etcd-ca")
    authority(layout, "webhook-ca")
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"]
    _leaf(ca, pair(layout.pki, "kube-apiserver"), "kube-apiserver", sans=[*names, *api_addresses])
    for name, (user, groups) in CLIENTS.items():
        _leaf(ca, pair(layout.pki, name), user, groups=groups, client=True)
    _leaf(etcd_ca, pair(layout.pki, "etcd"), "etcd", sans=["localhost", "127.0.0.1"], client=True)
    _leaf(etcd_ca, pair(layout.pki, "etcd-client"), "kube-apiserver", client=True)
    _token_key(layout)


def authority(layout: Layout, name: str) -> Pair:
    """The authority ``ca``, ``etcd-ca`` or ``webhook-ca``."""
    files = pair(layout.pki, name)
    if _load(files) is None:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(f"chandlery {layout.name} {name}", ())
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        builder = (
            _builder(subject, subject, key, 10 * _YEAR)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(identifier, critical=False)
        )
        _write(files, key, builder.sign(key, hashes.SHA256()))
    return files


def issue_serving_cert(layout: Layout, name: str, dns_names: Sequence[str]) -> Pair:
    """A serving certificate of ``webhook-ca`` for ``dns_names``, kept as ``pki/webhooks/NAME.{crt,key}`` and made once."""
    directory = layout.pki / "webhooks"
    with lock(layout.pki / "lock", "issuing a certificate", wait=20):
        files = pair(directory, name)
        with room_errors(directory):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _leaf(authority(layout, "webhook-ca"), files, dns_names[0], sans=dns_names)
    return files


def service_names(service: str, namespace: str) -> tuple[str, ...]:
    """Names under which a Service is called; the API server asks a webhook for ``SERVICE.NAMESPACE.svc``."""
    return (f"{service}.{namespace}.svc", f"{service}.{namespace}.svc.cluster.local", f"{service}.{namespace}", service)


def _leaf(
    ca: Pair, files: Pair, user: str, *, groups: Sequence[str] = (), sans: Sequence[str] = (), client: bool = False
) -> None:
    issuer = x509.load_pem_x509_certificate(ca.certificate_pem)
    subject = _name(user, groups)
    alternative = x509.SubjectAlternativeName([_general_name(san) for san in sans]) if sans else None
    found = _load(files)
    if found is not None and _serves(found, issuer, subject, alternative):
        return
    key = ec.generate_private_key(ec.SECP256R1())
    uses = [*([ExtendedKeyUsageOID.SERVER_AUTH] if sans else []), *([ExtendedKeyUsageOID.CLIENT_AUTH] if client else [])]
    builder = (
        _builder(subject, issuer.subject, key, _YEAR)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.KeyUsage(True, False, False, False, False, False, False, False, False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(_authority_identifier(issuer), critical=False)
    )
    if alternative is not None:
        builder = builder.add_extension(alternative, critical=False)
    ca_key = serialization.load_pem_private_key(ca.key_pem, password=None)
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    _write(files, key, builder.sign(ca_key, hashes.SHA256()))


def _serves(
    found: x509.Certificate, issuer: x509.Certificate, subject: x509.Name, alternative: x509.SubjectAlternativeName | None
) -> bool:
    try:
        present = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        present = None
    same_issuer = found.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value == _authority_identifier(issuer)
    lasts = found.not_valid_after_utc - dt.datetime.now(dt.UTC) > _RENEW
    return same_issuer and lasts and found.subject == subject and present == alternative


def _authority_identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    identifier = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, validity: dt.timedelta
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATE)
        .not_valid_after(now + validity)
    )


def _name(user: str, groups: Sequence[str]) -> x509.Name:
    """Kubernetes reads the user from the common name and the groups from the organisations."""
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _general_name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(IPv4Address(ip_address(text)))
    except ValueError:
        return x509.DNSName(text)


def _load(files: Pair) -> x509.Certificate | None:
    """The certificate where it and its key are there and belong together."""
    try:
        certificate = x509.load_pem_x509_certificate(files.certificate_pem)
        key = serialization.load_pem_private_key(files.key_pem, password=None)
    except (FileNotFoundError, ValueError):
        return None
    return certificate if key.public_key() == certificate.public_key() else None


def _write(files: Pair, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
    write_atomic(files.key, _private_pem(key), mode=0o600)
    write_atomic(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))


def _private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)


def _token_key(layout: Layout) -> None:
    private, public = layout.pki / "sa.key", layout.pki / "sa.pub"
    if not private.exists():
        write_atomic(private, _private_pem(ec.generate_private_key(ec.SECP256R1())), mode=0o600)
    if not public.exists():
        key = serialization.load_pem_private_key(private.read_bytes(), password=None).public_key()
        write_atomic(public, key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo))

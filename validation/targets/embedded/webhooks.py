"""Certificates for webhooks that add-ons serve on this target (where no cert-manager program can issue them)."""

from __future__ import annotations

from validation.targets.embedded.layout import Layout
from validation.targets.embedded.pki import authority, issue_serving_cert, service_names


def serving_certificate(layout: Layout, service: str, namespace: str) -> tuple[bytes, bytes, bytes]:
    """CA, certificate and key (PEM) for the Service's names, made once and renewed when less than 30 days are left."""
    files = issue_serving_cert(layout, f"{service}.{namespace}", service_names(service, namespace))
    return authority(layout, "webhook-ca").certificate_pem, files.certificate_pem, files.key_pem

"""cert-manager: certificates for webhooks and for customers."""

from __future__ import annotations

from typing import ClassVar

from components.managed_addon import ManagedAddon


class CertManager(ManagedAddon):
    """CRDs, controller, cainjector and webhook. On the embedded target its programs are simulated, its webhook withheld."""

    TOKEN: ClassVar[str] = "chandlery:addons:CertManager"

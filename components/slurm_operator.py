"""Slinky's Slurm operator, and the chart that carries its CRDs."""

from __future__ import annotations

from typing import ClassVar

from components.managed_addon import ManagedAddon


class SlurmOperatorCrds(ManagedAddon):
    """CRDs of slinky.slurm.net. A chart of their own upstream, so that they outlive the operator."""

    TOKEN: ClassVar[str] = "chandlery:addons:SlurmOperatorCrds"


class SlurmOperator(ManagedAddon):
    """Manager and webhook. Where cert-manager runs it issues the webhook's certificate (annotation
    ``cert-manager.io/inject-ca-from``); on the embedded target :func:`components.admission.certify` has put it in."""

    TOKEN: ClassVar[str] = "chandlery:addons:SlurmOperator"

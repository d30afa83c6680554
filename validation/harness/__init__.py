"""What checks stand on: a laboratory in the cluster, waits, a timeline, clean-up, and proof that nothing else moved."""

from validation.harness.lab import Lab
from validation.harness.timeline import Seen

__all__ = ["Lab", "Seen"]

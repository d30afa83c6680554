"""Names and labels of everything that a check makes, so that it can be found again whatever happened to the check."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CHECK", "LAB", "MANAGER", "PREFIX", "RUN", "Names"]

#: The check's id; its presence marks an object as one of ours.
CHECK = "chandlery.dev/check"
#: The laboratory (one execution of one check); also the key of the taint on its nodes.
LAB = "chandlery.dev/lab"
#: The run of the suite.
RUN = "chandlery.dev/run"
PREFIX = "chandlery-check-"
MANAGER = "chandlery-check"

KWOK_TAINT = "kwok.x-k8s.io/node"
SCHEDULER_NAME = "kai-scheduler"
QUEUE_LABEL = "kai.scheduler/queue"


@dataclass(frozen=True, slots=True)
class Names:
    """``lab`` is the prefix of every name: ``chandlery-check-t10-x7k2p``."""

    check: str
    run: str
    lab: str

    @classmethod
    def of(cls, check: str, run: str, token: str) -> Names:
        word = re.sub(r"[^a-z0-9]+", "-", check.lower()).strip("-")
        return cls(check=check, run=run, lab=f"{PREFIX}{word}-{token}")

    def labels(self) -> dict[str, str]:
        value = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.check).strip("-")
        return {CHECK: value, LAB: self.lab, RUN: self.run, "app.kubernetes.io/managed-by": "chandlery"}

    def __call__(self, name: str) -> str:
        """The cluster-wide name of a thing called ``name`` inside the check."""
        return f"{self.lab}-{name}" if name else self.lab

"""The runner: one call runs the suite against a cluster and returns what it found."""

from validation.checks import Check, listing
from validation.checks import find as explain
from validation.harness.times import Times
from validation.run.parent import run
from validation.run.results import AddonRow, CheckResult, RunResult

__all__ = ["AddonRow", "Check", "CheckResult", "RunResult", "Times", "explain", "listing", "run"]

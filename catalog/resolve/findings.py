"""What stands against a version, or is worth knowing about it. One value for plans, refusals and `why-not`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Code", "Finding"]

#: About the spec: unknown, version, stray, channel. Between add-ons: requires, peer, excludes, scheduler. Against the cluster:
#: target, kubernetes, constraint, unchecked. Against the channel: unpinned. Against the version itself: withdrawn.
#: Only to know: not-checked, not-applicable, issue, unverified, pin, beside.
Code = Literal[
    "unknown", "version", "stray", "channel",
    "requires", "peer", "excludes", "scheduler",
    "target", "kubernetes", "constraint", "unchecked",
    "unpinned", "withdrawn",
    "not-checked", "not-applicable", "issue", "unverified", "pin", "beside",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason or note about ``addon`` at ``version``.

    ``text`` is half a sentence with the add-on as its subject, ``source`` who declared the rule, ``todo`` what would have to
    change. ``other`` is the second add-on of a relation. ``field`` and ``line`` are the place in the cluster spec, if any.
    """

    code: Code
    addon: str
    version: str
    text: str
    source: str = ""
    todo: str = ""
    other: str = ""
    field: str = ""
    line: int = 0

    @property
    def sentence(self) -> str:
        """The text with its source."""
        return f"{self.text} ({self.source})" if self.source else self.text

    def __str__(self) -> str:
        return f"{self.addon} {self.version}: {self.sentence}" if self.version else f"{self.addon}: {self.sentence}"

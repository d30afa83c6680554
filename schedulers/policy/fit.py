"""What a pod may say about nodes: selectors, required affinity, tolerations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Toleration:
    """``operator`` is Equal or Exists; an empty key with Exists tolerates every taint, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A node selector requirement: In, NotIn, Exists, DoesNotExist, Gt or Lt on a label (or on ``metadata.name``)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeTerm:
    """All requirements must hold. A term without any matches nothing, as in Kubernetes."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


@dataclass(frozen=True, slots=True)
class Constraints:
    """Which nodes a pod may run on. Equal constraints share all their fit results (a scheduling signature).

    ``affinity`` is required node affinity: one of its terms must match; None is no affinity.
    """

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


ANYWHERE = Constraints()

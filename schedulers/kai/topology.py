"""Topology (``kai.scheduler/v1alpha1``)."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from base.kube.kinds import TOPOLOGY, Kind
from schedulers.kai.model import QUALIFIED_NAME_PATTERN, Model, Resource

_LabelKey = Annotated[str, Field(min_length=1, max_length=316, pattern=QUALIFIED_NAME_PATTERN)]


class TopologyLevel(Model):
    """One level, from the outermost to the node."""

    node_label: _LabelKey
    alias: _LabelKey | None = None


_LEVEL_RULES = [
    {
        "rule": "self.map(l, l.nodeLabel) == oldSelf.map(l, l.nodeLabel)",
        "message": "the node labels of the levels cannot be changed; only aliases can",
    },
    {
        "rule": "self.all(i, self.exists_one(j, j.nodeLabel == i.nodeLabel))",
        "message": "every level needs a node label of its own",
    },
    {
        "rule": "self.all(i, i.nodeLabel != 'kubernetes.io/hostname')"
        " || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",
        "message": "kubernetes.io/hostname can only be the innermost level",
    },
]


class TopologySpec(Model):
    """The levels of a data centre as node labels, outermost first."""

    levels: Annotated[
        list[TopologyLevel],
        Field(
            min_length=1,
            max_length=16,
            json_schema_extra={"x-kubernetes-list-type": "atomic", "x-kubernetes-validations": _LEVEL_RULES},
        ),
    ]


class Topology(Resource):
    """A named topology that workloads refer to."""

    kind_info: ClassVar[Kind] = TOPOLOGY
    has_status: ClassVar[bool] = False
    spec: TopologySpec

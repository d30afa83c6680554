"""What the typed models of KAI's custom resources have in common.

Field names are KAI's own when dumped with ``by_alias`` (``parentQueue``), snake case in Python. A value left out stays
out of the dump: KAI tells "unset" from zero nowhere, so what must be said is said (see :mod:`schedulers.tenancy`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from base.kube.kinds import Kind

#: What Kubernetes accepts as a quantity (apimachinery, resource.Quantity).
_QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
#: A label key, with or without a prefix.
QUALIFIED_NAME_PATTERN = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
DNS_LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"

_INT_OR_STRING: dict[str, Any] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": _QUANTITY_PATTERN,
    "x-kubernetes-int-or-string": True,
}
Quantity = Annotated[int | str, Field(json_schema_extra={"x-chandlery-replace": _INT_OR_STRING})]
ResourceList = dict[str, Quantity]
Int32 = Annotated[int, Field(json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(json_schema_extra={"format": "int64"})]
Time = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
#: A Go duration, such as ``90s`` or ``1h30m``.
Duration = str
#: Structure that belongs to another API and is kept as it comes.
Opaque = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"x-chandlery-replace": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}),
]


#: Names in which KAI keeps an abbreviation in capitals.
_CAPITALS = {
    "received_gpu": "receivedGPU",
    "selected_gpu_groups": "selectedGPUGroups",
    "predicted_numa_zones": "predictedNUMAZones",
    "transition_id": "transitionID",
    "usage_db_config": "usageDBConfig",
}


def _alias(name: str) -> str:
    return _CAPITALS.get(name) or to_camel(name)


def _whole(value: Any) -> Any:
    """Whole floats as integers, all the way down, so that a manifest reads back from the API server as it was sent."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


class Model(BaseModel):
    """Frozen, camel case outside, unknown fields refused: a misspelt field is an error and not a silent loss."""

    model_config = ConfigDict(alias_generator=_alias, populate_by_name=True, frozen=True, extra="forbid")

    def dump(self) -> dict[str, Any]:
        """As it goes to the API server: KAI's field names, nothing that was not set, whole numbers without a fraction."""
        dumped = _whole(self.model_dump(by_alias=True, exclude_none=True))
        assert isinstance(dumped, dict)
        return dumped


class Resource(Model):
    """One custom resource: ``kind_info`` says where it lives, ``short_names`` and ``columns`` how kubectl shows it."""

    kind_info: ClassVar[Kind]
    short_names: ClassVar[tuple[str, ...]] = ()
    columns: ClassVar[tuple[tuple[str, str], ...]] = ()
    has_status: ClassVar[bool] = True

    @classmethod
    def manifest(
        cls,
        name: str,
        spec: Model,
        *,
        namespace: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The object as a dictionary, ready to apply."""
        meta: dict[str, Any] = {"name": name}
        if namespace:
            meta["namespace"] = namespace
        if labels:
            meta["labels"] = dict(labels)
        if annotations:
            meta["annotations"] = dict(annotations)
        return {"apiVersion": cls.kind_info.api_version, "kind": cls.kind_info.kind, "metadata": meta, "spec": spec.dump()}

"""Every rule there is, by id: how bad the change is, why, and which rule the way back meets.

The list is that of OLM v1's CRD upgrade safety (prohibited and allowed changes) and of crdify, with these differences. Pruning
is told apart from refusing, for it makes no noise. What cannot be decided from two schemas (a pattern or a CEL rule that
changed) is at risk and not blocking, because the stored objects can decide it. Text, columns and spelled-out defaults are
safe: refusing them as "unknown change" is what OLM's users met most. Only differences between the two CRDs are told, never
what was already odd in the first (OLM refused upgrades to byte-equal CRDs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.crds.changes import Level

__all__ = ["RULES", "Rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """``duals`` are the rules of which one holds for the same place on the way back; empty where nothing is said about it."""

    id: str
    level: Level
    why: str
    duals: tuple[str, ...] = ()


_SAFE: Mapping[str, tuple[str, str]] = {
    "crd-added": ("a new kind", "crd-removed"),
    "short-names-changed": ("only names for the command line", "short-names-changed"),
    "categories-changed": ("only names for the command line", "categories-changed"),
    "metadata-changed": ("labels and annotations of the CRD itself", "metadata-changed"),
    "conversion-trust-changed": ("the certificate is injected anew", "conversion-trust-changed"),
    "version-added": ("a new API version", "version-removed"),
    "version-served": ("one more API version is served", "version-unserved"),
    "deprecation-changed": ("only a warning to callers", "deprecation-changed"),
    "columns-changed": ("only what kubectl prints", "columns-changed"),
    "selectable-fields-added": ("more can be selected by", "selectable-fields-lost"),
    "subresource-added": ("one more address", "subresource-lost"),
    "unknown-fields-kept": ("nothing is dropped any more", "unknown-fields-pruned"),
    "property-added": ("stored objects do not have it", "property-removed status-property-removed"),
    "required-dropped": ("objects may now leave it out", "required-added required-added-with-default"),
    "required-added-with-default": ("the API server fills the default in", "required-dropped"),
    "enum-removed": ("more values are taken", "enum-added"),
    "enum-value-added": ("more values are taken", "enum-value-removed"),
    "limit-loosened": ("more values are taken", "limit-tightened"),
    "pattern-removed": ("more values are taken", "pattern-added"),
    "format-removed": ("more values are taken", "format-added"),
    "format-widened": ("more values are taken", "format-narrowed"),
    "nullable-added": ("null is taken too", "nullable-lost"),
    "cel-removed": ("one rule less to keep", "cel-added"),
    "cel-text-changed": ("only what a refusal says", "cel-text-changed"),
    "additional-opened": ("further keys are taken", "additional-closed"),
    "additional-freed": ("any value is taken", "additional-constrained"),
    "constraint-removed": ("one constraint less", "constraint-added"),
    "alternative-added": ("one more shape is taken", "alternative-removed"),
    "text-changed": ("only text for people", "text-changed"),
    "spelled-out": ("what holds without it is written out, or no longer", "spelled-out"),
}  # fmt: skip

_AT_RISK: Mapping[str, tuple[str, str]] = {
    "names-changed": ("clients that were generated for the old name do not find it", "names-changed"),
    "conversion-added": (
        "reading and writing any version but the stored one now needs the webhook, also while it is down",
        "conversion-lost",
    ),
    "conversion-webhook-changed": ("until the new webhook answers, other versions cannot be read", "conversion-webhook-changed"),
    "storage-version-changed": (
        "objects are rewritten as they are touched; the old version stays in status.storedVersions until all were",
        "storage-version-changed",
    ),
    "version-lossy": ("no conversion: what is read through the new version loses or breaks what only the stored one knows", ""),
    "selectable-fields-lost": ("field selectors on it are refused", "selectable-fields-added"),
    "status-split-off": ("writes of status to the object itself are ignored from now on", "subresource-lost"),
    "scale-paths-changed": ("autoscalers read and write other fields", "scale-paths-changed"),
    "property-undeclared": ("the field is kept, but the new schema no longer knows it", "property-declared"),
    "property-declared": ("values that were taken unseen now have to fit", "property-undeclared"),
    "status-property-removed": ("it is dropped at the next write; only the operator wrote it", "property-added"),
    "default-limited": ("a default appears in an object whose whole is constrained, and may break that constraint", ""),
    "default-added": ("objects without the field now have this value", "default-removed"),
    "default-removed": ("objects that relied on it have no value at the next write", "default-added"),
    "default-changed": ("objects without the field now behave otherwise", "default-changed"),
    "type-widened": ("readers may meet a type that they do not expect", "type-narrowed"),
    "pattern-changed": ("two patterns cannot be compared; stored values may not match", "pattern-changed"),
    "format-added": ("stored values may not have it", "format-removed"),
    "format-changed": ("stored values may not have it", "format-changed"),
    "list-type-changed": ("field owners merge lists otherwise, and doubles may be refused", "list-type-changed"),
    "map-type-changed": ("field owners merge the object otherwise", "map-type-changed"),
    "embedded-added": ("the value must now be a whole object with apiVersion and kind", "embedded-lost"),
    "embedded-lost": ("apiVersion, kind and metadata are dropped unless the schema names them", "embedded-added"),
    "cel-added": ("stored objects may break the rule", "cel-removed"),
    "cel-changed": ("stored objects may break the new rule", "cel-changed"),
    "additional-constrained": ("values of the map now have to fit", "additional-freed"),
    "constraint-added": ("stored values may not fit", "constraint-removed"),
    "constraint-changed": ("alternatives cannot be compared; stored values may not fit", "constraint-changed"),
    "alternative-removed": ("objects of that shape no longer fit", "alternative-added"),
    "items-freed": ("objects in the list lose what no schema names", "items-constrained"),
    "items-constrained": ("members of the list now have to fit", "items-freed"),
    "unclassified": ("nobody has said what this change means", "unclassified"),
    "stored-object-defaulted": ("stored objects take on a value that they did not have", ""),
}  # fmt: skip

_BLOCKING: Mapping[str, tuple[str, str]] = {
    "crd-removed": ("every object of the kind goes with it", "crd-added"),
    "crd-renamed": ("it is another resource: objects do not move by themselves", "crd-renamed"),
    "kind-changed": ("the API server refuses it: the kind cannot change", "kind-changed"),
    "scope-changed": ("the API server refuses it: the scope cannot change", "scope-changed"),
    "conversion-lost": ("versions are no longer converted, only relabelled; fields that differ are dropped", "conversion-added"),
    "version-removed": (
        "manifests of that version are refused, and where it was ever stored so is the new CRD, until all objects are migrated",
        "version-added",
    ),
    "version-unserved": ("manifests and clients of that version get 404", "version-served"),
    "subresource-lost": ("callers of that address get 404", "subresource-added status-split-off"),
    "unknown-fields-pruned": ("fields that no schema names are dropped silently at the next write", "unknown-fields-kept"),
    "property-removed": ("its data is dropped silently at the next write", "property-added"),
    "required-added": ("objects without it are refused", "required-dropped"),
    "type-changed": ("stored values are refused", "type-changed"),
    "type-narrowed": ("stored values of the other type are refused", "type-widened"),
    "enum-added": ("stored values outside the list are refused", "enum-removed"),
    "enum-value-removed": ("stored objects with that value are refused", "enum-value-added"),
    "limit-tightened": ("stored values beyond the limit are refused", "limit-loosened"),
    "pattern-added": ("stored values that do not match are refused", "pattern-removed"),
    "format-narrowed": ("stored values beyond 32 bits are refused", "format-widened"),
    "nullable-lost": ("a stored null is dropped or refused", "nullable-added"),
    "additional-closed": ("further keys are dropped silently at the next write", "additional-opened"),
    "stored-version-missing": ("it is in status.storedVersions, so the API server refuses the new CRD", ""),
    "stored-object-invalid": (
        "making it anew or changing that part is refused (Kubernetes 1.30 and newer let updates pass that leave it alone)",
        "",
    ),
    "stored-object-pruned": ("the data is dropped silently at the next write", ""),
}  # fmt: skip


def _rules() -> dict[str, Rule]:
    parts: tuple[tuple[Level, Mapping[str, tuple[str, str]]], ...] = (
        ("safe", _SAFE),
        ("at-risk", _AT_RISK),
        ("blocking", _BLOCKING),
    )
    return {id_: Rule(id_, level, why, tuple(duals.split())) for level, part in parts for id_, (why, duals) in part.items()}


RULES: Mapping[str, Rule] = _rules()

"""The values of the catalogue: add-ons, versions, sources, compatibility, edges. Frozen.

They import nothing but base, each other, the values of a plan, and the names of facts.
"""

from __future__ import annotations

from catalog.model.catalogue import (
    Addon,
    AddonVersion,
    Catalogue,
    Channel,
    DroppedHook,
    Embedded,
    Generated,
    Guard,
    KnownIssue,
    NoOp,
    Requirement,
    TargetName,
    Versions,
)
from catalog.model.compatibility import (
    FACTS,
    ORDERED,
    Compatibility,
    Constraint,
    FactName,
    Fingerprint,
    KubernetesRange,
    Peer,
    Tested,
    number,
    number_range,
)
from catalog.model.edges import Edge, ValueMove, Verdict
from catalog.model.sources import (
    ChartSource,
    FileSource,
    Image,
    ModuleSource,
    OciSource,
    PackageSource,
    RepositorySource,
    describe,
)
from catalog.model.versions import ANY, Key, Scheme, VersionRange, minor_number, version_key

__all__ = [
    "ANY",
    "FACTS",
    "ORDERED",
    "Addon",
    "AddonVersion",
    "Catalogue",
    "Channel",
    "ChartSource",
    "Compatibility",
    "Constraint",
    "DroppedHook",
    "Edge",
    "Embedded",
    "FactName",
    "FileSource",
    "Fingerprint",
    "Generated",
    "Guard",
    "Image",
    "Key",
    "KnownIssue",
    "KubernetesRange",
    "ModuleSource",
    "NoOp",
    "OciSource",
    "PackageSource",
    "Peer",
    "RepositorySource",
    "Requirement",
    "Scheme",
    "TargetName",
    "Tested",
    "ValueMove",
    "Verdict",
    "VersionRange",
    "Versions",
    "describe",
    "minor_number",
    "number",
    "number_range",
    "version_key",
]

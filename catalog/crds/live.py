"""Which objects of a cluster the new CRDs would break. Pure; :mod:`catalog.crds.cluster` reads what is judged here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.crds.changes import Change
from catalog.crds.diff import compare_crd, make, ordered
from catalog.crds.stored import Fault, Judge, rules_in

__all__ = ["LiveCrd", "LiveReport", "judge_live"]

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LiveCrd:
    """A CRD as a cluster has it, and every object of it, read through API version ``read_as``."""

    crd: Object
    read_as: str
    objects: tuple[Object, ...]

    @property
    def name(self) -> str:
        return str(self.crd["metadata"]["name"])

    @property
    def stored_versions(self) -> tuple[str, ...]:
        return tuple((self.crd.get("status") or {}).get("storedVersions") or ())


@dataclass(frozen=True, slots=True)
class LiveReport:
    """``changes`` are what the objects show; ``notes`` is what could not be judged or is odd, in words; ``counts`` is the
    number of objects that were judged, by CRD (a CRD that the cluster does not have is absent)."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]
    counts: Mapping[str, int]


def judge_live(live: Sequence[LiveCrd], old: Sequence[Object], new: Sequence[Object]) -> LiveReport:
    """What the CRDs ``new`` would do to a cluster. ``old`` is what the catalogue believes to be there.

    Only what gets worse is told: an object that its present schema refuses already is a note.
    """
    wanted = {str(crd["metadata"]["name"]): crd for crd in new}
    believed = {str(crd["metadata"]["name"]): crd for crd in old}
    changes: list[Change] = []
    notes: list[str] = []
    for one in live:
        if one.name in believed and (told := _differs(believed[one.name], one.crd)):
            notes.append(f"{one.name}: the cluster's is not that of the version before ({told}); judged by the cluster's")
        if one.name in wanted:
            changes.extend(_judge(one, wanted[one.name], notes))
        elif one.objects:
            # That the kind goes is told by crd-removed; here is what goes with it.
            names = tuple(_name(obj) for obj in one.objects)
            changes.append(make("stored-object-pruned", one.name, one.read_as, ".", f"{len(names)} objects", None, names))
    counts = {one.name: len(one.objects) for one in live}
    return LiveReport(ordered(changes), tuple(notes), counts)


def _differs(believed: Object, live: Object) -> str:
    """In a few words what a cluster's CRD has otherwise; what the API server fills in by itself does not count."""
    found = [c for c in compare_crd(believed, live) if c.rule not in ("metadata-changed", "conversion-trust-changed")]
    paths = [f"{change.path} {change.rule}" for change in found[:3]]
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return "; ".join(paths) + more


def _judge(live: LiveCrd, new: Object, notes: list[str]) -> Iterator[Change]:
    spec = new["spec"]
    versions = {version["name"]: version for version in spec["versions"]}
    for version in live.stored_versions:
        if version not in versions:
            held = list(live.stored_versions)
            yield make("stored-version-missing", live.name, version, "status.storedVersions", held, sorted(versions))
    if not live.objects:
        return
    pruned = not spec.get("preserveUnknownFields")
    present = _schema(live.crd, live.read_as)
    before = Judge(present, pruned=not live.crd["spec"].get("preserveUnknownFields"))
    already = [{(fault.at, fault.message) for fault in before.judge(obj).invalid} for obj in live.objects]
    bad = sum(bool(found) for found in already)
    if bad:
        notes.append(
            f"{live.name}: {bad} of {len(live.objects)} objects do not fit their present schema; only what is new counts"
        )
    targets = _targets(live, versions, spec, notes)
    for target in targets:
        schema = _schema(new, target)
        if fresh := sorted({path for path, _ in rules_in(schema) - rules_in(present)}):
            notes.append(f"{live.name} {target}: CEL rules that are new are not evaluated here: at {', '.join(fresh)}")
        label = target if target == live.read_as else f"{live.read_as} -> {target}"
        yield from _grouped(live, label, Judge(schema, pruned=pruned), already)


def _targets(live: LiveCrd, versions: Mapping[str, Object], spec: Object, notes: list[str]) -> list[str]:
    """The new versions whose schema what is stored will meet: its own, and without conversion the one that is stored then."""
    converted = (spec.get("conversion") or {}).get("strategy", "None") == "Webhook"
    stored = next((name for name, version in versions.items() if version.get("storage")), "")
    targets = [live.read_as] if live.read_as in versions else []
    if stored and stored not in targets:
        if converted:
            notes.append(f"{live.name}: a webhook converts {live.read_as} to {stored}; its result cannot be judged here")
        else:
            targets.append(stored)
    return targets


def _grouped(live: LiveCrd, version: str, judge: Judge, already: Sequence[set[tuple[str, str]]]) -> Iterator[Change]:
    found: dict[tuple[str, str], list[tuple[str, Fault]]] = {}
    for obj, known in zip(live.objects, already, strict=True):
        judged = judge.judge(obj)
        parts = {
            "stored-object-invalid": [fault for fault in judged.invalid if (fault.at, fault.message) not in known],
            "stored-object-pruned": judged.dropped,
            "stored-object-defaulted": judged.filled,
        }
        for rule, faults in parts.items():
            for fault in faults:
                found.setdefault((rule, fault.path), []).append((_name(obj), fault))
    for (rule, path), hits in sorted(found.items()):
        names = tuple(dict.fromkeys(name for name, _ in hits))
        yield make(rule, live.name, version, path, f"{len(names)} objects", hits[0][1].message, names)


def _schema(crd: Object, version: str) -> Mapping[str, Any]:
    for candidate in crd["spec"]["versions"]:
        if candidate["name"] == version:
            return (candidate.get("schema") or {}).get("openAPIV3Schema") or {}
    return {}


def _name(obj: Object) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])

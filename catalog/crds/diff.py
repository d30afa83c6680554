"""What changes between two sets of CRDs. Pure: every difference is told with its rule; nothing that is equal is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from catalog.crds.changes import LEVELS, Change
from catalog.crds.keywords import Schema
from catalog.crds.rules import RULES
from catalog.crds.schemas import compare_schemas

__all__ = ["compare", "compare_crd", "make"]

Object = Mapping[str, Any]

_SPEC = {"group", "names", "scope", "versions", "conversion", "preserveUnknownFields"}
_NAMES = {"kind", "plural", "listKind", "singular", "shortNames", "categories"}
_VERSION = {
    "name", "served", "storage", "schema", "subresources", "additionalPrinterColumns", "deprecated", "deprecationWarning",
    "selectableFields",
}  # fmt: skip
_HELD = ("labels", "annotations")


def compare(old: Sequence[Object], new: Sequence[Object]) -> tuple[Change, ...]:
    """Every change from one set of CRDs to another, worst first, then by CRD, version and path."""
    was, now = _by_name(old), _by_name(new)
    found: list[Change] = []
    renamed = _renamed({n: was[n] for n in was if n not in now}, {n: now[n] for n in now if n not in was})
    for name in sorted(set(was) | set(now)):
        if name in was and name in now:
            found.extend(compare_crd(was[name], now[name]))
        elif name in renamed:
            found.append(make("crd-renamed", name, "", "metadata.name", name, renamed[name]))
        elif name not in renamed.values():
            rule = "crd-removed" if name in was else "crd-added"
            body = was.get(name) or now[name]
            told = ", ".join(version["name"] for version in body["spec"]["versions"])
            found.append(make(rule, name, "", "metadata.name", told if name in was else None, told if name in now else None))
    return ordered(found)


def compare_crd(old: Object, new: Object) -> tuple[Change, ...]:
    """Every change of one CRD."""
    return tuple(_crd(str(old["metadata"]["name"]), old, new))


def ordered(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Worst first, then by CRD, version, path and rule."""
    return tuple(sorted(changes, key=lambda c: (-LEVELS.index(c.level), c.crd, c.version, c.path, c.rule)))


def make(rule: str, crd: str, version: str, path: str, before: Any, after: Any, objects: tuple[str, ...] = ()) -> Change:
    """A change with what its rule says about it."""
    known = RULES[rule]
    return Change(rule, known.level, crd, version, path, before, after, known.why, objects)


def _by_name(crds: Sequence[Object]) -> dict[str, Object]:
    return {str(crd["metadata"]["name"]): crd for crd in crds}


def _renamed(gone: Mapping[str, Object], come: Mapping[str, Object]) -> dict[str, str]:
    """Old name to new name where only one of kind, plural and group is another."""

    def marks(crd: Object) -> tuple[str, str, str]:
        spec = crd["spec"]
        return spec["group"], spec["names"]["kind"], spec["names"]["plural"]

    pairs: dict[str, str] = {}
    for name, crd in sorted(gone.items()):
        for other, body in sorted(come.items()):
            alike = sum(a == b for a, b in zip(marks(crd), marks(body), strict=True))
            if alike == 2 and other not in pairs.values():
                pairs[name] = other
                break
    return pairs


def _crd(name: str, old: Object, new: Object) -> Iterator[Change]:
    was, now = old["spec"], new["spec"]
    for part in _HELD:
        before, after = (crd["metadata"].get(part) or {} for crd in (old, new))
        if before != after:
            yield make("metadata-changed", name, "", f"metadata.{part}", _less(before, after), _less(after, before))
    yield from _names(name, was, now)
    if bool(was.get("preserveUnknownFields")) != bool(now.get("preserveUnknownFields")):
        rule = "unknown-fields-kept" if now.get("preserveUnknownFields") else "unknown-fields-pruned"
        yield make(
            rule, name, "", "spec.preserveUnknownFields", was.get("preserveUnknownFields"), now.get("preserveUnknownFields")
        )
    for key in sorted((set(was) | set(now)) - _SPEC):
        if was.get(key) != now.get(key):
            yield make("unclassified", name, "", f"spec.{key}", was.get(key), now.get(key))
    yield from _conversion(name, was, now)
    yield from _versions(name, was, now)


def _names(name: str, was: Object, now: Object) -> Iterator[Change]:
    if was["scope"] != now["scope"]:
        yield make("scope-changed", name, "", "spec.scope", was["scope"], now["scope"])
    if was["group"] != now["group"]:
        yield make("crd-renamed", name, "", "spec.group", was["group"], now["group"])
    before, after = _full_names(was["names"]), _full_names(now["names"])
    rules = {
        "kind": "kind-changed",
        "plural": "crd-renamed",
        "listKind": "names-changed",
        "singular": "names-changed",
        "shortNames": "short-names-changed",
        "categories": "categories-changed",
    }
    for key in sorted(set(before) | set(after)):
        if before.get(key) != after.get(key):
            yield make(rules.get(key, "unclassified"), name, "", f"spec.names.{key}", before.get(key), after.get(key))


def _full_names(names: Object) -> dict[str, Any]:
    """With what the API server fills in."""
    kind = str(names["kind"])
    filled = {"listKind": f"{kind}List", "singular": kind.lower(), **names}
    return {key: value for key, value in filled.items() if value not in (None, [])}


def _conversion(name: str, was: Object, now: Object) -> Iterator[Change]:
    before, after = was.get("conversion") or {}, now.get("conversion") or {}
    strategies = before.get("strategy", "None"), after.get("strategy", "None")
    if strategies[0] != strategies[1]:
        rule = "conversion-lost" if strategies[0] == "Webhook" else "conversion-added"
        yield make(rule, name, "", "spec.conversion.strategy", *strategies)
        return
    hooks = [dict(part.get("webhook") or {}) for part in (before, after)]
    clients = [dict(hook.pop("clientConfig", None) or {}) for hook in hooks]
    trust = [client.pop("caBundle", None) for client in clients]
    if trust[0] != trust[1]:
        yield make("conversion-trust-changed", name, "", "spec.conversion.webhook.clientConfig.caBundle", None, None)
    if clients[0] != clients[1]:
        yield make("conversion-webhook-changed", name, "", "spec.conversion.webhook.clientConfig", clients[0], clients[1])
    if hooks[0] != hooks[1]:
        yield make("conversion-webhook-changed", name, "", "spec.conversion.webhook", hooks[0], hooks[1])


def _versions(name: str, was: Object, now: Object) -> Iterator[Change]:
    before = {version["name"]: version for version in was["versions"]}
    after = {version["name"]: version for version in now["versions"]}
    pruned = not now.get("preserveUnknownFields")
    converted = (now.get("conversion") or {}).get("strategy", "None") == "Webhook"
    for version in sorted(before.keys() - after.keys()):
        yield make("version-removed", name, version, "spec.versions", _standing(before[version]), None)
    for version in sorted(after.keys() - before.keys()):
        yield make("version-added", name, version, "spec.versions", None, _standing(after[version]))
    stores = [next((v["name"] for v in part.values() if v.get("storage")), "") for part in (before, after)]
    if stores[0] != stores[1]:
        yield make("storage-version-changed", name, "", "spec.versions", stores[0], stores[1])
    for version in sorted(before.keys() & after.keys()):
        yield from _version(name, version, before[version], after[version], pruned)
    if not converted and stores[0] != stores[1] and stores[0] in before and stores[1] in after:
        # What is stored is only relabelled from now on, so that the new version's schema meets the old one's data.
        pair = f"{stores[0]} -> {stores[1]}"
        bare = {"schema": before[stores[0]].get("schema"), "subresources": before[stores[0]].get("subresources")}
        moved = _schemas(name, pair, bare, after[stores[1]], pruned)
        yield from (change for change in moved if change.level != "safe")
    if not converted and stores[1] in after:
        for version in sorted(after.keys() - before.keys() - {stores[1]}):
            lossy = _schemas(name, version, after[stores[1]], after[version], pruned)
            if worse := sorted({change.path for change in lossy if change.level != "safe"}):
                yield make("version-lossy", name, version, "spec.versions", stores[1], worse)


def _standing(version: Object) -> str:
    served = "served" if version.get("served") else "not served"
    return f"{served}, stored" if version.get("storage") else served


def _version(name: str, version: str, was: Object, now: Object, pruned: bool) -> Iterator[Change]:
    if bool(was.get("served")) != bool(now.get("served")):
        rule = "version-served" if now.get("served") else "version-unserved"
        yield make(rule, name, version, "spec.versions.served", bool(was.get("served")), bool(now.get("served")))
    for key in ("deprecated", "deprecationWarning"):
        if (was.get(key) or None) != (now.get(key) or None):
            yield make("deprecation-changed", name, version, f"spec.versions.{key}", was.get(key), now.get(key))
    columns = [part.get("additionalPrinterColumns") or [] for part in (was, now)]
    if columns[0] != columns[1]:
        names = [[column["name"] for column in part] for part in columns]
        yield make("columns-changed", name, version, "spec.versions.additionalPrinterColumns", names[0], names[1])
    fields = [{field["jsonPath"] for field in part.get("selectableFields") or ()} for part in (was, now)]
    if lost := sorted(fields[0] - fields[1]):
        yield make("selectable-fields-lost", name, version, "spec.versions.selectableFields", lost, None)
    if gained := sorted(fields[1] - fields[0]):
        yield make("selectable-fields-added", name, version, "spec.versions.selectableFields", None, gained)
    yield from _subresources(name, version, was.get("subresources") or {}, now.get("subresources") or {})
    for key in sorted((set(was) | set(now)) - _VERSION):
        if was.get(key) != now.get(key):
            yield make("unclassified", name, version, f"spec.versions.{key}", was.get(key), now.get(key))
    yield from _schemas(name, version, was, now, pruned)


def _subresources(name: str, version: str, was: Object, now: Object) -> Iterator[Change]:
    for key in sorted(set(was) | set(now)):
        path = f"spec.versions.subresources.{key}"
        if key in was and key not in now:
            yield make("subresource-lost", name, version, path, was[key], None)
        elif key not in was:
            yield make("status-split-off" if key == "status" else "subresource-added", name, version, path, None, now[key])
        elif was[key] != now[key]:
            yield make("scale-paths-changed" if key == "scale" else "unclassified", name, version, path, was[key], now[key])


def _schemas(name: str, version: str, was: Object, now: Object, pruned: bool) -> Iterator[Change]:
    found: list[Change] = []

    def emit(rule: str, path: str, before: Any, after: Any) -> None:
        found.append(make(rule, name, version, path, before, after))

    compare_schemas(_schema(was), _schema(now), emit, pruned=pruned, status="status" in (now.get("subresources") or {}))
    yield from found


def _schema(version: Object) -> Schema:
    return (version.get("schema") or {}).get("openAPIV3Schema") or {}


def _less(one: Object, other: Object) -> dict[str, Any]:
    return {key: value for key, value in one.items() if other.get(key) != value}

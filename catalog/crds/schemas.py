"""Two structural schemas of one API version, compared node by node. Pure.

A node that only validates (below ``allOf``) and one that also says which fields exist are told apart: a property that vanishes
from the first frees its value, from the second it has its data dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from catalog.crds.keywords import Schema, canonical, compare_keywords, sketch, step_name, types

__all__ = ["Emit", "compare_schemas"]

#: Called with rule, path, before, after.
Emit = Callable[[str, str, Any, Any], None]

_NESTED = frozenset({"properties", "items", "additionalProperties", "required", "allOf", "anyOf", "oneOf", "not"})
_META: Mapping[str, Schema] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
#: Keywords that constrain an object as a whole: a default that appears inside may break them.
_WHOLE = ("maxProperties", "allOf", "anyOf", "oneOf", "not", "enum", "x-kubernetes-validations")


def compare_schemas(old: Schema, new: Schema, emit: Emit, *, pruned: bool = True, status: bool = True) -> None:
    """Tell ``emit`` every difference between the ``openAPIV3Schema`` of one version before and after.

    ``pruned`` is False for a CRD with ``preserveUnknownFields``, ``status`` True where status is a subresource, which only the
    operator writes.
    """
    _Comparison(emit, pruned, status).node(old, new, "", structural=True, whole=False)


class _Comparison:
    def __init__(self, emit: Emit, pruned: bool, status: bool) -> None:
        self.emit = emit
        self.pruned = pruned
        self.status = status

    def node(self, old: Schema, new: Schema, path: str, *, structural: bool, whole: bool) -> None:
        """``structural`` is False below allOf. ``whole`` says that an object around this one is constrained as a whole."""
        if old == new and canonical(old) == canonical(new):
            return
        for rule, keyword, before, after in compare_keywords(old, new, _NESTED):
            told = keyword if rule in ("unclassified", "spelled-out", "limit-tightened", "limit-loosened") else ""
            self._tell(rule, path, _named(told, before), _named(told, after))
        if types(old).isdisjoint(types(new)):
            return  # the children of another type say nothing more
        whole = whole or any(keyword in new for keyword in _WHOLE)
        if not path:
            old, new = _with_meta(old), _with_meta(new)
        self._properties(old, new, path, structural, whole)
        self._required(old, new, path)
        self._additional(old, new, path, structural, whole)
        self._items(old, new, path, structural, whole)
        self._all_of(old, new, path)
        self._junctors(old, new, path)

    def _properties(self, old: Schema, new: Schema, path: str, structural: bool, whole: bool) -> None:
        was, now = old.get("properties") or {}, new.get("properties") or {}
        for name in sorted(set(was) | set(now)):
            place = f"{path}.{step_name(name)}"
            if name in was and name in now:
                self.node(was[name], now[name], place, structural=structural, whole=whole)
            elif name in was:
                self._removed(was[name], new, place, structural, whole)
            else:
                self._added(now[name], old, place, structural, whole)

    def _removed(self, was: Schema, new: Schema, place: str, structural: bool, whole: bool) -> None:
        if not structural:
            self._tell("constraint-removed", place, sketch(was), None)
        elif isinstance(rest := new.get("additionalProperties"), Mapping):
            self._tell("property-undeclared", place, sketch(was), None)
            self.node(was, rest, place, structural=True, whole=whole)
        elif new.get(_PRESERVE) or not self.pruned:
            self._tell("property-undeclared", place, sketch(was), None)
        else:
            own = self.status and place.startswith(".status")
            self._tell("status-property-removed" if own else "property-removed", place, sketch(was), None)

    def _added(self, now: Schema, old: Schema, place: str, structural: bool, whole: bool) -> None:
        if not structural:
            self._tell("constraint-added", place, None, sketch(now))
        elif isinstance(rest := old.get("additionalProperties"), Mapping):
            self._tell("property-declared", place, None, sketch(now))
            self.node(rest, now, place, structural=True, whole=whole)
        elif old.get("additionalProperties") or old.get(_PRESERVE) or not self.pruned:
            self._tell("property-declared", place, None, sketch(now))
        else:
            self._tell("property-added", place, None, sketch(now))
            if whole and "default" in now:
                self._tell("default-limited", place, None, now["default"])

    def _required(self, old: Schema, new: Schema, path: str) -> None:
        was, now = set(old.get("required") or ()), set(new.get("required") or ())
        properties = new.get("properties") or {}
        for name in sorted(was - now):
            self._tell("required-dropped", f"{path}.{step_name(name)}", True, None)
        for name in sorted(now - was):
            filled = "default" in (properties.get(name) or {})
            self._tell("required-added-with-default" if filled else "required-added", f"{path}.{step_name(name)}", None, True)

    def _additional(self, old: Schema, new: Schema, path: str, structural: bool, whole: bool) -> None:
        was, now, place = old.get("additionalProperties"), new.get("additionalProperties"), f"{path}.*"
        if was is now or (was == now and canonical(was) == canonical(now)):
            return
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            self.node(was, now, place, structural=structural, whole=whole)
        elif not structural:
            free = now in (None, True)
            self._tell("constraint-removed" if free else "constraint-added", place, _told(was), _told(now))
        elif not was and not now:
            self._tell("spelled-out", path, _named("additionalProperties", was), _named("additionalProperties", now))
        elif not now:
            kept = new.get(_PRESERVE) or not self.pruned
            self._tell("additional-freed" if kept else "additional-closed", place, _told(was), _told(now))
        elif not was:
            loose = old.get(_PRESERVE) or not self.pruned
            self._tell("additional-constrained" if loose else "additional-opened", place, _told(was), _told(now))
        else:
            self._tell("additional-constrained" if was is True else "additional-freed", place, _told(was), _told(now))

    def _items(self, old: Schema, new: Schema, path: str, structural: bool, whole: bool) -> None:
        was, now, place = old.get("items"), new.get("items"), f"{path}[]"
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            self.node(was, now, place, structural=structural, whole=whole)
        elif isinstance(was, list) or isinstance(now, list):
            if canonical(was) != canonical(now):
                self._tell("unclassified", place, _named("items", was), _named("items", now))
        elif was is not None and now is None:
            self._tell("items-freed" if structural else "constraint-removed", place, sketch(was), None)
        elif now is not None and was is None:
            self._tell("items-constrained" if structural else "constraint-added", place, None, sketch(now))

    def _all_of(self, old: Schema, new: Schema, path: str) -> None:
        was, now = _without_equals(old.get("allOf") or [], new.get("allOf") or [])
        for before, after in zip(was, now, strict=False):
            self.node(before, after, path or ".", structural=False, whole=True)
        for before in was[len(now) :]:
            self._tell("constraint-removed", path, _named("allOf", before), None)
        for after in now[len(was) :]:
            self._tell("constraint-added", path, None, _named("allOf", after))

    def _junctors(self, old: Schema, new: Schema, path: str) -> None:
        for keyword in ("anyOf", "oneOf", "not"):
            was, now = _alternatives(old, keyword), _alternatives(new, keyword)
            if canonical(was) == canonical(now):
                continue
            if not was or not now:
                rule = "constraint-added" if now else "constraint-removed"
                self._tell(rule, path, _named(keyword, was), _named(keyword, now))
                continue
            gone, come = _without_equals(was, now) if keyword == "anyOf" else (was, now)
            if gone and come:
                self._tell("constraint-changed", path, _named(keyword, gone), _named(keyword, come))
            elif gone:
                self._tell("alternative-removed", path, _named(keyword, gone), None)
            elif come:
                self._tell("alternative-added", path, None, _named(keyword, come))

    def _tell(self, rule: str, path: str, before: Any, after: Any) -> None:
        self.emit(rule, path or ".", before, after)


def _with_meta(schema: Schema) -> Schema:
    """The root of a kind with the fields that the API server itself adds, whether the schema names them or not."""
    return {**schema, "properties": {**_META, **(schema.get("properties") or {})}}


def _alternatives(schema: Schema, keyword: str) -> list[Any]:
    found = schema.get(keyword)
    if keyword == "anyOf" and schema.get("x-kubernetes-int-or-string") and found == _INT_OR_STRING:
        return []  # controller-gen spells out what the keyword says
    return found if isinstance(found, list) else [found] if found is not None else []


def _without_equals(old: list[Any], new: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both lists without the members that the other has too, one for one."""
    rest, gone = list(new), []
    for member in old:
        twin = next((index for index, other in enumerate(rest) if canonical(other) == canonical(member)), None)
        if twin is None:
            gone.append(member)
        else:
            del rest[twin]
    return gone, rest


def _told(additional: Any) -> Any:
    return f"map of {sketch(additional)}" if isinstance(additional, Mapping) else additional


def _named(keyword: str, value: Any) -> Any:
    return {keyword: value} if keyword and value is not None and value != [] else None if value == [] else value

"""Rendered objects to test with."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def obj(kind: str, name: str = "x", namespace: str = "demo", api: str = "v1", **more: Any) -> Object:
    meta: Object = {"name": name} | ({"namespace": namespace} if namespace else {}) | more.pop("metadata", {})
    return {"apiVersion": api, "kind": kind, "metadata": meta, **more}


def workload(kind: str = "Deployment", name: str = "x", *, image: str = "r.invalid/x:1", **pod: Any) -> Object:
    """An object of a kind that has pods, with this in its pod's spec."""
    spec = {"containers": [{"name": "main", "image": image}], **pod}
    template = {"template": {"spec": spec}}
    api = "batch/v1" if "Job" in kind else "apps/v1"
    inner: Object = {"jobTemplate": {"spec": template}} if kind == "CronJob" else template
    if kind == "Pod":
        api, inner = "v1", spec
    return obj(kind, name, api=api, spec=inner)


def resource(name: str = "cr", **spec: Any) -> Object:
    """A custom resource."""
    return obj("Thing", name, "", "demo.invalid/v1", spec=spec)


def node(name: str = "n", taints: tuple[str, ...] = (), unschedulable: bool = False, **labels: str) -> Object:
    """A node; taints are written key=value:Effect."""
    made = []
    for taint in taints:
        key, _, effect = taint.rpartition(":")
        key, _, value = key.partition("=")
        made.append({"key": key, "effect": effect} | ({"value": value} if value else {}))
    spec = {"taints": made} | ({"unschedulable": True} if unschedulable else {})
    return obj("Node", name, "", metadata={"labels": labels}, spec=spec)

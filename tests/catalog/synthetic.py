"""A small made-up catalogue, so that the real one can change freely, and packaged charts to go with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from catalog.model import (
    Addon,
    AddonVersion,
    Catalogue,
    Channel,
    ChartSource,
    Compatibility,
    Embedded,
    Guard,
    Image,
    KubernetesRange,
    OciSource,
    Requirement,
)
from catalog.obtain.archive import pack
from catalog.plan import Facts, Program, Webhook
from spec.model import AddonRequest, ClusterSpec, Target, Tenancy

PINNED = "sha256:" + "a" * 64


def addon(name: str, **fields: Any) -> Addon:
    given: dict[str, Any] = {
        "title": name.title(),
        "role": "slurm",
        "namespace": name,
        "targets": ("embedded", "kind", "cluster"),
    }
    return Addon(name=name, **{**given, **fields})


def version(name: str, text: str = "1.0.0", **fields: Any) -> AddonVersion:
    given: dict[str, Any] = {
        "released": "",
        "source": OciSource(f"registry.invalid/charts/{name}", f"v{text}", PINNED, PINNED),
        "chart_version": f"v{text}",
        "app_version": f"v{text}",
        "images": (),
        "compatibility": Compatibility(KubernetesRange("1.30", "1.36", "made up")),
    }
    return AddonVersion(addon=name, version=text, **{**given, **SHAPES.get(name, {}), **fields})


#: What every version of an add-on of the made-up catalogue looks like.
SHAPES: Mapping[str, Mapping[str, Any]] = {
    "certs": {
        "embedded": Embedded(
            simulated=("certs/certs",), webhooks=(Webhook("ValidatingWebhookConfiguration/certs", reason="none"),)
        ),
    },
    "operator": {
        "requires": (Requirement("operator-crds", "its kinds", same_version=True), Requirement("certs", "its certificate")),
        "embedded": Embedded(
            programs=(Program("operator/operator", "operator-manager"),),
            webhooks=(Webhook("ValidatingWebhookConfiguration/operator", "operator/operator"),),
        ),
        "values_template": "defaults: {replicas: 2, tag: '{{ app_version }}'}\nguards: {crds: {enabled: false}}\n",
    },
    "queues": {
        "embedded": Embedded(
            programs=(Program("queues/queues", "kai:scheduler"),),
            simulated=("queues/queues",),
            webhooks=(Webhook("ValidatingWebhookConfiguration/queues", "queues/queues"),),
        ),
    },
}


def catalogue() -> Catalogue:
    """Certificates without programs, an operator that requires them and its CRDs, two schedulers that exclude each other."""
    addons = [
        addon("certs", role="certificates"),
        addon("operator-crds", role="crds"),
        addon("operator"),
        addon("queues", role="scheduler", excludes={"model": "both own the pods"}),
        addon("model", role="scheduler", reference=True, targets=("embedded",), excludes={"queues": "both own the pods"}),
    ]
    guards = (Guard("crds.enabled", "they are an add-on of their own", "one more line in the plan"),)
    versions = {
        "certs": (version("certs"), version("certs", "2.0.0", images=(Image("registry.invalid/certs:2.0.0"),))),
        "operator-crds": (version("operator-crds"), version("operator-crds", "1.1.0")),
        "operator": (version("operator", guards=guards), version("operator", "1.1.0", guards=guards)),
        "queues": (version("queues", source=OciSource("registry.invalid/charts/queues", "v1.0.0")),),
        "model": (version("model"),),
    }
    newest = {name: found[-1].version for name, found in versions.items()}
    pinned = {"certs": "1.0.0", "operator": "1.0.0", "operator-crds": "1.0.0"}
    channels = {"edge": Channel("edge", newest, True), "stable": Channel("stable", pinned, False)}
    return Catalogue({a.name: a for a in addons}, versions, channels)


def spec(*addons: AddonRequest | str, **fields: Any) -> ClusterSpec:
    given: dict[str, Any] = {
        "name": "c",
        "target": Target("embedded"),
        "channel": "edge",
        "scheduler": "auto",
        "node_pools": (),
        "tenancy": Tenancy(),
        "source": Path("spec.yaml"),
    }
    requests = tuple(a if isinstance(a, AddonRequest) else AddonRequest(a, line=n) for n, a in enumerate(addons, 5))
    return ClusterSpec(addons=requests, **{**given, **fields})


def facts(target: str = "embedded", kubernetes: str = "1.36", **fields: Any) -> Facts:
    return Facts(target, kubernetes, Path("kubeconfig"), "uid", Path("state"), **fields)  # type: ignore[arg-type]


def chart_files(name: str = "demo", templates: Mapping[str, str] | None = None, **more: str) -> dict[str, bytes]:
    """The files of a chart directory."""
    files = {
        "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: 0.0.0\nappVersion: 0.0.0\n",
        "values.yaml": "replicas: 1\n",
        **{f"templates/{path}": text for path, text in (templates or {"deployment.yaml": DEPLOYMENT}).items()},
        **more,
    }
    return {path: text.encode() for path, text in files.items()}


def packaged(name: str = "demo", templates: Mapping[str, str] | None = None, version_text: str = "v1.0.0", **more: str) -> bytes:
    return pack(chart_files(name, templates, **more), name=name, version=version_text, app_version=version_text)


def sourced(source: ChartSource, **fields: Any) -> AddonVersion:
    return version("demo", source=source, **fields)


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  labels: {chart: "{{ .Chart.Name }}-{{ .Chart.Version }}"}
spec:
  replicas: {{ .Values.replicas }}
  template:
    spec:
      containers:
        - name: main
          image: registry.invalid/{{ .Chart.Name }}:{{ .Chart.AppVersion }}
"""

"""What every add-on owes right after its installation: its Deployments, its CRDs and its webhooks."""

from __future__ import annotations

import base64
import socket
import ssl

import pytest

from base.errors import NotFound
from base.kube import Cluster, Object
from base.kube.kinds import CRD, DEPLOYMENT, ENDPOINT_SLICE, MUTATING_WEBHOOK, POD, SERVICE, VALIDATING_WEBHOOK
from validation.checks import EVERY, check
from validation.context import Context, Installed

ADDON = "chandlery.dev/addon"
SIMULATED = "chandlery.dev/simulated"


@check(
    "I01",
    "Every Deployment of the add-on is available",
    proves="The add-on's programs run, and what only looks as if it ran is marked so.",
    tier="api",
    subject=EVERY,
    seconds=60,
)
def test_deployments(cluster: Cluster, context: Context, addon: Installed) -> None:
    """All Deployments that carry the add-on's mark, or stand in a namespace that is its alone, must be Available with every
    replica; those whose programs the plan names must be among them. Where the plan says simulated, its pods must be marked
    as simulated, and where it does not, none may be."""
    found = deployments(cluster, context, addon)
    missing = sorted(set(addon.workloads) - {name(item) for item in found})
    assert not missing, f"not there: {', '.join(missing)}"
    if not found and addon.role == "crds":
        pytest.skip("brings custom resource definitions only")
    assert found, f"no Deployment of {addon.addon} was found"
    late = [name(item) for item in found if not available(item)]
    assert not late, f"not available: {', '.join(late)}"
    marked = [name(pod) for item in found for pod in pods_of(cluster, item) if SIMULATED in notes(pod)]
    if addon.state == "simulated":
        assert marked, "the plan says simulated, but no pod is marked so"
        pytest.skip(f"simulated: {', '.join(name(item) for item in found)} is shown as running, its program is not there")
    assert not marked, f"the plan says {addon.state}, but these pods are simulated: {', '.join(marked)}"


@check(
    "I02",
    "Every custom resource definition of the add-on is established",
    proves="The add-on's objects can be stored, and no other add-on has taken their names.",
    tier="api",
    subject=EVERY,
    seconds=60,
)
def test_definitions(cluster: Cluster, addon: Installed) -> None:
    """All CRDs that the catalogue names as the add-on's must have the conditions NamesAccepted and Established."""
    if not addon.crds:
        pytest.skip("brings no custom resource definitions")
    found = {item: cluster.find(CRD, item) for item in addon.crds}
    missing = [item for item, definition in found.items() if definition is None]
    assert not missing, f"not there: {', '.join(missing)}"
    for wanted in ("NamesAccepted", "Established"):
        lacking = [item for item, definition in found.items() if definition and not condition(definition, wanted)]
        assert not lacking, f"without condition {wanted}: {', '.join(lacking)}"


@check(
    "I03",
    "Every webhook of the add-on is served",
    proves="No write is refused, or let through unseen, because a webhook has nobody behind it.",
    tier="api",
    subject=EVERY,
    seconds=90,
)
def test_webhooks(cluster: Cluster, context: Context, addon: Installed) -> None:
    """Each webhook that has a program here must have a CA bundle and a Service with a ready endpoint. On the embedded target
    the Service's address is also asked for its certificate, which must fit the bundle and the name. A webhook without a
    program must not be registered at all: it would refuse every write that it matches. It is reported as not exercised."""
    left = [label for label, _ in addon.unserved if _webhook(cluster, label) is not None]
    assert not left, f"registered although nothing serves it here: {', '.join(left)}"
    for label in addon.webhooks:
        found = _webhook(cluster, label)
        assert found is not None, f"{label} is not there"
        assert found.get("webhooks"), f"{label} holds no webhook"
        for hook in found["webhooks"]:
            served(cluster, context, hook)
    if not addon.webhooks:
        reasons = "; ".join(f"{label} ({reason})" for label, reason in addon.unserved)
        pytest.skip(f"not exercised: {reasons}" if reasons else "brings no webhooks")


def _webhook(cluster: Cluster, label: str) -> Object | None:
    kind, _, called = label.partition("/")
    return cluster.find(VALIDATING_WEBHOOK if kind == VALIDATING_WEBHOOK.kind else MUTATING_WEBHOOK, called)


def deployments(cluster: Cluster, context: Context, addon: Installed) -> list[Object]:
    """Those that carry the add-on's mark, and those that its operator made in a namespace of its own."""
    alone = [item.addon for item in context.installed if item.namespace == addon.namespace] == [addon.addon]
    return [
        item
        for item in cluster.list(DEPLOYMENT)[0]
        if notes(item).get(ADDON, addon.addon if alone and item["metadata"]["namespace"] == addon.namespace else "")
        == addon.addon
    ]


def pods_of(cluster: Cluster, deployment: Object) -> list[Object]:
    wanted = deployment["spec"]["selector"].get("matchLabels", {})
    labels = ",".join(f"{key}={value}" for key, value in sorted(wanted.items()))
    return cluster.list(POD, deployment["metadata"]["namespace"], labels=labels)[0]


def available(deployment: Object) -> bool:
    status, meta = deployment.get("status", {}), deployment["metadata"]
    wanted = deployment["spec"].get("replicas", 1)
    current = status.get("observedGeneration") == meta.get("generation")
    return current and condition(deployment, "Available") and status.get("availableReplicas", 0) >= wanted


def condition(item: Object, wanted: str) -> bool:
    return any(c["type"] == wanted and c["status"] == "True" for c in item.get("status", {}).get("conditions") or ())


def notes(item: Object) -> Object:
    return item["metadata"].get("annotations") or {}


def name(item: Object) -> str:
    return "/".join(part for part in (item["metadata"].get("namespace"), item["metadata"]["name"]) if part)


def served(cluster: Cluster, context: Context, hook: Object) -> None:
    """Assert that somebody answers for a webhook, with a certificate that the API server will accept."""
    label, client = hook["name"], hook["clientConfig"]
    bundle = client.get("caBundle")
    assert bundle, f"webhook {label} has no CA bundle"
    service = client.get("service")
    assert service, f"webhook {label} is reached by URL, not through a Service: {client.get('url')}"
    where = f"{service['namespace']}/{service['name']}"
    try:
        live = cluster.get(SERVICE, service["name"], service["namespace"])
    except NotFound:
        pytest.fail(f"webhook {label}: Service {where} does not exist")
    slices = cluster.list(ENDPOINT_SLICE, service["namespace"], labels=f"kubernetes.io/service-name={service['name']}")[0]
    ready = [
        address
        for item in slices
        for endpoint in item.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready", True)
        for address in endpoint["addresses"]
    ]
    assert ready, f"webhook {label}: Service {where} has no ready endpoint"
    if context.target == "embedded":
        handshake(
            label, live["spec"]["clusterIP"], service.get("port", 443), f"{service['name']}.{service['namespace']}.svc", bundle
        )


def handshake(label: str, address: str, port: int, host: str, bundle: str) -> None:
    """Assert that the address shows a certificate for ``host`` that the base64 ``bundle`` vouches for."""
    trust = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())
    try:
        with socket.create_connection((address, port), timeout=10) as plain, trust.wrap_socket(plain, server_hostname=host):
            return
    except ssl.SSLError as error:
        pytest.fail(f"webhook {label}: the certificate at {address}:{port} does not fit the CA bundle: {error}")
    except OSError as error:
        pytest.fail(f"webhook {label}: nobody answers at {address}:{port}: {error}")

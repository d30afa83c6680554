"""Webhooks on a target where not every add-on's programs run, and the certificates that they need there.

On the embedded target a webhook configuration is registered only when a real program serves it: with failurePolicy Fail
an unserved one would refuse every matching write. What is withheld is named, so that reports can say `not exercised`.
cert-manager's programs cannot be had there either, so a certificate that a webhook asks of it comes from the target and
goes in as the Secret that cert-manager would have written. The target makes it; what is here is pure but for that call.
"""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from catalog.plan import PlanItem
from components.objects import Object

INJECT = "cert-manager.io/inject-ca-from"
_CONFIGURATIONS = {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}


#: (service, namespace) -> CA, certificate and key in PEM, for the Service's DNS names; the same ones each time.
Issue = Callable[[str, str], tuple[bytes, bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Admitted:
    """The objects to apply, the Secrets that hold private keys, and the webhook configurations (``Kind/name``) that nothing
    serves here: those of the chart are not among the objects."""

    objects: tuple[Object, ...]
    secrets: tuple[Object, ...]
    withheld: tuple[str, ...]


def withhold(item: PlanItem, objects: Iterable[Mapping[str, Any]], target: str) -> Admitted:
    """Take out the webhook configurations that nothing answers. Elsewhere than on the embedded target nothing is taken out.

    What is served is the catalogue's word (``PlanItem.webhooks``); a configuration that it does not know of is not served.
    """
    everything = tuple(copy.deepcopy(dict(obj)) for obj in objects)
    if target != "embedded":
        return Admitted(everything, (), ())
    exercised = {webhook.configuration for webhook in item.webhooks if webhook.exercised}
    out = {webhook.configuration for webhook in item.webhooks if not webhook.exercised}
    kept: list[Object] = []
    for obj in everything:
        configuration = f"{obj['kind']}/{obj['metadata']['name']}"
        if obj["kind"] in _CONFIGURATIONS and configuration not in exercised:
            out.add(configuration)
        else:
            kept.append(obj)
    return Admitted(tuple(kept), (), tuple(sorted(out)))


def certify(admitted: Admitted, issue: Issue) -> Admitted:
    """Make what cert-manager would have: per Certificate that a remaining webhook names, its Secret and the caBundle."""
    wanted = {name: service for obj in admitted.objects if (name := _injected(obj)) and (service := _service(obj))}
    authorities: dict[str, str] = {}
    secrets: list[Object] = []
    for obj in admitted.objects:
        place = f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"
        if obj["kind"] != "Certificate" or place not in wanted:
            continue
        ca, certificate, key = (base64.b64encode(pem).decode() for pem in issue(*wanted[place]))
        authorities[place] = ca
        secrets.append(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "type": "kubernetes.io/tls",
                "metadata": {"name": str(obj["spec"]["secretName"]), "namespace": obj["metadata"].get("namespace", "")},
                "data": {"ca.crt": ca, "tls.crt": certificate, "tls.key": key},
            }
        )
    objects = tuple(_with_bundle(obj, authorities.get(_injected(obj), "")) for obj in admitted.objects)
    return replace(admitted, objects=objects, secrets=tuple(secrets))


def _with_bundle(obj: Object, ca: str) -> Object:
    if not ca:
        return obj
    changed = copy.deepcopy(obj)
    for hook in changed["webhooks"]:
        hook["clientConfig"]["caBundle"] = ca
    return changed


def _service(obj: Mapping[str, Any]) -> tuple[str, str] | None:
    for hook in obj.get("webhooks") or ():
        service = hook.get("clientConfig", {}).get("service")
        if service:
            return str(service["name"]), str(service["namespace"])
    return None


def _injected(obj: Mapping[str, Any]) -> str:
    if obj["kind"] not in _CONFIGURATIONS:
        return ""
    return str((obj["metadata"].get("annotations") or {}).get(INJECT, ""))

"""Which Service address leads to which program. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from base.kube import Object

#: ``(address, port)``.
Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Backend:
    """A pod of the node ``host`` as the service proxy sees it: ``ports`` maps names of container ports to numbers."""

    namespace: str
    labels: Mapping[str, str]
    address: str
    ports: Mapping[str, int]
    ready: bool


def backend(pod: Object, address: str, ready: bool) -> Backend:
    ports = {
        entry["name"]: int(entry["containerPort"])
        for container in pod["spec"]["containers"]
        for entry in container.get("ports") or ()
        if entry.get("name")
    }
    meta = pod["metadata"]
    return Backend(meta["namespace"], dict(meta.get("labels") or {}), address, ports, ready)


def table(
    services: Iterable[Object], backends: Iterable[Backend], *, api: Endpoint, api_service: str
) -> dict[Endpoint, list[Endpoint]]:
    """Every Service address with pods on ``host`` behind it, and the ready ones among them (none: nobody answers).

    The Service ``kubernetes`` leads to the API server at ``api``; so does its address with the API server's own port, which
    may be listened on by anybody and shows other users of this machine that the range is taken.
    """
    found: dict[Endpoint, list[Endpoint]] = {(api_service, 443): [api], (api_service, api[1]): [api]}
    pods = list(backends)
    for service in services:
        spec, namespace = service["spec"], service["metadata"]["namespace"]
        address, selector = spec.get("clusterIP"), spec.get("selector")
        if not selector or address in {None, "", "None"}:
            continue
        chosen = [pod for pod in pods if pod.namespace == namespace and all(pod.labels.get(k) == v for k, v in selector.items())]
        if not chosen:
            continue
        for port in spec.get("ports") or ():
            if port.get("protocol", "TCP") != "TCP":
                continue
            target = port.get("targetPort") or port["port"]
            leads = []
            for pod in chosen:
                number = pod.ports.get(target) if isinstance(target, str) else int(target)
                if number is not None and (pod.ready or spec.get("publishNotReadyAddresses")):
                    leads.append((pod.address, number))
            found[(address, int(port["port"]))] = leads
    return found

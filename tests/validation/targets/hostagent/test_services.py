"""Which Service address leads to which program."""

from __future__ import annotations

from typing import Any

from validation.targets.embedded.hostagent.services import Backend, table

API, API_SERVICE = ("127.0.0.1", 21000), "127.96.0.1"


def _service(port: int = 443, target: int | str = 9443, **spec: Any) -> dict[str, Any]:
    whole = {"clusterIP": "127.96.1.2", "selector": {"app": "hook"}, "ports": [{"port": port, "targetPort": target}], **spec}
    return {"metadata": {"name": "hook", "namespace": "ns"}, "spec": whole}


def _backend(address: str = "127.128.0.16", *, ready: bool = True, namespace: str = "ns", **labels: str) -> Backend:
    return Backend(namespace, labels or {"app": "hook"}, address, {"web": 9443}, ready)


def _table(services: list[dict[str, Any]], backends: list[Backend]) -> dict[tuple[str, int], list[tuple[str, int]]]:
    found = table(services, backends, api=API, api_service=API_SERVICE)
    assert found.pop((API_SERVICE, 443)) == [API]
    assert found.pop((API_SERVICE, 21000)) == [API]
    return found


def test_a_service_leads_to_the_ready_pods_that_its_selector_names() -> None:
    pods = [_backend(), _backend("127.128.0.17"), _backend("127.128.0.18", ready=False), _backend("127.128.0.19", app="other")]
    assert _table([_service()], pods) == {("127.96.1.2", 443): [("127.128.0.16", 9443), ("127.128.0.17", 9443)]}


def test_ports_are_found_by_name_and_default_to_the_services_own() -> None:
    assert _table([_service(target="web")], [_backend()]) == {("127.96.1.2", 443): [("127.128.0.16", 9443)]}
    assert _table([_service(target="none")], [_backend()]) == {("127.96.1.2", 443): []}
    service = _service()
    del service["spec"]["ports"][0]["targetPort"]
    assert _table([service], [_backend()]) == {("127.96.1.2", 443): [("127.128.0.16", 443)]}


def test_a_service_whose_pods_are_not_ready_is_known_and_leads_nowhere() -> None:
    assert _table([_service()], [_backend(ready=False)]) == {("127.96.1.2", 443): []}
    assert _table([_service(publishNotReadyAddresses=True)], [_backend(ready=False)])[("127.96.1.2", 443)]


def test_services_without_pods_here_are_none_of_ours() -> None:
    services = [_service(clusterIP="None"), _service(selector=None), _service(selector={"app": "x"})]
    assert _table(services, [_backend(), _backend(namespace="elsewhere", app="x")]) == {}


def test_udp_ports_are_left_out() -> None:
    service = _service()
    service["spec"]["ports"][0]["protocol"] = "UDP"
    assert _table([service], [_backend()]) == {}

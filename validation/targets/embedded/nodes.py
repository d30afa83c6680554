"""Simulated GPU nodes as objects, from the profiles in ``data/profiles.yaml``. Pure but for reading that file once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from base.errors import InvalidInput
from base.kube import Object
from spec.model import NodePool

#: Node label that KAI reads a node's pool from; nodes of pool ``default`` do not carry it.
POOL_LABEL = "kai.scheduler/node-pool"
#: All nodes that KWOK plays.
KWOK_SELECTOR = "type=kwok"
TAINT: Object = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}
_PODS_PER_NODE = 110
_FULL_NODE = 8
_DEPLOYED = (
    "client",
    "container-toolkit",
    "dcgm",
    "dcgm-exporter",
    "device-plugin",
    "driver",
    "gpu-feature-discovery",
    "node-status-exporter",
    "operator-validator",
)


@cache
def profiles() -> Mapping[str, Any]:
    """The parsed data file."""
    with (Path(__file__).parent / "data" / "profiles.yaml").open(encoding="utf-8") as file:
        return dict(YAML(typ="safe").load(file))


def products() -> tuple[str, ...]:
    return tuple(profiles()["products"])


def check(pools: Iterable[NodePool]) -> None:
    """InvalidInput for a pool that cannot be made: unknown product, impossible count, two pools of one name."""
    seen: set[str] = set()
    for pool in pools:
        if pool.name in seen:
            raise InvalidInput(f"two node pools are called {pool.name}", todo="give each pool a name of its own")
        seen.add(pool.name)
        if not 0 <= pool.count <= 9999:
            raise InvalidInput(f"node pool {pool.name}: {pool.count} nodes are not possible", todo="ask for 0 to 9999")
        if not 0 <= pool.gpus_per_node <= 16:
            raise InvalidInput(
                f"node pool {pool.name}: {pool.gpus_per_node} GPUs per node are not possible", todo="ask for 0 to 16"
            )
        if pool.gpus_per_node and pool.gpu_product not in products():
            near = difflib.get_close_matches(pool.gpu_product, products(), n=3, cutoff=0.4) or products()
            raise InvalidInput(
                f"node pool {pool.name}: no node profile for GPU product {pool.gpu_product!r}",
                where=str(Path(__file__).parent / "data" / "profiles.yaml"),
                todo=f"take one of {', '.join(near)}, or add a profile",
            )


def render(pools: Iterable[NodePool], *, kubelet: str) -> list[Object]:
    """All nodes of all pools. ``kubelet`` is the version that they report (``v1.36.3``). Racks and zones run on over pools."""
    nodes: list[Object] = []
    for pool in pools:
        for number in range(1, pool.count + 1):
            nodes.append(_node(pool, number, position=len(nodes), kubelet=kubelet))
    return nodes


def _node(pool: NodePool, number: int, *, position: int, kubelet: str) -> Object:
    data = profiles()
    name = f"{pool.name}-{number:04d}"
    topology = data["topology"]
    rack = position // topology["nodesPerRack"]
    labels = {
        "type": "kwok",
        "kubernetes.io/hostname": name,
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        # kube-controller-manager copies these two from the above; given here they spare it a write to each node.
        "beta.kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux",
        "topology.kubernetes.io/region": "local",
        "topology.kubernetes.io/zone": f"zone-{rack // topology['racksPerZone'] + 1}",
        topology["rackLabel"]: f"rack-{rack + 1:03d}",
    }
    if pool.name != "default":
        labels[POOL_LABEL] = pool.name
    full = {"cpu": 64, "memoryGi": 512}
    share = 1.0
    if pool.gpus_per_node:
        product = data["products"][pool.gpu_product]
        labels |= _gpu_labels(pool.gpu_product, product, pool.gpus_per_node)
        full, share = product["node"], pool.gpus_per_node / _FULL_NODE
    else:
        labels["node.kubernetes.io/instance-type"] = "cpu"
    capacity = _resources(int(full["cpu"] * share), int(full["memoryGi"] * share), pool.gpus_per_node)
    kept = data["reserved"]
    allocatable = _resources(
        int(full["cpu"] * share) - kept["cpu"], int(full["memoryGi"] * share) - kept["memoryGi"], pool.gpus_per_node
    )
    return {
        "metadata": {"name": name, "labels": labels, "annotations": {"kwok.x-k8s.io/node": "fake"}},
        "spec": {"taints": [dict(TAINT)]},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "addresses": [
                {"type": "InternalIP", "address": f"198.19.{(position + 1) >> 8}.{(position + 1) & 255}"},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": node_info(kubelet, "kwok"),
        },
    }


def node_info(kubelet: str, runtime: str) -> Object:
    """``status.nodeInfo``; all fields are required by the API."""
    return {
        "architecture": "amd64",
        "bootID": "",
        "containerRuntimeVersion": f"{runtime}://0",
        "kernelVersion": "6.8.0",
        "kubeProxyVersion": "",
        "kubeletVersion": kubelet,
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": f"simulated ({runtime})" if runtime == "kwok" else runtime,
        "systemUUID": "",
    }


def _resources(cpu: int, memory_gi: int, gpus: int) -> Object:
    resources = {
        "cpu": str(cpu),
        "memory": f"{memory_gi}Gi",
        "pods": str(_PODS_PER_NODE),
        "ephemeral-storage": "1000Gi",
    }
    return resources | ({"nvidia.com/gpu": str(gpus)} if gpus else {})


def _gpu_labels(name: str, product: Mapping[str, Any], gpus: int) -> dict[str, str]:
    """What NFD, GFD and the GPU Operator put on a node whose operands all run."""
    driver, cuda = profiles()["driver"], profiles()["cuda"]
    labels = {
        "node.kubernetes.io/instance-type": product["instanceType"],
        "feature.node.kubernetes.io/pci-10de.present": "true",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(gpus),
        "nvidia.com/gpu.product": name,
        "nvidia.com/gpu.memory": str(product["memoryMiB"]),
        "nvidia.com/gpu.family": product["family"],
        "nvidia.com/gpu.machine": product["machine"],
        "nvidia.com/gpu.compute.major": product["compute"]["major"],
        "nvidia.com/gpu.compute.minor": product["compute"]["minor"],
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.capable": "true" if product["migCapable"] else "false",
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/cuda.driver-version.major": driver["major"],
        "nvidia.com/cuda.driver-version.minor": driver["minor"],
        "nvidia.com/cuda.driver-version.revision": driver["revision"],
        "nvidia.com/cuda.driver-version.full": ".".join(driver.values()),
        "nvidia.com/cuda.runtime-version.major": cuda["major"],
        "nvidia.com/cuda.runtime-version.minor": cuda["minor"],
        "nvidia.com/cuda.runtime-version.full": ".".join(cuda.values()),
    }
    return labels | {f"nvidia.com/gpu.deploy.{operand}": "true" for operand in _DEPLOYED}


def differs(wanted: Object, present: Object) -> bool:
    """True where a node does not carry what its profile says; labels and taints that others added do not matter."""
    labels = present["metadata"].get("labels") or {}
    status = present.get("status") or {}
    same_labels = all(labels.get(key) == value for key, value in wanted["metadata"]["labels"].items())
    tainted = TAINT in [{k: t.get(k) for k in TAINT} for t in present.get("spec", {}).get("taints") or ()]
    same_size = all((status.get(part) or {}) == wanted["status"][part] for part in ("capacity", "allocatable"))
    return not (same_labels and tainted and same_size)

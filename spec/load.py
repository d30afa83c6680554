"""From a YAML file to a :class:`spec.model.ClusterSpec`, or to all of its problems at once, each with file, line and field."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

from base.errors import InvalidInput, NotFound, Position, Problem, SpecError
from base.yamltree import Table, parse, plain
from spec.facts import read_facts
from spec.model import AddonRequest, ClusterSpec, NodePool, Target, TargetKind
from spec.placement import read_placement
from spec.reader import Problems, Section, root
from spec.tenancy import DEFAULT_POOL, read_tenancy

__all__ = ["load", "loads"]

_FIELDS = ("cluster", "channel", "target", "scheduler", "addons", "nodePools", "tenancy", "facts", "placement")
_TARGET_FIELDS = ("kind", "kubernetes", "kubeconfig", "context")
_POOL_FIELDS = ("name", "count", "gpusPerNode", "gpuProduct")
_KINDS: tuple[TargetKind, ...] = ("embedded", "kind", "cluster")
_MINOR = re.compile(r"1\.[0-9]{1,3}\Z")
#: A label value (GFD writes the product into the label ``nvidia.com/gpu.product``).
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?\Z")

#: Nodes of an embedded cluster whose spec names no node pool.
DEFAULT_NODES = 8
DEFAULT_GPUS = 8
DEFAULT_PRODUCT = "NVIDIA-H100-80GB-HBM3"


def load(path: Path) -> ClusterSpec:
    """The spec in ``path``.

    NotFound when there is no such file, InvalidInput when it cannot be read as a file, SpecError with every problem
    found otherwise.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise NotFound("no such cluster spec", where=str(path), todo="see clusters/ for examples") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InvalidInput(f"the cluster spec cannot be read: {reason}", where=repr(str(path))) from error
    return loads(data, path)


def loads(data: bytes, source: Path) -> ClusterSpec:
    """The spec in ``data``; ``source`` is used in messages and as the base of relative paths. SpecError as for :func:`load`."""
    tree, found = parse(data, str(source))
    if tree is None:
        raise SpecError(found)
    problems = Problems()
    problems.found.extend(found)
    section = root(tree, _FIELDS, problems)
    spec = _read(section, source) if section else None
    if problems.found or spec is None:
        raise SpecError(_unique(problems.found))
    return spec


def _read(section: Section, source: Path) -> ClusterSpec:
    name = section.label("cluster", required=True)
    target = _read_target(section, source)
    channel = section.label("channel", default="stable")
    scheduler = section.label("scheduler", default="auto")
    pools = _read_pools(section, target)
    tenancy = read_tenancy(section, {pool.name: pool for pool in pools}, embedded=target.kind == "embedded")
    return ClusterSpec(
        name=name,
        target=target,
        channel=channel,
        scheduler=scheduler,
        addons=_read_addons(section),
        node_pools=pools,
        tenancy=tenancy,
        source=source,
        facts=read_facts(section),
        placement=read_placement(section),
    )


def _read_target(section: Section, source: Path) -> Target:
    table = section.mapping("target", required=True, shape="a mapping such as {kind: embedded}")
    if table is None:
        return Target("cluster")
    target = Section(table, "target", _TARGET_FIELDS, section.problems)
    word = target.text("kind", required=True, choices=_KINDS)
    kind = cast(TargetKind, word or "cluster")
    kubernetes = target.text("kubernetes").removeprefix("v")
    if kubernetes and not _MINOR.match(kubernetes):
        target.bad("kubernetes", f"{kubernetes!r} is no Kubernetes minor", 'write it as "1.36", without a patch level')
    kubeconfig, context = target.text("kubeconfig"), target.text("context")
    if word and word != "cluster":
        for name in ("kubeconfig", "context"):
            if target.has(name):
                target.bad(name, f"has no meaning for kind {word}", "only kind cluster is reached by a kubeconfig of yours")
    elif word == "cluster" and not target.has("kubeconfig"):
        target.bad("kubeconfig", "is missing", "kind cluster needs the kubeconfig file that reaches it")
    path = (source.absolute().parent / Path(kubeconfig).expanduser()) if _is_path(target, kubeconfig) else None
    return Target(kind, kubernetes, path, context)


def _is_path(target: Section, text: str) -> bool:
    if not text:
        return False
    try:
        Path(text).expanduser()
    except (RuntimeError, ValueError):  # no such user behind ~name
        target.bad("kubeconfig", f"{text!r} is no path on this machine")
        return False
    if "\0" in text:
        target.bad("kubeconfig", "is no path")
        return False
    return True


def _read_pools(section: Section, target: Target) -> tuple[NodePool, ...]:
    pools: dict[str, NodePool] = {}
    for pool in section.sections("nodePools", _POOL_FIELDS):
        name = pool.label("name", required=True)
        count = pool.whole("count", default=0, minimum=0, maximum=100_000)
        gpus = pool.whole("gpusPerNode", default=DEFAULT_GPUS, minimum=0, maximum=64)
        product = pool.text("gpuProduct", default=DEFAULT_PRODUCT)
        if not _LABEL_VALUE.match(product):
            pool.bad("gpuProduct", f"{product!r} is no label value", "GFD's form, such as NVIDIA-H100-80GB-HBM3")
        if target.kind == "embedded" and not pool.has("count"):
            pool.bad("count", "is missing", "the embedded target makes that many nodes")
        if name in pools:
            pool.bad("name", f"node pool {name!r} is already there")
        elif name:
            pools[name] = NodePool(name, count, gpus, product)
    if not pools and not section.has("nodePools"):
        pools[DEFAULT_POOL] = NodePool(DEFAULT_POOL, DEFAULT_NODES if target.kind == "embedded" else 0)
    return tuple(pools.values())


def _read_addons(section: Section) -> tuple[AddonRequest, ...]:
    table = section.mapping("addons", shape="a mapping of add-on names, such as cert-manager: {}")
    if table is None:
        return ()
    addons = Section(table, "addons", tuple(table.entries), section.problems)
    requests = []
    for name in table.entries:
        body = addons.mapping(name, shape="version, config and values, or nothing") or Table({}, addons.position(name))
        request = Section(body, addons.at(name), ("version", "config", "values"), section.problems)
        version = request.text("version")
        config, values = (_plain(request.mapping(part)) for part in ("config", "values"))
        requests.append(AddonRequest(name, version, values, addons.position(name).line, config, body))
    return tuple(requests)


def _plain(table: Table | None) -> dict[str, Any]:
    return plain(table) if table is not None else {}


def _unique(problems: list[Problem]) -> list[Problem]:
    """One problem may be met on two ways through the file."""
    seen: dict[tuple[Position, str, str], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.position, problem.field, problem.message), problem)
    return list(seen.values())

"""``chandlery target``: local clusters."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from base.errors import Exit, InvalidInput
from cli.context import App, table


@click.group()
def target() -> None:
    """Local clusters: a control plane of host processes with simulated GPU nodes, on loopback.

    \b
    Example:  chandlery target up --name lab --nodes 16 --gpus-per-node 8
              export KUBECONFIG=$(chandlery target kubeconfig --name lab)
    """


_name = click.option("--name", default="quickstart", show_default=True, help="Name of the cluster.")


@target.command()
@click.option("--name", help="Name of the cluster; with --spec, the spec's.")
@click.option("-c", "--spec", "spec_file", type=click.Path(path_type=Path, dir_okay=False), help="Nodes and version from a spec.")
@click.option("--nodes", default=8, show_default=True, type=click.IntRange(0, 5000), help="GPU nodes.")
@click.option("--gpus-per-node", default=8, show_default=True, type=click.IntRange(0, 16))
@click.option("--gpu-product", default="NVIDIA-H100-80GB-HBM3", show_default=True, help="As GPU feature discovery labels it.")
@click.option("--kubernetes", default="1.36", show_default=True, help="Kubernetes minor.")
@click.option("--api-port", default=0, type=click.IntRange(0, 65535), help="Port of the API server [default: a free one].")
@click.pass_obj
def up(
    app: App,
    name: str | None,
    spec_file: Path | None,
    nodes: int,
    gpus_per_node: int,
    gpu_product: str,
    kubernetes: str,
    api_port: int,
) -> int:
    """Make a cluster, go on where it was interrupted, repair what died, add nodes. What is right is not touched."""
    from cli.session import target_up
    from spec.load import load
    from spec.model import NodePool
    from validation.targets.embedded import TargetRequest

    if spec_file:
        spec = load(spec_file)
        if spec.target.kind != "embedded":
            raise InvalidInput(f"the target of {spec.name} is {spec.target.kind}, not embedded", where=str(spec_file))
        request = TargetRequest(spec.name, app.state, spec.target.kubernetes or kubernetes, spec.node_pools, api_port)
    else:
        pool = NodePool("default", nodes, gpus_per_node, gpu_product)
        request = TargetRequest(name or "quickstart", app.state, kubernetes, (pool,), api_port)
    status = target_up(app, request)
    app.print(asdict(status), _describe(status.name, status))
    return Exit.OK


@target.command()
@_name
@click.option("--all", "every", is_flag=True, help="Every cluster of this state directory.")
@click.option("--keep", is_flag=True, help="Stop the processes and keep the cluster's data, for a later up.")
@click.pass_obj
def down(app: App, name: str, every: bool, keep: bool) -> int:
    """Stop a cluster by its recorded process ids and remove it."""
    from cli.session import target_down
    from validation.targets import embedded

    names = embedded.names(app.state) if every else [name]
    stopped = {each: target_down(app, each, delete=not keep) for each in names}
    if every and (left := embedded.sweep(app.state, app.reporter)):
        stopped["clusters without a directory"] = left
    text = "\n".join(f"{each}: {len(what)} processes stopped" for each, what in stopped.items())
    app.print(stopped, text or "no local cluster here; nothing to do")
    return Exit.OK


@target.command()
@_name
@click.pass_obj
def status(app: App, name: str) -> int:
    """What runs of a cluster. Exit 1 when it is not whole."""
    from validation.targets import embedded

    found = embedded.status(app.state, name)
    rows = [(p.name, p.pid or "not running", p.log) for p in found.processes]
    app.print(asdict(found), _describe(name, found) + "\n\n" + table(("process", "pid", "log"), rows))
    return Exit.OK if found.ready else Exit.CHECK_FAILED


@target.command()
@_name
@click.pass_obj
def kubeconfig(app: App, name: str) -> int:
    """Print the path of a cluster's kubeconfig."""
    from validation.targets import embedded

    path = embedded.kubeconfig(app.state, name)
    app.print({"kubeconfig": path}, str(path))
    return Exit.OK


def _describe(name: str, found: object) -> str:
    from validation.targets.embedded import TargetStatus

    assert isinstance(found, TargetStatus)
    state = "ready" if found.ready else "not ready"
    return (
        f"cluster {name} is {state}: Kubernetes {found.kubernetes or '-'} at {found.server}, "
        f"{found.nodes_ready} of {found.nodes_total} nodes ready\nkubeconfig: {found.kubeconfig}"
    )

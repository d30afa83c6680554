"""Runs the engine on a synthetic stack as a program of its own, so that it can be killed, and prints the outcome as JSON.

``python -m tests.components.driver VERB JSON`` with {state, kubeconfig, uid, variant, replaceCluster}. Errors of ours end it
with their exit code, as the command line does.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from base.errors import ChandleryError, exit_code
from base.events import JsonReporter, QuietReporter
from components.engine import Engine
from components.layout import Tools
from components.program import Declaration, prepare
from tests.components import synthetic
from toolchain import obtain_all, pins, pulumi_environment

STACK = "synthetic"
SPEC = Path("/spec/synthetic.yaml")


def declaration(kubeconfig: Path, uid: str, variant: str) -> Declaration:
    """``standard``: everything becomes ready at once. ``waiting``: KAI's Config must become Ready, which nobody here sees to.
    ``changed``: another value in the ConfigMap, one queue more. ``broken``: an object that the API server does not take."""
    plan, rendered, tenancy = synthetic.standard()
    target: Any = "embedded"
    if variant in {"changed", "broken"}:
        for obj in rendered["kai-reference"].objects:
            if obj["kind"] == "ConfigMap":
                obj["data"]["level"] = "2"
        tenancy = (*tenancy, synthetic.queue("speech", "research"))
    if variant == "broken":
        tenancy[-1]["metadata"]["name"] = "Not_A_Name"
    if variant == "waiting":
        kai = synthetic.item("kai-scheduler", requires=["cert-manager"], webhooks=synthetic.STANDARD_ITEMS[1].webhooks)
        plan = synthetic.plan(synthetic.STANDARD_ITEMS[0], kai, scheduler="kai-scheduler")
        rendered = {"cert-manager": rendered["cert-manager"], "kai-scheduler": rendered["kai-reference"]}
    return prepare(plan, rendered, tenancy, synthetic.facts(kubeconfig, uid, target=target), synthetic.issue)


def tools() -> Tools:
    """What the toolchain has; it is not the business of these tests to build it."""
    quiet = QuietReporter()
    obtain_all(["pulumi", "pulumi-resource-kubernetes"], quiet, offline=True)
    return Tools.of(pulumi_environment(quiet), pins.load().tool("pulumi").version)


def main() -> int:
    verb, given = sys.argv[1], json.loads(sys.argv[2])
    kubeconfig, uid = Path(given["kubeconfig"]), given["uid"]
    try:
        engine = Engine(
            STACK,
            synthetic.facts(kubeconfig, uid),
            SPEC,
            state=Path(given["state"]),
            tools=tools(),
            reporter=JsonReporter(),
        )
        made = declaration(kubeconfig, uid, given.get("variant", "standard"))
        if verb == "up":
            outcome = engine.up(made, replace_cluster=given.get("replaceCluster", False))
        elif verb == "preview":
            outcome = engine.preview(made)
        else:
            outcome = getattr(engine, verb)()
    except ChandleryError as error:
        print(error, file=sys.stderr)
        return int(exit_code(error) or 70)
    except KeyboardInterrupt:
        return 130
    print(json.dumps(asdict(outcome)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m schedulers.engine``: the reference engine as a program. Reads KUBECONFIG, writes events to standard error."""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from pathlib import Path

from base.errors import ChandleryError, Exit, InvalidInput, exit_code
from base.events import JsonReporter, Reporter, TextReporter
from base.kube import Cluster
from schedulers.engine.health import Health
from schedulers.engine.loop import Engine, Options
from schedulers.kai import names


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m schedulers.engine", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, default=None, help="default: the environment variable KUBECONFIG")
    parser.add_argument("--scheduler-name", default=names.SCHEDULER_NAME)
    parser.add_argument("--namespace", default=names.NAMESPACE, help="where the lease is kept")
    parser.add_argument(
        "--partition-label-value", default=None, help="serve only this node pool ('' is the default one); default: all pools"
    )
    parser.add_argument("--schedule-period", type=float, default=1.0, help="longest time between two looks, in seconds")
    parser.add_argument("--health-address", default="", help="loopback HOST:PORT of /healthz, /readyz and /statusz")
    parser.add_argument("--identity", default=os.environ.get("POD_NAME") or f"{socket.gethostname()}_{os.getpid()}")
    parser.add_argument("--once", action="store_true", help="one cycle for each pool, then end")
    parser.add_argument("--text", action="store_true", help="lines for people instead of JSON")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Exit code as everywhere (:mod:`base.errors`); SIGTERM and SIGINT end the engine in an orderly way."""
    options = _arguments(argv)
    reporter: Reporter = TextReporter() if options.text else JsonReporter()
    try:
        _run(options, reporter)
    except ChandleryError as error:
        reporter.event("failed", str(error), error=type(error).__name__)
        return int(exit_code(error) or Exit.UNAVAILABLE)
    return int(Exit.OK)


def _run(options: argparse.Namespace, reporter: Reporter) -> None:
    kubeconfig = options.kubeconfig or (Path(os.environ["KUBECONFIG"]) if os.environ.get("KUBECONFIG") else None)
    if kubeconfig is None:
        raise InvalidInput("no kubeconfig", todo="set KUBECONFIG or give --kubeconfig FILE")
    with Cluster(kubeconfig) as cluster:
        engine = Engine(
            cluster,
            reporter,
            Options(
                scheduler_name=options.scheduler_name,
                namespace=options.namespace,
                partition=options.partition_label_value,
                period_s=options.schedule_period,
                identity=options.identity,
            ),
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: engine.stop())
        health = Health(options.health_address, engine.health, engine.details) if options.health_address else None
        try:
            engine.run(once=options.once)
        finally:
            if health:
                health.close()


if __name__ == "__main__":
    sys.exit(main())

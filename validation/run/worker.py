"""A child process of a run: ``python -m validation.run.worker ORDER.json``.

It says which checks there are, then runs what it is told to (``run NAME`` or ``stop`` a line on standard input) and answers
with one JSON message a line on standard output. It is a process of its own so that nothing that a check does can take the
verdict with it, and so that the parent can end it. When the parent is gone (standard input closes), the running check is
broken off and cleaned up.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

import validation.suite
from base.kube import Cluster
from validation.context import Context
from validation.harness.times import Times
from validation.run import fixtures
from validation.run.plugin import Plugin
from validation.run.session import Session

_ROOT = Path(__file__).resolve().parents[2]


def main(order_file: str) -> int:
    """0 when pytest came to its end, whatever the verdicts; everything else is a fault of the run itself."""
    order = json.loads(Path(order_file).read_text())
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever prints goes to the log; the channel is for messages alone

    def send(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=channel, flush=True)

    orders: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    context = Context.from_json(json.dumps(order["context"]))
    with channel, Cluster(Path(context.kubeconfig), context=context.context or None) as cluster:
        plugin = Plugin(Session(context, cluster, Times(**order["times"])), order["wanted"], send, orders)
        plugin.listen()
        warnings.simplefilter("default")
        code = pytest.main(_arguments(order["suite"]), plugins=[plugin, fixtures])
        send({"type": "end"})
    return 3 if code in {pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR} else 0


def _arguments(suite: str) -> list[str]:
    folder = suite or str(Path(validation.suite.__path__[0]))
    plugins = [part for name in ("cacheprovider", "terminal", "junitxml", "xdist", "timeout") for part in ("-p", f"no:{name}")]
    return [folder, f"--rootdir={_ROOT}", f"--config-file={os.devnull}", *plugins]


def _listen(orders: queue.SimpleQueue[str]) -> None:
    with os.fdopen(os.dup(0), "rb", buffering=0) as lines:
        for line in lines:
            orders.put(line.decode().strip())
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

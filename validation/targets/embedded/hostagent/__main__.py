"""``python -m validation.targets.embedded.hostagent CLUSTER_DIRECTORY``, started by ``target up``."""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path

from validation.targets.embedded.hostagent.agent import Agent
from validation.targets.embedded.layout import Layout


def main() -> None:
    # Short relative paths reach the socket however deep the state directory is.
    directory = Path(sys.argv[1]).absolute()
    os.chdir(directory)
    os.umask(0o077)
    # Programs of pods go on without the agent; the next one adopts them.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    Agent(Layout.of(directory)).run()


if __name__ == "__main__":
    main()

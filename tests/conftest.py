"""What holds for every test."""

from __future__ import annotations

import signal

# A shell starts its background jobs with SIGINT ignored, and every child inherits that: the tests of Ctrl-C would then
# wait for ever. CI may be started that way.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""The service proxy: Service addresses of the loopback range lead to programs, and so does what the API server sends.

Two ways in. Programs dial a Service's cluster IP, on which this process listens. The API server sends everything for the
cluster (webhooks, above all) as HTTP CONNECT through a socket in the cluster directory, so that webhooks work where
ports below 1024 may not be listened on, and nothing that it dials can ever leave the machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import os
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

from validation.targets.embedded.addressing import Addressing
from validation.targets.embedded.hostagent.services import Endpoint

log = logging.getLogger("hostagent")
_CONNECT_SECONDS = 5.0
_CHUNK = 65536


class Proxy:
    """Runs an event loop in a thread of its own; :meth:`update` may be called from any thread."""

    def __init__(self, addressing: Addressing, socket_path: Path) -> None:
        self._addressing, self._socket_path = addressing, socket_path
        self._table: dict[Endpoint, list[Endpoint]] = {}
        self._servers: dict[Endpoint, asyncio.Server] = {}
        self._complained: set[Endpoint] = set()
        self._turn = itertools.count()
        self._busy: asyncio.Lock | None = None
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Listen on the socket, then serve; returns once the API server can connect."""
        started = threading.Event()
        threading.Thread(target=self._run, args=(started,), name="proxy", daemon=True).start()
        started.wait()

    def update(self, table: dict[Endpoint, list[Endpoint]]) -> None:
        """Take a new table up."""
        self._loop.call_soon_threadsafe(self._take, table)

    def _run(self, started: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._listen())
        started.set()
        self._loop.run_forever()

    async def _listen(self) -> None:
        self._busy = asyncio.Lock()
        self._socket_path.unlink(missing_ok=True)
        before = os.umask(0o177)
        try:
            await asyncio.start_unix_server(self._connect, path=str(self._socket_path))
        finally:
            os.umask(before)

    def _take(self, table: dict[Endpoint, list[Endpoint]]) -> None:
        self._table = table
        task = self._loop.create_task(self._reconcile())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reconcile(self) -> None:
        assert self._busy is not None
        async with self._busy:
            for endpoint in [e for e in self._servers if e not in self._table]:
                self._servers.pop(endpoint).close()
            for endpoint in [e for e in self._table if e not in self._servers]:
                try:
                    self._servers[endpoint] = await asyncio.start_server(self._accept(endpoint), *endpoint)
                except OSError as error:
                    if endpoint not in self._complained:
                        self._complained.add(endpoint)
                        log.warning("cannot listen on %s:%d for programs (%s); the API server still gets there", *endpoint, error)

    def resolve(self, host: str, port: int) -> Endpoint | None:
        """Where a connection to ``host:port`` goes: a Service, a pod of this node, or nowhere."""
        if (host, port) in self._table:
            leads = self._table[(host, port)]
            return leads[next(self._turn) % len(leads)] if leads else None
        listen = self._addressing.listen_address(host) if host.count(".") == 3 else None
        return (listen, port) if listen else None

    def _accept(self, endpoint: Endpoint) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            lead = self.resolve(*endpoint)
            with contextlib.suppress(OSError, asyncio.TimeoutError):
                if lead:
                    there = await asyncio.wait_for(asyncio.open_connection(*lead), _CONNECT_SECONDS)
                    await _splice((reader, writer), there)
            writer.close()

        return accept

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One CONNECT of the API server's."""
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _CONNECT_SECONDS)
            method, target = head.split(b"\r\n", 1)[0].decode("ascii").split(" ")[:2]
            host, _, port = target.rpartition(":")
            lead = self.resolve(host, int(port)) if method == "CONNECT" else None
            if lead is None:
                log.info("no program behind %s", target)
                writer.write(b"HTTP/1.1 503 No program behind this address\r\n\r\n")
                await writer.drain()
            else:
                there = await asyncio.wait_for(asyncio.open_connection(*lead), _CONNECT_SECONDS)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.drain()
                await _splice((reader, writer), there)
        except (TimeoutError, OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            log.info("connection of the API server: %s", error)
            with contextlib.suppress(OSError):
                writer.write(b"HTTP/1.1 502 Program does not answer\r\n\r\n")
                await writer.drain()
        finally:
            writer.close()


async def _splice(
    one: tuple[asyncio.StreamReader, asyncio.StreamWriter], other: tuple[asyncio.StreamReader, asyncio.StreamWriter]
) -> None:
    """Carry bytes both ways until both sides have ended."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(_CHUNK):
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    try:
        await asyncio.gather(carry(one[0], other[1]), carry(other[0], one[1]))
    finally:
        other[1].close()

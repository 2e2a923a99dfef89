"""A server's life: it listens, reloads on SIGHUP, and ends on SIGTERM with nothing lost.

After SIGTERM or SIGINT ``/readyz`` says no at once and every answer closes its connection. For ``drain_notice`` seconds
requests are taken as before; then nobody new is let in, those under way end, and the process with them. A second signal
ends it at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence

import uvicorn

from dragoman.errors import ConfigError, DragomanError
from dragoman.server.guard import Guard
from dragoman.server.protocol import protocol_with
from dragoman.server.settings import ServerSettings

__all__ = ["bound_socket", "live"]

_IDLE_GRACE = 0.3  # seconds for requests that are on their way on connections which are about to be closed
_KEEP_ALIVE = 15
_BACKLOG = 2048


async def live(guard: Guard, bound: socket.socket, on_start: Callable[[], None] = lambda: None) -> None:
    """Take requests on a bound socket until a signal, and return when all that were taken have their answer."""
    server = _Server(guard)
    with _signals(server):
        await server.serve_on(bound, on_start)


def bound_socket(settings: ServerSettings) -> tuple[socket.socket, str]:
    """The socket to listen on, bound but not open yet, and its address as one types it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"host and port must be an address that is free, got {settings.host} and {settings.port}: {why}; take "
            "another with --port"
        ) from None
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return bound, f"http://{host}:{bound.getsockname()[1]}"


class _Server(uvicorn.Server):
    """uvicorn's server, with our way of ending."""

    def __init__(self, guard: Guard) -> None:
        config = uvicorn.Config(
            guard,
            http=protocol_with(guard.settings.limits),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            backlog=_BACKLOG,
        )
        super().__init__(config)
        self.guard = guard

    async def serve_on(self, bound: socket.socket, on_start: Callable[[], None]) -> None:
        """Take requests until it is told to end."""
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=[bound])
        on_start()
        await self.main_loop()
        await self.shutdown([bound])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: they are ours."""
        yield

    def end(self) -> None:
        """Begin to end: nothing is ready any more."""
        self.guard.is_draining = True
        self.guard.log.event("draining", notice=self.guard.settings.drain_notice)
        asyncio.get_running_loop().call_later(self.guard.settings.drain_notice, setattr, self, "should_exit", True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let nobody new in, and wait for those who are; answers close their connections."""
        await self._close_the_door(sockets or [])
        loop = asyncio.get_running_loop()
        closes, ends = loop.time() + _IDLE_GRACE, loop.time() + max(_IDLE_GRACE, self.guard.settings.drain_seconds)
        while (self.server_state.connections or self.server_state.tasks) and loop.time() < ends:
            if loop.time() >= closes:
                await asyncio.sleep(0)  # what has arrived meanwhile is read first
                for connection in list(self.server_state.connections):
                    connection.shutdown()
            await asyncio.sleep(0.02)
        left = [task for task in self.server_state.tasks if not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        self.guard.log.event("ended", cut_off=len(left))

    async def _close_the_door(self, sockets: Sequence[socket.socket]) -> None:
        """Stop listening. Whoever the system has let in by then is ours, though nobody has looked at them yet."""
        waiting = [connection for listening in sockets for connection in _accepted(listening)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for connection in waiting:
            with contextlib.suppress(OSError):
                await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def _accepted(listening: socket.socket) -> Iterator[socket.socket]:
    """All connections that wait to be accepted."""
    with contextlib.suppress(OSError):  # nobody waits, or it is closed already
        while True:
            connection, _ = listening.accept()
            connection.setblocking(False)
            yield connection


@contextlib.contextmanager
def _signals(server: _Server) -> Iterator[None]:
    loop, guard = asyncio.get_running_loop(), server.guard
    under_way: set[asyncio.Task[None]] = set()

    def end(number: int) -> None:
        if guard.is_draining:  # the second time: whoever asks twice does not want to wait
            sys.stderr.flush()
            os._exit(128 + number)
        server.end()

    def reload() -> None:
        task = loop.create_task(_reload(guard))
        under_way.add(task)
        task.add_done_callback(under_way.discard)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end, number)
    loop.add_signal_handler(signal.SIGHUP, reload)
    try:
        yield
    finally:
        for task in under_way:
            task.cancel()


async def _reload(guard: Guard) -> None:
    """Look at keys and bundles again; what is wrong with either is logged, and the old goes on."""
    if guard.gate.keys is not None:
        try:
            guard.log.event("keys", count=guard.gate.keys.reload())
        except DragomanError as error:
            guard.log.event("keys", kept=len(guard.gate.keys), why=str(error))
    outcome = await guard.service.reload()
    guard.log.event("reload", reloaded=outcome.reloaded, kept=outcome.kept, failed=outcome.failed)

"""Run uvicorn: finish running requests on SIGTERM, reload API keys and models on SIGHUP.

After SIGTERM or SIGINT ``/readyz`` fails and every response closes its connection. For ``drain_notice`` seconds new
requests are accepted; then the socket is closed, running requests finish, and the process ends, at the latest two
seconds after ``drain_seconds``. A second signal ends it at once.
"""

import asyncio
import contextlib
import functools
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import asdict

import uvicorn

from dragoman.errors import ConfigError, DragomanError
from dragoman.server.exit_deadline import ExitDeadline
from dragoman.server.http.middleware import RequestMiddleware
from dragoman.server.http.protocol import make_protocol
from dragoman.server.request_types import ReloadResult
from dragoman.server.settings import ServerSettings
from dragoman.stop_signal import handle_in_loop

_IDLE_GRACE = 0.3  # seconds for requests in transit on connections that are about to be closed
_CANCEL_GRACE = 0.3  # seconds for cancelled requests to send their response
_EXIT_GRACE = 1.0  # seconds between the end of the drain and the exit of the process
_KEEP_ALIVE = 15
_BACKLOG = 2048
_OTHER_FILES = 512  # connections beyond the limit, stored documents, models

Reload = Callable[[], Awaitable[ReloadResult]]


async def serve_until_signal(
    app: RequestMiddleware,
    bound: socket.socket,
    reload: Reload,
    on_start: Callable[[], None] = lambda: None,
    deadline: ExitDeadline | None = None,
) -> None:
    """Serve on a bound socket until a signal, and return when all accepted requests have their response.

    The signal sets the deadline of the process.
    """
    server = _Server(app, deadline or ExitDeadline())
    with _signal_handlers(server, reload):
        await server.serve_on(bound, on_start)


def bind_socket(settings: ServerSettings) -> tuple[socket.socket, str]:
    """Bind the socket, without listening, and return it with its URL."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"the server cannot listen on {settings.host}, port {settings.port}: {reason}; use another --port or --host"
        ) from None
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return bound, f"http://{host}:{bound.getsockname()[1]}"


class _Server(uvicorn.Server):
    """uvicorn server with graceful draining."""

    def __init__(self, app: RequestMiddleware, deadline: ExitDeadline) -> None:
        config = uvicorn.Config(
            app,
            http=make_protocol(app.settings.limits, app.routes.health_paths),
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
        self.app = app
        self._deadline = deadline
        self._drain_ends = 0.0

    async def serve_on(self, bound: socket.socket, on_start: Callable[[], None]) -> None:
        """Accept requests until `should_exit`."""
        _raise_file_limit(self.app.settings.limits.connections)
        self.config.load()
        self.lifespan = self.config.lifespan_class(self.config)
        await self.startup(sockets=[bound])
        on_start()
        await self.main_loop()
        await self.shutdown([bound])

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Disable uvicorn's signal handlers."""
        yield

    def start_draining(self) -> None:
        """Report not ready, and stop after `drain_notice` seconds."""
        loop, settings = asyncio.get_running_loop(), self.app.settings
        seconds = max(settings.drain_notice, settings.drain_seconds)
        self._drain_ends = loop.time() + seconds
        self._deadline.start(seconds + _EXIT_GRACE)
        self.app.is_draining = True
        self.app.log.event(
            "draining", f"new requests are accepted for {settings.drain_notice:g} s", notice=settings.drain_notice
        )
        loop.call_later(settings.drain_notice, setattr, self, "should_exit", True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections and wait for running requests; their responses close the connections."""
        await self._stop_listening(sockets or [])
        loop = asyncio.get_running_loop()
        closes = loop.time() + _IDLE_GRACE
        ends = max(closes, self._drain_ends)
        while (self.server_state.connections or self.server_state.tasks) and loop.time() < ends:
            if loop.time() >= closes:
                await asyncio.sleep(0)  # received bytes are read first
                for connection in list(self.server_state.connections):
                    connection.shutdown()
            await asyncio.sleep(0.02)
        left = [task for task in self.server_state.tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_CANCEL_GRACE)
        cut_off = (
            f"{len(left)} {'request was' if len(left) == 1 else 'requests were'} cut off"
            if left
            else "every request has its response"
        )
        self.app.log.event("ended", cut_off, cut_off=len(left))

    async def _stop_listening(self, sockets: Sequence[socket.socket]) -> None:
        """Close the listening sockets, and serve the connections of their backlog."""
        backlog = [connection for listening in sockets for connection in _accept_backlog(listening)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for connection in backlog:
            with contextlib.suppress(OSError):
                await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def _raise_file_limit(connections: int) -> None:
    """Raise the limit of open files: without a free one no connection is accepted, not even that of a health check."""
    try:
        import resource  # noqa: PLC0415 -- not on Windows, which has no such limit
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _accept_backlog(listening: socket.socket) -> Iterator[socket.socket]:
    with contextlib.suppress(OSError):  # the backlog is empty, or the socket closed
        while True:
            connection, _ = listening.accept()
            connection.setblocking(False)
            yield connection


@contextlib.contextmanager
def _signal_handlers(server: _Server, reload: Reload) -> Iterator[None]:
    loop, app = asyncio.get_running_loop(), server.app
    reloads: set[asyncio.Task[None]] = set()

    def stop(number: int) -> None:
        if app.is_draining:  # the second signal
            sys.stderr.flush()
            os._exit(128 + number)
        server.start_draining()

    def start_reload() -> None:
        task = loop.create_task(reload_all(app, reload))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    stops = {number.name: functools.partial(stop, number) for number in (signal.SIGTERM, signal.SIGINT)}
    handle_in_loop(loop, {**stops, "SIGHUP": start_reload})
    try:
        yield
    finally:
        for task in reloads:
            task.cancel()


async def reload_all(app: RequestMiddleware, reload: Reload) -> None:
    """Reload API keys and bundles; an error is logged, and the old ones stay in use."""
    keys = app.access.keys
    if keys is not None:
        try:
            count = keys.reload()
            app.log.event("keys", f"{count} read", count=count)
        except DragomanError as error:
            app.log.event("keys", f"{len(keys)} kept: {error}", kept=len(keys), why=str(error))
    try:
        result = await reload()
    except DragomanError as error:
        app.log.event("reload", f"all models unchanged: {error}", why=str(error))
    else:
        app.log.event("reload", str(result), **asdict(result))

"""Run uvicorn: finish running requests on SIGTERM, reload API keys and models on SIGHUP.

After SIGTERM or SIGINT ``/readyz`` fails and every response closes its connection. For ``drain_notice`` seconds new
requests are accepted; then the socket is closed, running requests finish, and the process ends, at the latest two
seconds after ``drain_seconds``. A second signal ends it at once.

Python waits for the threads of executors at its exit, and a search or a document parser in native code cannot be
interrupted. A thread ends the process in that case, after the functions registered with `atexit`, which delete
temporary folders. If they hang, or no thread can run, the default action of SIGALRM ends it.
"""

import asyncio
import atexit
import contextlib
import functools
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from dragoman.errors import ConfigError, DragomanError
from dragoman.server.http.middleware import RequestMiddleware
from dragoman.server.http.protocol import make_protocol
from dragoman.server.request_types import ReloadResult
from dragoman.server.settings import ServerSettings
from dragoman.stop_signal import handle_in_loop

_HAS_ALARM = hasattr(signal, "setitimer")  # not on Windows
_ALARM_DELAY = 0.6  # seconds after the deadline
_IDLE_SECONDS = 0.2  # for the threads of closed executors to end
_WORKERS = "dragoman-"  # names of our threads begin with this


class ExitDeadline:
    """Deadline of this process. `start` must be called on the main thread."""

    def __init__(self, on_exit: Callable[[], None] = lambda: None) -> None:
        self._on_exit = on_exit
        self._cancelled = threading.Event()
        self._is_started = False

    def start(self, seconds: float) -> None:
        """Set the deadline; a second call does nothing."""
        if self._is_started:
            return
        self._is_started = True
        if _HAS_ALARM:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, seconds + _ALARM_DELAY)
        threading.Thread(target=self._wait, args=(seconds,), name="dragoman-deadline", daemon=True).start()

    def cancel_if_idle(self) -> None:
        """Cancel the deadline unless a thread still works, for which Python would wait at its exit."""
        if not self._is_started:
            return
        end = time.monotonic() + _IDLE_SECONDS
        while is_working := any(map(_is_working, threading.enumerate())):
            if time.monotonic() > end:
                break
            time.sleep(0.005)
        if not is_working:
            self._cancelled.set()
            if _HAS_ALARM:
                signal.setitimer(signal.ITIMER_REAL, 0)

    def _wait(self, seconds: float) -> None:
        if self._cancelled.wait(seconds):
            return
        with contextlib.suppress(Exception):
            self._on_exit()
            atexit._run_exitfuncs()  # noqa: SLF001 -- `os._exit` omits them
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(0)


def _is_working(thread: threading.Thread) -> bool:
    is_ours = thread.name.startswith((_WORKERS, "asyncio_"))
    return is_ours and thread.is_alive() and thread.name != "dragoman-deadline"


_IDLE_GRACE = 0.3  # seconds for requests in transit on connections that are about to be closed
_CANCEL_GRACE = 0.3  # seconds for cancelled requests to send their response
_EXIT_GRACE = 1.0  # seconds between the end of the drain and the exit of the process
_KEEP_ALIVE = 15
_BACKLOG = 2048
_RETRY_AFTER = "5"  # seconds, while models are downloaded
_LIVE = ("/livez", "/health")
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


class _PlainServer(uvicorn.Server):
    """uvicorn server that leaves signals and logs to this process."""

    def __init__(self, app: ASGIApp, **options: Any) -> None:
        quiet: dict[str, Any] = dict.fromkeys(("access_log", "proxy_headers", "server_header"), False)
        super().__init__(uvicorn.Config(app, ws="none", lifespan="off", log_config=None, **quiet, **options))

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Disable uvicorn's signal handlers."""
        yield


@dataclass(frozen=True)
class PendingBundles:
    """Bundles that are downloaded at the start, in a thread, while only health checks are answered."""

    reason: str
    """Why the server is not ready: ``getting en-pt``."""
    get: Callable[[], Mapping[str, Path]]

    @contextlib.asynccontextmanager
    async def health_checks(self, bound: socket.socket) -> AsyncIterator[None]:
        """Answer health checks on the socket while the block runs; then it keeps listening."""
        server = _PlainServer(self._app, interface="asgi3")
        serving = asyncio.create_task(server.serve(sockets=[bound.dup()]))
        try:
            yield
        finally:
            server.should_exit = server.force_exit = True
            await serving

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.url.path in _LIVE:
            response = JSONResponse({"status": "ok"})
        else:
            response = JSONResponse({"status": "not ready", "reason": self.reason}, 503)
            response.headers["retry-after"] = _RETRY_AFTER
        response.headers["cache-control"], response.headers["connection"] = "no-store", "close"
        await response(scope, receive, send)


class _Server(_PlainServer):
    """uvicorn server with graceful draining."""

    def __init__(self, app: RequestMiddleware, deadline: ExitDeadline) -> None:
        protocol = make_protocol(app.settings.limits, app.routes.health_paths)
        super().__init__(app, http=protocol, timeout_keep_alive=_KEEP_ALIVE, backlog=_BACKLOG)
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

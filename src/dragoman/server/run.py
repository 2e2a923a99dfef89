"""Run the server: bind the socket, load the models, and serve until a stop signal."""

import asyncio
import contextlib
import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.environment import limit_heaps
from dragoman.errors import DragomanError
from dragoman.server.access_log import AccessLog, set_up_logging
from dragoman.server.app import create_app
from dragoman.server.http.middleware import RequestMiddleware
from dragoman.server.metrics import ServerMetrics
from dragoman.server.pipeline.service import TranslationService, open_service
from dragoman.server.request_types import ModelInfo
from dragoman.server.settings import ServerSettings
from dragoman.server.uvicorn_server import ExitDeadline, PendingBundles, bind_socket, serve_until_signal
from dragoman.stop_signal import handle_in_loop

try:
    from uvloop import new_event_loop
except ImportError:  # not available on Windows
    new_event_loop = asyncio.new_event_loop  # type: ignore[assignment]

_START_SECONDS = 1.0  # for a model that is being loaded when a signal arrives
_DRAIN_SECONDS = 0.2  # for requests that were cancelled at the end of the drain


@dataclass(frozen=True)
class ServerInfo:
    """Models and URL of a running server."""

    models: Sequence[ModelInfo]
    url: str


OnStart = Callable[[ServerInfo], None]
ReadBundles = Callable[[], Mapping[str, Path]]


def open_models(bundles: Mapping[str, Path], settings: ServerSettings) -> tuple[Sequence[ModelInfo], int | None]:
    """Open all that a server opens except its address, and close it; returns the models and the number of API keys."""

    async def run() -> tuple[Sequence[ModelInfo], int | None]:
        service = await open_service(bundles, settings, load_all=True)
        try:
            app = create_app(service, settings)
            await app.start()
            app.close()
            keys = app.access.keys
            return service.models(), None if keys is None else len(keys)
        finally:
            await service.close()

    return asyncio.run(run())


def serve(
    bundles: Mapping[str, Path] | PendingBundles,
    settings: ServerSettings,
    on_start: OnStart = lambda _: None,
    read_bundles: ReadBundles | None = None,
) -> None:
    """Serve bundles, by model name, until a signal; `on_start` is called when requests are accepted.

    Pending bundles are downloaded first. `read_bundles` returns the bundles again at a reload.
    """
    limit_heaps()
    log = set_up_logging(settings.log)
    deadline = ExitDeadline(lambda: log.event("exit", "a thread still worked at the end of the drain"))
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner, contextlib.suppress(asyncio.CancelledError):
            runner.run(_serve(bundles, settings, on_start, read_bundles, log, deadline))
    finally:
        deadline.cancel_if_idle()


async def _serve(
    bundles: Mapping[str, Path] | PendingBundles,
    settings: ServerSettings,
    on_start: OnStart,
    read_bundles: ReadBundles | None,
    log: AccessLog,
    deadline: ExitDeadline,
) -> None:
    metrics = ServerMetrics()
    bound, url = bind_socket(settings)  # first: an occupied port is reported before models are loaded
    with bound:
        _cancel_on_signals(deadline)
        service = TranslationService(settings, metrics)
        service.read_bundles = read_bundles
        starting: list[asyncio.Task[None]] = []
        try:
            async with contextlib.AsyncExitStack() as waiting:
                if isinstance(bundles, PendingBundles):
                    await waiting.enter_async_context(bundles.health_checks(bound))
                    bundles = await asyncio.to_thread(bundles.get)
                opening = asyncio.create_task(service.open(bundles))
                await asyncio.sleep(0)  # most of the time to open a model is outside of Python: meanwhile
                try:
                    app = create_app(service, settings, metrics, log)
                    await opening
                finally:
                    opening.cancel()

            def started() -> None:
                on_start(ServerInfo(service.models(), url))
                starting.append(asyncio.create_task(_warm_up(app, log)))

            try:
                await serve_until_signal(app, bound, service.reload, started, deadline)
                await service.drain(_DRAIN_SECONDS)
            finally:
                app.close()
        finally:
            await service.close()


async def _warm_up(app: RequestMiddleware, log: AccessLog) -> None:
    """Load what only requests need, after the server is ready."""
    try:
        await app.start()
    except DragomanError as error:
        log.event("database", str(error), why=str(error))
    gc.collect()
    gc.freeze()  # long-lived objects: repeated collection would delay requests


def _cancel_on_signals(deadline: ExitDeadline) -> None:
    """Handle signals until the server does; the first process of a container has no default handlers."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        deadline.start(_START_SECONDS)
        task.cancel()

    # On SIGHUP, bundles are being opened already.
    handle_in_loop(loop, {"SIGTERM": stop, "SIGINT": stop, "SIGHUP": lambda: None})

"""``dragoman serve``, less the command line: bundles are opened, served until a signal, and closed."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.server.app import create_app
from dragoman.server.jobs import ModelFacts
from dragoman.server.lifetime import bound_socket, live
from dragoman.server.metrics import Metrics
from dragoman.server.request_log import set_up_logging
from dragoman.server.service import open_service
from dragoman.server.settings import ServerSettings

try:
    from uvloop import new_event_loop
except ImportError:  # Windows has none
    new_event_loop = asyncio.new_event_loop  # type: ignore[assignment]

__all__ = ["Listening", "new_event_loop", "serve"]


@dataclass(frozen=True)
class Listening:
    """What is served, and where."""

    models: Sequence[ModelFacts]
    url: str


Tell = Callable[[Listening], None]


def serve(bundles: Mapping[str, Path], settings: ServerSettings, tell: Tell = lambda _: None) -> None:
    """Serve bundles, by their names, until a signal; `tell` is called once requests are taken."""
    with asyncio.Runner(loop_factory=new_event_loop) as runner, contextlib.suppress(asyncio.CancelledError):
        runner.run(_serve(bundles, settings, tell))


async def _serve(bundles: Mapping[str, Path], settings: ServerSettings, tell: Tell) -> None:
    log, metrics = set_up_logging(settings.log), Metrics()
    bound, url = bound_socket(settings)  # first: a port that is taken is told before models are loaded
    with bound:
        _end_early_on_signals()
        service = await open_service(bundles, settings, metrics)
        try:
            guard = create_app(service, settings, metrics, log)
            gc.collect()
            gc.freeze()  # what is there now stays: to look through it again and again would hold up every request
            await live(guard, bound, lambda: tell(Listening(service.models(), url)))
            await service.drain()
        finally:
            await service.close()


def _end_early_on_signals() -> None:
    """Until it listens, and other handlers take over: the first process of a container has no signals by default."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # what is being opened is new enough

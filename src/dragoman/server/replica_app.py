"""ASGI application of one replica: opens its models when its lifespan starts, and closes them when it ends.

Several replicas have the same address behind a proxy. They share the database; routes about values of one process are
rejected.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.types import Receive, Scope, Send

from dragoman.server.access_log import set_up_logging
from dragoman.server.app import create_app
from dragoman.server.http.middleware import RequestMiddleware
from dragoman.server.metrics import ServerMetrics
from dragoman.server.pipeline.service import TranslationService, open_service
from dragoman.server.settings import ServerSettings
from dragoman.server.uvicorn_server import reload_all


class ReplicaApp:
    """Serves bundles, by model name. It can be pickled before it is started."""

    def __init__(self, bundles: Mapping[str, Path], settings: ServerSettings) -> None:
        self._bundles, self._settings = dict(bundles), settings
        self._service: TranslationService | None = None
        self._app: RequestMiddleware | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)

    async def reload(self) -> None:
        """Reload API keys and bundles that changed on disk."""
        if self._app is not None and self._service is not None:
            await reload_all(self._app, self._service.reload)

    async def start_draining(self) -> None:
        """Report not ready; requests are still accepted, and their responses close the connections."""
        if self._app is not None:
            self._app.is_draining = True
            notice = self._settings.drain_notice
            self._app.log.event("draining", f"new requests are accepted for {notice:g} s", notice=notice)

    async def drain(self) -> bool:
        """Reject new requests with status 503 and wait for running ones; False on timeout."""
        return self._service is None or await self._service.drain()

    async def _live(self, receive: Receive, send: Send) -> None:
        assert (await receive())["type"] == "lifespan.startup"
        try:
            await self._open()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": f"{type(error).__name__}: {error}"})
            raise
        await send({"type": "lifespan.startup.complete"})
        try:
            await receive()
        finally:
            await asyncio.shield(self._close())
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self) -> None:
        log, metrics = set_up_logging(self._settings.log), ServerMetrics()
        self._service = await open_service(self._bundles, self._settings, metrics)
        self._app = create_app(self._service, self._settings, metrics, log, is_replica=True)
        await self._app.start()

    async def _close(self) -> None:
        if self._app is not None:
            await asyncio.to_thread(self._app.close)
        if self._service is not None:
            await self._service.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return the arguments of the constructor: an open model cannot be pickled."""
        return {"_bundles": self._bundles, "_settings": self._settings, "_service": None, "_app": None}

"""Serve only health checks, with the reason why the server is not ready, while its models are downloaded."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

_RETRY_AFTER = "5"  # seconds
_LIVE = ("/livez", "/health")


@dataclass(frozen=True)
class PendingBundles:
    """Bundles that are downloaded at the start, in a thread."""

    reason: str
    """Why the server is not ready: ``getting en-pt``."""
    get: Callable[[], Mapping[str, Path]]

    @contextlib.asynccontextmanager
    async def health_checks(self, bound: socket.socket) -> AsyncIterator[None]:
        """Answer health checks on the socket while the block runs; then it keeps listening."""
        config = uvicorn.Config(
            self._app,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
        )
        server = _Server(config)
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


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the handlers of the process."""
        yield

"""Whether it lives, whether it takes requests, and what it counted."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse

from dragoman.server.access import Access
from dragoman.server.metrics import Metrics

__all__ = ["router"]

_NEVER_KEPT = {"cache-control": "no-store"}


def router(is_ready: Callable[[], bool], metrics: Metrics | None) -> APIRouter:
    """``/health`` as LibreTranslate has it, ``/livez`` and ``/readyz`` as Kubernetes asks, and ``/metrics``."""
    routes = APIRouter(tags=["health"])

    @routes.get("/health", summary="Whether it runs, as LibreTranslate says it")
    @routes.get("/livez", summary="Whether it runs")
    async def live() -> Response:
        return JSONResponse({"status": "ok"}, headers=_NEVER_KEPT)

    @routes.get("/readyz", summary="Whether to send requests here", responses={503: {"description": "Not now."}})
    async def ready() -> Response:
        if is_ready():
            return JSONResponse({"status": "ok"}, headers=_NEVER_KEPT)
        return JSONResponse({"status": "not ready"}, 503, headers=_NEVER_KEPT)

    if metrics is not None:

        @routes.get("/metrics", summary="Counters for Prometheus", include_in_schema=False)
        async def exposition(request: Request) -> Response:
            access: Access = request.state.access
            if access.has_keys and not _is_loopback(access.address):
                access.require("metrics")
            data, kind = metrics.exposition()
            return Response(data, headers=_NEVER_KEPT | {"content-type": kind})

    return routes


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False

"""Routes for health checks and metrics: `/health`, `/livez`, `/readyz`, `/metrics`."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from fastapi import APIRouter, Response
from starlette.responses import JSONResponse

from dragoman.server.http.dependencies import Access
from dragoman.server.metrics import PrometheusMetrics

__all__ = ["router"]

_NO_STORE = {"cache-control": "no-store"}


def router(is_ready: Callable[[], bool], metrics: PrometheusMetrics | None) -> APIRouter:
    """Return the health routes of LibreTranslate and Kubernetes, and ``/metrics``."""
    routes = APIRouter(tags=["health"])

    @routes.get("/health", summary="Whether the server runs (LibreTranslate)")
    @routes.get("/livez", summary="Whether the server runs")
    async def live() -> Response:
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    @routes.get(
        "/readyz", summary="Whether the server accepts requests", responses={503: {"description": "Not ready."}}
    )
    async def ready() -> Response:
        if is_ready():
            return JSONResponse({"status": "ok"}, headers=_NO_STORE)
        return JSONResponse({"status": "not ready"}, 503, headers=_NO_STORE)

    if metrics is not None:

        @routes.get("/metrics", summary="Metrics for Prometheus", include_in_schema=False)
        async def exposition(access: Access) -> Response:
            if access.has_keys and not _is_loopback(access.address):
                access.require("metrics")
            data, media_type = metrics.exposition()
            return Response(data, headers=_NO_STORE | {"content-type": media_type})

    return routes


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False

"""Routes for health checks and metrics: `/health`, `/livez`, `/readyz`, `/metrics`."""

from collections.abc import Callable

from starlette.responses import JSONResponse, Response

from dragoman.server.http.route_policy import Router, route_policy
from dragoman.server.metrics import ServerMetrics

_NO_STORE = {"cache-control": "no-store"}


def router(is_ready: Callable[[], bool], metrics: ServerMetrics | None) -> Router:
    """Return the health routes of LibreTranslate and Kubernetes, and ``/metrics``."""
    routes = Router(tags=["health"])

    @routes.get("/health", summary="Whether the server runs (LibreTranslate)")
    @routes.get("/livez", summary="Whether the server runs")
    @route_policy("public", is_health=True)
    async def live() -> Response:
        return JSONResponse({"status": "ok"}, headers=_NO_STORE)

    @routes.get(
        "/readyz", summary="Whether the server accepts requests", responses={503: {"description": "Not ready."}}
    )
    @route_policy("public", is_health=True)
    async def ready() -> Response:
        if is_ready():
            return JSONResponse({"status": "ok"}, headers=_NO_STORE)
        return JSONResponse({"status": "not ready"}, 503, headers=_NO_STORE)

    if metrics is not None:

        @routes.get("/metrics", summary="Metrics for Prometheus", include_in_schema=False)
        @route_policy("metrics", is_of_one_process=True)
        async def exposition() -> Response:
            data, media_type = metrics.exposition()
            return Response(data, headers=_NO_STORE | {"content-type": media_type})

    return routes

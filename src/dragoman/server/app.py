"""Build the ASGI application of the server: routes, middleware and exception handlers."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI

from dragoman.server.access.api_keys import ApiKeyStore
from dragoman.server.access.authorization import AccessControl
from dragoman.server.access_log import AccessLog
from dragoman.server.http.middleware import RequestMiddleware
from dragoman.server.http.problem_details import add_exception_handlers
from dragoman.server.http.route_policy import PolicyTable
from dragoman.server.metrics import PrometheusMetrics
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.service import TranslationService
from dragoman.server.routes import deepl, docs, document_files, health, libretranslate, openai, static_files, v1
from dragoman.server.settings import ServerSettings
from dragoman.version import __version__

__all__ = ["create_app"]


def create_app(
    service: TranslationService,
    settings: ServerSettings,
    metrics: PrometheusMetrics | None = None,
    log: AccessLog | None = None,
    *,
    is_replica: bool = False,
) -> RequestMiddleware:
    """Return the middleware around a FastAPI app with all routes; reads the file of API keys.

    A replica rejects requests that depend on values of one process.
    """
    metrics = metrics or PrometheusMetrics()
    app = FastAPI(
        title="Dragoman",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # the middleware finds policies by exact path
    )
    add_exception_handlers(app)
    keys = ApiKeyStore(Path(settings.keys)) if settings.keys else None
    middleware = RequestMiddleware(
        app=app,
        admit=lambda seconds, charge: service.admit(seconds, charge),  # noqa: PLW0108 -- OpenAPI needs no service
        settings=settings,
        metrics=metrics,
        access=AccessControl(keys, settings.limits.tokens_per_minute),
        log=log or AccessLog("off"),
        is_replica=is_replica,
    )
    pipeline = TranslationPipeline(service, settings)
    routers = [api.router(pipeline) for api in (libretranslate, v1, openai)]
    routers += [document_files.router(pipeline, stores=not is_replica), *deepl.routers(pipeline)]
    routers.append(
        health.router(lambda: service.is_ready and not middleware.is_draining, metrics if settings.metrics else None)
    )
    if settings.docs:
        routers.append(docs.router(app, lambda: pipeline.languages))
    if settings.page:
        routers.append(static_files.router())
    for router in routers:
        app.include_router(router)
    middleware.policies = PolicyTable(route for router in routers for route in router.routes)
    return middleware

"""All routes behind the guard: the app that a server runs."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.routing import APIRoute

from dragoman import __version__
from dragoman.server import api_docs, deepl, files, health, libretranslate, native, page
from dragoman.server.access import Gate
from dragoman.server.context import Context
from dragoman.server.error_answers import answer_errors
from dragoman.server.guard import Guard
from dragoman.server.jobs import Translating
from dragoman.server.keys import Keys
from dragoman.server.metrics import Metrics
from dragoman.server.request_log import RequestLog
from dragoman.server.settings import ServerSettings

__all__ = ["create_app"]


def create_app(
    service: Translating, settings: ServerSettings, metrics: Metrics | None = None, log: RequestLog | None = None
) -> Guard:
    """The guard, whose `app` is FastAPI's with every route; keys are read from the file of the settings."""
    metrics = metrics or Metrics()
    app = FastAPI(
        title="Dragoman",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # the guard knows routes by their exact paths
    )
    answer_errors(app)
    context = Context(service, settings)
    guard = Guard(
        app=app,
        service=service,
        settings=settings,
        metrics=metrics,
        gate=Gate(Keys(Path(settings.keys)) if settings.keys else None, settings.limits.pieces_a_minute),
        log=log or RequestLog("off"),
        templates=frozenset(),
    )
    health_routes = health.router(
        lambda: service.is_ready and not guard.is_draining, metrics if settings.metrics else None
    )
    routers = [*(api.router(context) for api in (libretranslate, native, deepl, files)), health_routes]
    if settings.docs:
        routers.append(api_docs.router(app))
    if settings.page:
        routers.append(page.router())
    for router in routers:
        app.include_router(router)
    guard.templates = frozenset(
        route.path for router in routers for route in router.routes if isinstance(route, APIRoute)
    )
    return guard

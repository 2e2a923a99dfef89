"""Build the ASGI application of the server: all routes behind the middleware."""

import asyncio
import functools
from pathlib import Path

from dragoman.server.access.api_keys import ApiKeyStore
from dragoman.server.access.authorization import AccessControl
from dragoman.server.access_log import AccessLog
from dragoman.server.database import ServerDatabase, Usage
from dragoman.server.http.middleware import RequestMiddleware
from dragoman.server.http.route_policy import Router, RouteTable
from dragoman.server.metrics import ServerMetrics
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.service import TranslationService
from dragoman.server.request_types import NATIVE, Dialect
from dragoman.server.routes import (
    deepl,
    docs,
    document_files,
    extensions,
    google,
    health,
    key_data,
    libretranslate,
    memories,
    microsoft,
    openai,
    static_files,
    v1,
)
from dragoman.server.routes.libretranslate import LIBRETRANSLATE
from dragoman.server.routes.openapi import describe_routes
from dragoman.server.settings import ServerSettings


def create_app(
    service: TranslationService,
    settings: ServerSettings,
    metrics: ServerMetrics | None = None,
    log: AccessLog | None = None,
    *,
    is_replica: bool = False,
) -> RequestMiddleware:
    """Return the ASGI application with all routes; reads the file of API keys.

    A replica rejects requests about values of one process.
    """
    metrics, database = metrics or ServerMetrics(), ServerDatabase(settings.database)
    usage = Usage(database)
    keys = ApiKeyStore(Path(settings.keys)) if settings.keys else None
    middleware = RequestMiddleware(
        admit=lambda seconds, charge: service.admit(seconds, charge),  # noqa: PLW0108 -- OpenAPI needs no service
        settings=settings,
        metrics=metrics,
        access=AccessControl(keys, settings.limits.tokens_per_minute, usage=usage),
        log=log or AccessLog("off"),
        is_replica=is_replica,
    )
    pipeline = TranslationPipeline(service, settings, database=database, usage=usage)

    async def start() -> None:
        if await asyncio.to_thread(pipeline.warm_up):
            service.preload_for_glossaries()

    def close() -> None:
        try:
            usage.write()
        finally:
            database.close()

    def is_ready() -> bool:
        return service.is_ready and not middleware.is_draining

    routers: list[tuple[Dialect, Router]] = [
        (LIBRETRANSLATE, libretranslate.router(pipeline)),
        (NATIVE, v1.router(pipeline)),
        (NATIVE, memories.router(pipeline)),
        (NATIVE, memories.correction_router(pipeline)),
        (NATIVE, key_data.router(pipeline)),
        (memories.WEBLATE, memories.weblate_router(pipeline)),
        (openai.OPENAI, openai.router(pipeline)),
        (LIBRETRANSLATE, document_files.router(pipeline)),
        *((deepl.DEEPL, each) for each in deepl.routers(pipeline)),
        (google.GOOGLE, google.router(pipeline)),
        (microsoft.MICROSOFT, microsoft.router(pipeline)),
        *extensions.routers(pipeline),
        (NATIVE, health.router(is_ready, metrics if settings.metrics else None)),
    ]
    described = [(dialect, route) for dialect, router in routers for route in router.routes]
    middleware.openapi = functools.cache(lambda: describe_routes(described, middleware.needs_key))
    if settings.docs:
        routers.append((NATIVE, docs.router(middleware.openapi, lambda: pipeline.languages)))
    if settings.page:
        routers.append((NATIVE, static_files.router()))
    middleware.start, middleware.close = start, close
    middleware.routes = RouteTable((dialect, route) for dialect, router in routers for route in router.routes)
    return middleware

"""Run the endpoint of a route directly: FastAPI's router and dependency solver take longer than the rest of a request.

Errors are not handled here: the middleware converts them to responses.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from fastapi import Request
from fastapi.params import Depends
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["direct_app"]

_Dependency = Callable[[Request], Awaitable[Any]]


def direct_app(route: APIRoute) -> ASGIApp | None:
    """Return an app that calls the dependencies of a route, then its endpoint, and sends the response.

    None if the route needs FastAPI: every parameter of the endpoint must be the request, or an asynchronous dependency
    on the request alone, and the endpoint must return a response.
    """
    endpoint = route.endpoint
    dependencies = _dependencies(endpoint)
    if dependencies is None or route.dependencies or not inspect.iscoroutinefunction(endpoint):
        return None

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        values = {name: await call(request) for name, call in dependencies.items()}
        response: Response = await endpoint(**values)
        await response(scope, receive, send)

    return app


def _dependencies(endpoint: Callable[..., Any]) -> Mapping[str, _Dependency] | None:
    hints = get_type_hints(endpoint, include_extras=True)
    returned = hints.pop("return", None)
    if not (isinstance(returned, type) and issubclass(returned, Response)):
        return None
    found: dict[str, _Dependency] = {}
    for name in inspect.signature(endpoint).parameters:
        hint = hints.get(name)
        if hint is Request:
            found[name] = _request
            continue
        metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
        depends = [each for each in metadata if isinstance(each, Depends)]
        if len(metadata) != 1 or len(depends) != 1 or not _takes_request(depends[0].dependency):
            return None
        found[name] = depends[0].dependency  # type: ignore[assignment]
    return found


async def _request(request: Request) -> Request:
    return request


def _takes_request(call: Callable[..., Any] | None) -> bool:
    if call is None or not inspect.iscoroutinefunction(call):
        return False
    hints = get_type_hints(call)
    return [hints.get(name) for name in inspect.signature(call).parameters] == [Request]

"""Decorator that declares which checks and limits the middleware applies to a route."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

__all__ = ["RoutePolicy", "collect_policies", "route_policy"]

_ATTRIBUTE = "__route_policy__"
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


@dataclass(frozen=True)
class RoutePolicy:
    """What the middleware does before a route runs."""

    translates: bool = False
    """Reserve capacity before the body is read; the route gets it from `dependencies.Reserved`."""
    is_upload: bool = False
    """Apply the size and time limits of documents."""
    has_get_body: bool = False
    """Read the body of GET requests too."""


def route_policy(
    *, translates: bool = False, is_upload: bool = False, has_get_body: bool = False
) -> Callable[[Endpoint], Endpoint]:
    """Decorate an endpoint with its policy; write it below the decorator of the route."""

    def declare(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _ATTRIBUTE, RoutePolicy(translates, is_upload, has_get_body))
        return endpoint

    return declare


def collect_policies(routes: Iterable[BaseRoute]) -> dict[str, RoutePolicy]:
    """Return the policy of every route by its path template."""
    return {
        route.path: getattr(route.endpoint, _ATTRIBUTE, RoutePolicy())
        for route in routes
        if isinstance(route, APIRoute)
    }

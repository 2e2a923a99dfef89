"""Declare on a route who may use it and how the middleware treats its requests.

Every route needs a declaration: `PolicyTable` rejects an app with one that has none, so no route is open by omission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from dragoman.server.http.direct_app import direct_app

__all__ = ["PolicyTable", "RouteAccess", "RoutePolicy", "route_policy"]

_ATTRIBUTE = "__route_policy__"
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

RouteAccess = Literal["public", "key", "body_key", "admin", "metrics"]
"""Who may use a route, on a server with API keys. ``public``: every client. ``key``: a client with a key in
``Authorization``. ``body_key``: the key may also be in the query or the body (`http.body_key`). ``admin``: a key with
this right, and no client if the server has no keys. ``metrics``: a key with this right, or a client on this machine."""


@dataclass(frozen=True)
class RoutePolicy:
    """What the middleware does before a route runs."""

    access: RouteAccess
    translates: bool = False
    """Reserve capacity before the body is parsed; the route gets it from `dependencies.Reserved`."""
    is_upload: bool = False
    """Apply the size and time limits of documents."""
    has_get_body: bool = False
    """Read the body of GET requests too."""
    is_health: bool = False
    """Respond also on connections beyond the limit."""
    stores: bool = False
    """Reject on one of several replicas: the route reads or changes values that only this process has."""


def route_policy(
    access: RouteAccess,
    *,
    translates: bool = False,
    is_upload: bool = False,
    has_get_body: bool = False,
    is_health: bool = False,
    stores: bool = False,
) -> Callable[[Endpoint], Endpoint]:
    """Decorate an endpoint with its policy; write it below the decorator of the route."""

    def declare(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _ATTRIBUTE, RoutePolicy(access, translates, is_upload, has_get_body, is_health, stores))
        return endpoint

    return declare


class PolicyTable:
    """Policies of all routes of an app; a route without a policy raises `TypeError`."""

    def __init__(self, routes: Iterable[BaseRoute] = ()) -> None:
        self._exact: dict[str, dict[str, RoutePolicy]] = {}
        self._patterns: list[tuple[APIRoute, RoutePolicy]] = []
        self.direct: dict[tuple[str, str], ASGIApp] = {}
        """Apps of translating routes that need no router, by method and path."""
        self.templates: set[str] = set()
        for route in routes:
            policy = getattr(getattr(route, "endpoint", None), _ATTRIBUTE, None)
            if not isinstance(route, APIRoute) or not isinstance(policy, RoutePolicy):
                raise TypeError(
                    f"every route must declare who may use it, got {getattr(route, 'path', route)!r} without a "
                    "declaration; add @route_policy(...) below its decorator"
                )
            self.templates.add(route.path)
            if route.param_convertors:
                self._patterns.append((route, policy))
            else:
                self._exact.setdefault(route.path, {}).update(dict.fromkeys(route.methods or (), policy))
                app = direct_app(route) if policy.translates else None
                if app is not None:
                    self.direct.update(((method, route.path), app) for method in route.methods or ())

    @property
    def health_paths(self) -> frozenset[str]:
        """Paths of health checks."""
        return frozenset(path for path, found in self._exact.items() if any(each.is_health for each in found.values()))

    def find(self, method: str, path: str) -> RoutePolicy | None:
        """Return the policy of a request; None if there is no such route."""
        return self._by_method(path).get("GET" if method == "HEAD" else method)

    def methods(self, path: str) -> set[str]:
        """Return the methods of a path; none if there is no such path."""
        methods = set(self._by_method(path))
        return methods | {"HEAD"} if "GET" in methods else methods

    def _by_method(self, path: str) -> dict[str, RoutePolicy]:
        found = self._exact.get(path)
        if found is not None:
            return found
        matching = [each for each in self._patterns if each[0].path_regex.match(path)]
        return {method: policy for route, policy in matching for method in route.methods or ()}

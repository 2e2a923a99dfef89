"""Routes, with a declaration of who may use each and how the middleware treats its requests.

Every route needs a declaration: `RouteTable` rejects one that has none, so no route is open by omission.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from dragoman.server.request_types import NATIVE, Dialect

_ATTRIBUTE = "__route_policy__"
Declared = TypeVar("Declared", bound=Callable[..., Any])
Endpoint = Callable[[Request], Awaitable[Response]]
_Dependency = Callable[[Request], Awaitable[Any]]

RouteAccess = Literal["public", "key", "body_key", "admin", "metrics"]
"""Who may use a route, on a server with API keys. ``public``: every client. ``key``: a client with a key in
``Authorization``. ``body_key``: the key may also be in the query or the body (`http.request_body`). ``admin``: a key
with this right, and no client if the server has no keys. ``metrics``: a key with this right, or a client on this
machine."""


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
    is_of_one_process: bool = False
    """Reject on one of several replicas: the route reads or changes values that only this process has."""
    writes: bool = False
    """Change the database."""
    dialect: Dialect = NATIVE

    @property
    def changes_state(self) -> bool:
        """Whether no page of another origin may send its requests, on a server without keys."""
        return self.is_of_one_process or self.writes or self.is_upload


def route_policy(
    access: RouteAccess,
    *,
    translates: bool = False,
    is_upload: bool = False,
    has_get_body: bool = False,
    is_health: bool = False,
    is_of_one_process: bool = False,
    writes: bool = False,
) -> Callable[[Declared], Declared]:
    """Decorate an endpoint with its policy; write it below the decorator of the route."""

    def declare(endpoint: Declared) -> Declared:
        made = RoutePolicy(access, translates, is_upload, has_get_body, is_health, is_of_one_process, writes)
        setattr(endpoint, _ATTRIBUTE, made)
        return endpoint

    return declare


@dataclass(frozen=True)
class Depends:
    """Metadata of a parameter of an endpoint: its value is what this function returns for the request."""

    dependency: _Dependency


@dataclass(frozen=True)
class ApiRoute:
    """An endpoint, and what FastAPI writes of it in OpenAPI; to serve, FastAPI is not even imported: it is slow."""

    method: str
    path: str
    endpoint: Callable[..., Any]
    described: Mapping[str, Any]


class Router:
    """Collects the routes of an API, by decorators such as ``@routes.get("/usage")``, whose options are FastAPI's."""

    def __init__(self, *, prefix: str = "", **described: Any) -> None:
        self.routes: list[ApiRoute] = []
        self._prefix, self._described = prefix, described

    def add(self, method: str, path: str, **described: Any) -> Callable[[Declared], Declared]:
        def decorate(endpoint: Declared) -> Declared:
            self.routes.append(ApiRoute(method, self._prefix + path, endpoint, self._described | described))
            return endpoint

        return decorate

    def get(self, path: str, **described: Any) -> Callable[[Declared], Declared]:
        return self.add("GET", path, **described)

    def put(self, path: str, **described: Any) -> Callable[[Declared], Declared]:
        return self.add("PUT", path, **described)

    def post(self, path: str, **described: Any) -> Callable[[Declared], Declared]:
        return self.add("POST", path, **described)

    def patch(self, path: str, **described: Any) -> Callable[[Declared], Declared]:
        return self.add("PATCH", path, **described)

    def delete(self, path: str, **described: Any) -> Callable[[Declared], Declared]:
        return self.add("DELETE", path, **described)


@dataclass(frozen=True)
class RouteMatch:
    """The route of a request: its path template, policy, endpoint, and the parameters of the path."""

    template: str
    policy: RoutePolicy
    respond: Endpoint
    params: Mapping[str, Any]


class RouteTable:
    """All routes of a server, with their dialects; a route without a policy raises `TypeError`."""

    def __init__(self, routes: Iterable[tuple[Dialect, ApiRoute]] = ()) -> None:
        self._exact: dict[str, dict[str, RouteMatch]] = {}
        self._patterns: list[tuple[Any, Mapping[str, Any], str, RouteMatch]] = []
        self._selected: dict[str, tuple[bytes, str]] = {}
        for dialect, route in routes:
            policy = getattr(route.endpoint, _ATTRIBUTE, None)
            if not isinstance(policy, RoutePolicy):
                raise TypeError(
                    f"every route must declare who may use it, got {route.path!r} without a declaration; add "
                    "@route_policy(...) below its decorator"
                )
            found = RouteMatch(route.path, replace(policy, dialect=dialect), bind_endpoint(route), {})
            pattern, _, convertors = compile_path(route.path)
            if convertors:
                self._patterns.append((pattern, convertors, route.method, found))
            else:
                self._exact.setdefault(route.path, {})[route.method] = found
            if dialect.selector:
                self._selected[route.path.removeprefix(dialect.prefix)] = f"&{dialect.selector}=".encode(), route.path

    @property
    def templates(self) -> set[str]:
        return {*self._exact, *(match.template for *_, match in self._patterns)}

    @property
    def health_paths(self) -> frozenset[str]:
        each = self._exact.items()
        return frozenset(path for path, found in each if any(one.policy.is_health for one in found.values()))

    def resolve(self, path: str, query: bytes) -> str:
        """Return the path of the API that the query selects, for a path that two APIs have."""
        selector, selected = self._selected.get(path, (b"", path))
        return selected if selector in b"&" + query else path

    def match(self, method: str, path: str) -> RouteMatch | None:
        """Return the route of a request; None if there is no such route."""
        return self._by_method(path).get("GET" if method == "HEAD" else method)

    def find(self, method: str, path: str) -> RoutePolicy | None:
        """Return the policy of a request; None if there is no such route."""
        found = self.match(method, path)
        return None if found is None else found.policy

    def methods(self, path: str) -> set[str]:
        """Return the methods of a path; none if there is no such path."""
        methods = set(self._by_method(path))
        return methods | {"HEAD"} if "GET" in methods else methods

    def _by_method(self, path: str) -> dict[str, RouteMatch]:
        if (exact := self._exact.get(path)) is not None:
            return exact
        found: dict[str, RouteMatch] = {}
        for pattern, convertors, method, match in self._patterns:
            if parts := pattern.match(path):
                params = {name: convertors[name].convert(text) for name, text in parts.groupdict().items()}
                found[method] = replace(match, params=params)
        return found


def bind_endpoint(route: ApiRoute) -> Endpoint:
    """Return a function that calls the dependencies of a route with the request, and then its endpoint.

    Each parameter must be the request, or an asynchronous dependency on the request alone.
    """
    endpoint, calls = route.endpoint, dict[str, _Dependency]()
    for name, hint in get_type_hints(endpoint, include_extras=True).items():
        if name == "return":
            continue
        (metadata,) = get_args(hint)[1:] if get_origin(hint) is Annotated else (None,)
        if hint is not Request and not isinstance(metadata, Depends):
            raise TypeError(f"{route.path}: {name} must be the request or Annotated[…, Depends(…)], got {hint}")
        calls[name] = _request if hint is Request else metadata.dependency

    async def respond(request: Request) -> Response:
        response: Response = await endpoint(**{name: await call(request) for name, call in calls.items()})
        return response

    return respond


async def _request(request: Request) -> Request:
    return request

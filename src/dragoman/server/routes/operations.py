"""What APIs have in common except for their bodies: routes that translate texts, detect languages and list them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from dragoman.server.http.request_body import Access, Reserved, json_response, large_json_response
from dragoman.server.http.route_policy import Depends, RouteAccess, Router, route_policy
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import Dialect
from dragoman.server.routes.openapi import BODY_ERRORS, responses

Described = Mapping[str, Any]
"""Arguments of a route for OpenAPI."""
Parse = Callable[[Request], Awaitable[Any]]


class CodedError(BaseModel):
    """An error of an API with numbers as codes; `reason` is the code of this server."""

    model_config = ConfigDict(extra="allow")

    code: int = Field(examples=[400])
    message: str
    reason: str


class CodedErrorResponse(BaseModel):
    """An error as a member."""

    error: CodedError


def coded_error(problem: Mapping[str, Any], scale: int = 1) -> dict[str, Any]:
    """Return the error for the members of a `Problem`; its code is the status multiplied by `scale`."""
    more = {name: problem[name] for name in ("retry_after", "request_id") if name in problem}
    return {"code": scale * problem["status"], "message": problem["detail"], "reason": problem["code"], **more}


class Operations:
    """Adds the routes of a dialect."""

    def __init__(self, routes: Router, pipeline: TranslationPipeline, dialect: Dialect, *errors: int) -> None:
        self._routes, self._pipeline, self._dialect = routes, pipeline, dialect
        self._errors = (*BODY_ERRORS, *errors)

    def _described(self, method: str, path: str, model: Any, described: Described) -> Callable[..., Any]:
        found = responses(model, *self._errors, dialect=self._dialect)
        route: Callable[..., Any] = self._routes.add(method, path, **found, **described)
        return route

    def translate(
        self,
        path: str,
        parse: Parse,
        respond: Callable[[Any, Any], Any],
        described: Described,
        *,
        method: str = "POST",
        model: Any = dict[str, Any],
    ) -> None:
        """Add a route that translates: `parse` returns a body with a method `to_request`, without options."""
        Body = Annotated[Any, Depends(parse)]

        @self._described(method, path, model, described)
        @route_policy("body_key", translates=True)
        async def translate(body: Body, access: Access, reservation: Reserved) -> Response:
            """Translate texts."""
            options = build_options(self._pipeline.settings)
            wanted = replace(body.to_request(), options=options, dialect=self._dialect)
            targets = wanted.targets
            if targets:
                results: Any = await self._pipeline.translate_to(targets, wanted, reservation)
            else:
                results = await self._pipeline.translate(wanted, reservation)
            access.count(max(len(targets), 1) * sum(map(len, wanted.texts)))
            return json_response(respond(body, results))

    def detect(
        self,
        path: str,
        parse: Parse,
        respond: Callable[[Any], Any],
        described: Described,
        *,
        method: str = "POST",
        model: Any = dict[str, Any],
    ) -> None:
        """Add a route that detects the language of each of the `texts` that `parse` returns."""
        Body = Annotated[Any, Depends(parse)]

        @self._described(method, path, model, described)
        @route_policy("body_key")
        async def detect(body: Body, access: Access) -> Response:
            """Detect the language of each text."""
            found = await self._pipeline.detect(body.texts, access.charge, self._dialect)
            return json_response(respond([each[0] for each in found]))

    def languages(
        self,
        path: str,
        listed: Callable[[Request], Any],
        parameters: list[dict[str, Any]],
        *,
        model: Any = dict[str, Any],
        access: RouteAccess = "body_key",
    ) -> None:
        """Add a route that lists the languages."""

        @self._described("GET", path, model, {"openapi_extra": {"parameters": parameters}})
        @route_policy(access)
        async def languages(request: Request) -> Response:
            """List the languages."""
            return await large_json_response(lambda: listed(request))

"""FastAPI dependencies of the routes: access, reserved capacity, parsed body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel

from dragoman.server.access.authorization import RequestAccess
from dragoman.server.http.request_body import parse_model, read_json
from dragoman.server.scheduling.admission import Reservation

__all__ = ["Access", "Reserved", "json_body"]

Body = TypeVar("Body", bound=BaseModel)


async def _access(request: Request) -> RequestAccess:
    access: RequestAccess = request.state.access
    return access


async def _reserved(request: Request) -> Reservation:
    reservation: Reservation = request.state.reservation
    return reservation


Access = Annotated[RequestAccess, Depends(_access)]
"""Access of a request that is authorized."""

Reserved = Annotated[Reservation, Depends(_reserved)]
"""The reservation of a route with ``translates=True`` in its policy."""


def json_body(model: type[Body]) -> Callable[[Request], Awaitable[Body]]:
    """Return a dependency that parses a JSON body; its errors never quote a text."""

    async def parse(request: Request) -> Body:
        return parse_model(model, await read_json(request))

    return parse

"""Error responses in the RFC 9457 format (problem details), and exception handlers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dragoman.errors import DragomanError, MissingExtraError
from dragoman.server.errors import RequestError

__all__ = ["PROBLEM_TYPE", "add_exception_handlers", "problem", "problem_bytes", "problem_for", "problem_headers"]

PROBLEM_TYPE = "application/problem+json"

_INTERNAL = "the server failed and logged the cause; try again, or contact the server operator"
_DETAILS = {
    404: "the path must be one of this server's, got another; /docs lists them",
    405: "the method must be one that Allow names, got another; nothing here changes by GET",
}


def problem(status: int, detail: str) -> dict[str, Any]:
    """Return the body of an error response; `error` is LibreTranslate's member for the detail, `message` DeepL's."""
    title = HTTPStatus(status).phrase
    return {
        "error": detail,
        "message": detail,
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
    }


def problem_for(error: BaseException) -> dict[str, Any]:
    """Return the body for an exception; internal errors reveal no details."""
    if isinstance(error, RequestError):
        return problem(error.status, str(error))
    if isinstance(error, MissingExtraError):
        return problem(HTTPStatus.NOT_IMPLEMENTED, str(error))
    if isinstance(error, DragomanError):
        return problem(HTTPStatus.BAD_REQUEST, str(error))
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, _INTERNAL)


def problem_bytes(body: Mapping[str, Any]) -> bytes:
    """Encode a problem as JSON; a lone surrogate becomes an escape."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")


def problem_headers(error: BaseException) -> dict[str, str]:
    """Return the Retry-After header, if the error has one."""
    wait = getattr(error, "retry_after", None)
    return {} if wait is None else {"retry-after": str(max(1, math.ceil(wait)))}


def add_exception_handlers(app: FastAPI) -> None:
    """Convert every exception of a route to a problem response."""
    app.add_exception_handler(HTTPException, _handle_http_exception)
    app.add_exception_handler(DragomanError, _handle_request_error)
    app.add_exception_handler(Exception, _handle_internal_error)


def _response(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    return Response(problem_bytes(body), body["status"], dict(headers or {}), PROBLEM_TYPE)


async def _handle_request_error(request: Request, error: Exception) -> Response:
    request.state.error = error  # the middleware counts it
    return _response(problem_for(error), problem_headers(error))


async def _handle_internal_error(request: Request, error: Exception) -> Response:
    return _response(problem_for(error) | {"request_id": getattr(request.state, "request_id", "")})


async def _handle_http_exception(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    is_generic = error.detail == HTTPStatus(error.status_code).phrase
    detail = _DETAILS.get(error.status_code, error.detail) if is_generic else error.detail
    return _response(problem(error.status_code, detail), error.headers)

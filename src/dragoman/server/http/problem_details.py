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

from dragoman.errors import DataError, DragomanError, MissingExtraError
from dragoman.server.errors import ErrorCode, RequestError

__all__ = [
    "NO_SUCH_PATH",
    "PROBLEM_TYPE",
    "add_exception_handlers",
    "problem",
    "problem_bytes",
    "problem_for",
    "problem_headers",
]

PROBLEM_TYPE = "application/problem+json"

_INTERNAL = "the server failed and logged the cause; try again, or contact the server operator"
_CODES: dict[int, ErrorCode] = {
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    431: "too_large",
    500: "internal",
    501: "not_installed",
    503: "overloaded",
}
NO_SUCH_PATH = "the path must be one of this server's, got another; /docs lists them"


def problem(
    status: int, detail: str, code: ErrorCode | None = None, retry_after: float | None = None
) -> dict[str, Any]:
    """Return the body of an error response; `error` is LibreTranslate's member for the detail, `message` DeepL's."""
    body = {
        "error": detail,
        "message": detail,
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code or _CODES.get(status, "invalid_request"),
    }
    return body if retry_after is None else body | {"retry_after": _whole_seconds(retry_after)}


def problem_for(error: BaseException) -> dict[str, Any]:
    """Return the body for an exception; internal errors reveal no details."""
    if isinstance(error, RequestError):
        return problem(error.status, str(error), error.code, error.retry_after)
    if isinstance(error, MissingExtraError):
        return problem(HTTPStatus.NOT_IMPLEMENTED, str(error))
    if isinstance(error, DataError):  # raised by documents only: bodies raise `RequestError`
        return problem(HTTPStatus.BAD_REQUEST, str(error), "invalid_document")
    if isinstance(error, DragomanError):
        return problem(HTTPStatus.BAD_REQUEST, str(error))
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, _INTERNAL)


def problem_bytes(body: Mapping[str, Any]) -> bytes:
    """Encode a problem as JSON; a lone surrogate becomes an escape."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")


def problem_headers(error: BaseException) -> dict[str, str]:
    """Return the headers Retry-After and Allow, if the error has them."""
    wait, allow = getattr(error, "retry_after", None), getattr(error, "allow", None)
    headers = {} if wait is None else {"retry-after": str(_whole_seconds(wait))}
    return headers if allow is None else headers | {"allow": allow}


def _whole_seconds(wait: float) -> int:
    return max(1, math.ceil(wait))


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
    is_generic = error.status_code == HTTPStatus.NOT_FOUND and error.detail == HTTPStatus.NOT_FOUND.phrase
    detail = NO_SUCH_PATH if is_generic else error.detail
    return _response(problem(error.status_code, detail), error.headers)

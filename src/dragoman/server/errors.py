"""Errors of the server, and their response bodies."""

# ruff: noqa: N818 -- named like HTTP statuses

import json
import math
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Literal

from dragoman.errors import DataError, DragomanError, MissingExtraError

ErrorCode = Literal[
    "cross_site",
    "deadline",
    "forbidden",
    "inspection_needs_direct_model",
    "internal",
    "invalid_document",
    "invalid_glossary",
    "invalid_key",
    "invalid_request",
    "method_not_allowed",
    "misdirected",
    "missing_key",
    "model_unavailable",
    "not_found",
    "not_installed",
    "nothing_to_inspect",
    "overloaded",
    "rate_limited",
    "shutting_down",
    "single_process_only",
    "too_large",
    "unavailable_pair",
    "unknown_format",
    "unknown_language",
    "unknown_model",
    "unsupported_media_type",
    "unsure",
]
"""What is wrong with a request, for programs; part of every error response."""

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
NO_SUCH_PATH = "this server has no such path; /docs lists its paths"


class RequestError(DragomanError):
    """A rejected request; status 400 unless a subclass sets another.

    `retry_after`, in whole seconds, is the same in the message, the body and the header Retry-After.
    """

    status = 400
    code: ErrorCode = "invalid_request"
    reason = "bad_request"
    """Label in metrics."""

    def __init_subclass__(cls, status: int, code: ErrorCode | None = None, reason: str | None = None) -> None:
        cls.status, cls.code = status, code or cls.code
        cls.reason = reason or cls.code

    def __init__(self, message: str, *, retry_after: float | None = None, code: ErrorCode | None = None) -> None:
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))
        super().__init__(message if retry_after is None else f"{message}; try again in {self.retry_after} s")
        self.code = code or self.code


class TooLarge(RequestError, status=413, code="too_large"):
    """A body, a text, or all texts together exceed a limit."""


class Unsupported(RequestError, status=415, code="unsupported_media_type", reason="unsupported"):
    """An unsupported media type."""


class NotInstalled(RequestError, status=501, code="not_installed"):
    """A feature whose packages are not installed on the server."""


class SingleProcessOnly(RequestError, status=501, code="single_process_only"):
    """A request about values of one process, on one of several replicas."""


class ModelUnavailable(RequestError, status=503, code="model_unavailable", reason="model"):
    """A model that cannot be loaded."""


class Forbidden(RequestError, status=403, code="forbidden"):
    """A missing or invalid API key, or a key without the required right."""


class NotFound(RequestError, status=404, code="not_found"):
    """An unknown or expired resource."""


class MethodNotAllowed(RequestError, status=405, code="method_not_allowed", reason="not_found"):
    """A method that the path does not have."""

    def __init__(self, given: str, allowed: Iterable[str]) -> None:
        self.allow = ", ".join(sorted(allowed))
        super().__init__(f"{given} is no method of this path; use {self.allow}")


class RateLimited(RequestError, status=429, code="rate_limited", reason="rate"):
    """A key or address exceeds its token limit per minute, or its share of the documents in progress."""


class Overloaded(RequestError, status=503, code="overloaded", reason="overload"):
    """The server has no capacity, or the expected wait exceeds the limit."""


class Draining(RequestError, status=503, code="shutting_down", reason="draining"):
    """The server is shutting down."""

    def __init__(self) -> None:
        super().__init__("the server is shutting down", retry_after=1)


class DeadlineExceeded(RequestError, status=503, code="deadline"):
    """The deadline of the request passed before its translation was complete."""

    def __init__(self) -> None:
        super().__init__("the time for this request has run out; send less text per request", retry_after=1)


def problem(status: int, detail: str, code: ErrorCode | None = None, retry_after: int | None = None) -> dict[str, Any]:
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
    return body if retry_after is None else body | {"retry_after": retry_after}


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
    headers = {} if wait is None else {"retry-after": str(wait)}
    return headers if allow is None else headers | {"allow": allow}

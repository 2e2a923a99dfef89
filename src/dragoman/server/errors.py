"""Exceptions for failed requests, with HTTP status and Retry-After."""

# ruff: noqa: N818 -- named like HTTP statuses

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from dragoman.errors import DragomanError

__all__ = [
    "DeadlineExceeded",
    "Draining",
    "ErrorCode",
    "Forbidden",
    "MethodNotAllowed",
    "ModelUnavailable",
    "NotFound",
    "NotInstalled",
    "Overloaded",
    "RateLimited",
    "RequestError",
    "SingleProcessOnly",
    "TooLarge",
    "Unsupported",
]


ErrorCode = Literal[
    "deadline",
    "forbidden",
    "glossary_needs_direct_model",
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
]
"""What is wrong with a request, for programs; part of every error response."""


class RequestError(DragomanError):
    """A rejected request; status 400 unless a subclass sets another."""

    status = 400
    code: ErrorCode = "invalid_request"
    reason = "bad_request"
    """Label in metrics."""

    def __init__(self, message: str, *, retry_after: float | None = None, code: ErrorCode | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.code = code or self.code


class TooLarge(RequestError):
    """A body, a text, or all texts together exceed a limit."""

    status = 413
    code: ErrorCode = "too_large"
    reason = "too_large"


class Unsupported(RequestError):
    """An unsupported media type."""

    status = 415
    code: ErrorCode = "unsupported_media_type"
    reason = "unsupported"


class NotInstalled(RequestError):
    """A feature whose packages are not installed on the server."""

    status = 501
    code: ErrorCode = "not_installed"
    reason = "not_installed"


class SingleProcessOnly(RequestError):
    """A feature that stores values in the process, on one of several replicas, which do not share them."""

    status = 501
    code: ErrorCode = "single_process_only"
    reason = "single_process_only"


class ModelUnavailable(RequestError):
    """A model that cannot be loaded."""

    status = 503
    code: ErrorCode = "model_unavailable"
    reason = "model"


class Forbidden(RequestError):
    """A missing or invalid API key, or a key without the required right."""

    status = 403
    code: ErrorCode = "forbidden"
    reason = "forbidden"


class NotFound(RequestError):
    """An unknown or expired resource."""

    status = 404
    code: ErrorCode = "not_found"
    reason = "not_found"


class MethodNotAllowed(RequestError):
    """A method that the path does not have."""

    status = 405
    code: ErrorCode = "method_not_allowed"
    reason = "not_found"

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allow = ", ".join(sorted(allowed))
        super().__init__(f"the method must be one of {self.allow}, got another; send the request with it")


class RateLimited(RequestError):
    """A key or address exceeds its token limit per minute, or its share of the documents in progress."""

    status = 429
    code: ErrorCode = "rate_limited"
    reason = "rate"


class Overloaded(RequestError):
    """The server has no capacity, or the expected wait exceeds the limit."""

    status = 503
    code: ErrorCode = "overloaded"
    reason = "overload"


class Draining(RequestError):
    """The server is shutting down."""

    status = 503
    code: ErrorCode = "shutting_down"
    reason = "draining"


class DeadlineExceeded(RequestError):
    """The deadline of the request passed before its translation was complete."""

    status = 503
    code: ErrorCode = "deadline"
    reason = "deadline"

"""Exceptions for failed requests, with HTTP status and Retry-After."""

# ruff: noqa: N818 -- named like HTTP statuses

from __future__ import annotations

from dragoman.errors import DragomanError

__all__ = [
    "DeadlineExceeded",
    "Draining",
    "Forbidden",
    "ModelUnavailable",
    "NotFound",
    "NotInstalled",
    "Overloaded",
    "RateLimited",
    "RequestError",
    "TooLarge",
    "Unsupported",
]


class RequestError(DragomanError):
    """A rejected request; status 400 unless a subclass sets another."""

    status = 400
    reason = "bad_request"
    """Label in metrics."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(RequestError):
    """A body, a text, or all texts together exceed a limit."""

    status = 413
    reason = "too_large"


class Unsupported(RequestError):
    """An unsupported media type."""

    status = 415
    reason = "unsupported"


class NotInstalled(RequestError):
    """A feature whose packages are not installed on the server."""

    status = 501
    reason = "not_installed"


class ModelUnavailable(RequestError):
    """A model that cannot be loaded."""

    status = 503
    reason = "model"


class Forbidden(RequestError):
    """A missing or invalid API key, or a key without the required right."""

    status = 403
    reason = "forbidden"


class NotFound(RequestError):
    """An unknown or expired resource."""

    status = 404
    reason = "not_found"


class RateLimited(RequestError):
    """The token limit per minute of a key or address is exceeded."""

    status = 429
    reason = "rate"


class Overloaded(RequestError):
    """The server has no capacity, or the expected wait exceeds the limit."""

    status = 503
    reason = "overload"


class Draining(RequestError):
    """The server is shutting down."""

    status = 503
    reason = "draining"


class DeadlineExceeded(RequestError):
    """The deadline of the request passed before its translation was complete."""

    status = 503
    reason = "deadline"

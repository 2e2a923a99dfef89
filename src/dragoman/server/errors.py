"""What the service refuses, each with its status."""

from __future__ import annotations

from dragoman.errors import DragomanError

__all__ = [
    "Draining",
    "Expired",
    "Forbidden",
    "ModelFailed",
    "NotFound",
    "NotInstalled",
    "Overloaded",
    "Refused",
    "TooLarge",
    "TooMany",
    "Unsupported",
]


class Refused(DragomanError):  # noqa: N818 -- what the client reads is a refusal
    """A request that is not answered as it was asked; 400 unless a kind of its own says otherwise."""

    status = 400
    reason = "bad_request"
    """A word for metrics."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TooLarge(Refused):
    """A body, a text, or all texts together are larger than is allowed."""

    status = 413
    reason = "too_large"


class Unsupported(Refused):
    """A format that is not known, or something this server was not set up for."""

    status = 415
    reason = "unsupported"


class NotInstalled(Refused):
    """Something that this server could do if more were installed."""

    status = 501
    reason = "not_installed"


class ModelFailed(Refused):
    """A model cannot be loaded: no fault of who asks."""

    status = 503
    reason = "model"


class Forbidden(Refused):
    """The key is missing or wrong."""

    status = 403
    reason = "forbidden"


class NotFound(Refused):
    """There is nothing here, or not any more."""

    status = 404
    reason = "not_found"


class TooMany(Refused):
    """More than a key, or an address, may have in a minute."""

    status = 429
    reason = "rate"


class Overloaded(Refused):
    """It would wait too long for its turn."""

    status = 503
    reason = "overload"


class Draining(Refused):
    """The server is about to end."""

    status = 503
    reason = "draining"


class Expired(Refused):
    """Its time was over before it was translated."""

    status = 503
    reason = "deadline"

"""What a client reads when a request is not answered: RFC 9457's members, and LibreTranslate's and DeepL's beside."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from dragoman.errors import DragomanError, MissingExtraError
from dragoman.server.errors import Refused

__all__ = ["PROBLEM_TYPE", "problem", "problem_of"]

PROBLEM_TYPE = "application/problem+json"

_OURS = "the server failed, and has noted why; try again, or tell who runs it"


def problem(status: int, detail: str) -> dict[str, Any]:
    """Make the body of an answer with this status; `error` is where LibreTranslate says why, `message` where DeepL."""
    title = HTTPStatus(status).phrase
    return {
        "error": detail,
        "message": detail,
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
    }


def problem_of(error: BaseException) -> dict[str, Any]:
    """Make the body for an exception. What is no fault of the client's tells nothing of the inside."""
    if isinstance(error, Refused):
        return problem(error.status, str(error))
    if isinstance(error, MissingExtraError):
        return problem(HTTPStatus.NOT_IMPLEMENTED, str(error))
    if isinstance(error, DragomanError):
        return problem(HTTPStatus.BAD_REQUEST, str(error))
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, _OURS)

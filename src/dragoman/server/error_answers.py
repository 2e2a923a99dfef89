"""Every error that leaves a route, turned into the one answer that `problems` describes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from dragoman.errors import DragomanError
from dragoman.server.faults import said
from dragoman.server.problems import PROBLEM_TYPE, problem, problem_of

__all__ = ["answer_errors", "problem_bytes", "problem_headers"]

_WORDS = {
    404: "the path must be one of this server's, got another; /docs lists them",
    405: "the method must be one that Allow names, got another; nothing here changes by GET",
    415: "the body must be JSON, with Content-Type: application/json, got another type; set that header",
}
_NO_OBJECT = {"model_attributes_type", "model_type", "dict_type", "dataclass_type"}


def answer_errors(app: FastAPI) -> None:
    """Let the app answer its errors in this manner."""
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _by_status)
    app.add_exception_handler(DragomanError, _refused)
    app.add_exception_handler(Exception, _failed)


def problem_bytes(body: Mapping[str, Any]) -> bytes:
    """A problem as JSON; a lone surrogate that is quoted in it becomes an escape."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")


def problem_headers(error: BaseException) -> dict[str, str]:
    """When to try again, where the error knows."""
    wait = getattr(error, "retry_after", None)
    return {} if wait is None else {"retry-after": str(max(1, math.ceil(wait)))}


def _response(body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    return Response(problem_bytes(body), body["status"], dict(headers or {}), PROBLEM_TYPE)


async def _refused(request: Request, error: Exception) -> Response:
    request.state.refusal = error  # for the guard to count
    return _response(problem_of(error), problem_headers(error))


async def _failed(request: Request, error: Exception) -> Response:
    return _response(problem_of(error) | {"request_id": getattr(request.state, "request_id", "")})


async def _by_status(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    known = error.detail == HTTPStatus(error.status_code).phrase
    detail = _WORDS.get(error.status_code, error.detail) if known else error.detail
    return _response(problem(error.status_code, detail), error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]
    if fault["type"] == "json_invalid":
        why = fault.get("ctx", {}).get("error", "")
        return _response(
            problem(400, f"the body must be valid JSON, got: {why}; mend it at character {fault['loc'][-1]}")
        )
    is_json = "json" in request.headers.get("content-type", "")
    if len(fault["loc"]) == 1 and fault["type"] in _NO_OBJECT and not is_json:
        return _response(problem(415, _WORDS[415]))
    return _response(problem(400, said(fault, _place(fault["loc"]), shows_value=False)))


def _place(loc: Sequence[str | int]) -> str:
    """The field as a client would write it: ``text[3]``; which branch of a union was tried is left out."""
    name = ""
    for part in loc[1:]:
        if isinstance(part, int):
            name += f"[{part}]"
        elif part.isidentifier() and part not in ("str", "int", "float", "bool", "list", "dict"):
            name += f".{part}" if name else part
    return name or ("the body" if loc and loc[0] == "body" else "the request")

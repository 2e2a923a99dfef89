"""Parse JSON and form bodies into pydantic models; write JSON responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request, Response
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from dragoman.config.validation_errors import error_message
from dragoman.server.errors import RequestError, Unsupported

__all__ = ["is_json", "json_response", "parse_model", "read_fields", "read_json"]

Schema = TypeVar("Schema", bound=BaseModel)

_MAX_FIELDS = 1000
_MAX_SHOWN = 60  # characters
_UNION_ARMS = ("str", "int", "list[str]", "constrained-str", "constrained-int")  # in the paths of pydantic errors
_FORM = "application/x-www-form-urlencoded"


def is_json(request: Request) -> bool:
    """Whether the content type of the body is JSON."""
    kind = _content_type(request)
    return kind == "application/json" or kind.endswith("+json")


async def read_json(request: Request) -> dict[str, Any]:
    """Read a JSON object; another content type is `Unsupported`."""
    if not is_json(request):
        raise Unsupported(
            f"the body must be JSON, got {_content_type(request)[:_MAX_SHOWN] or 'no content type'}; send it with the "
            "header Content-Type: application/json"
        )
    try:
        value = from_json(await request.body())
    except ValueError as error:
        raise RequestError(
            f"the body must be JSON, got invalid JSON: {error}; check quotes, commas and UTF-8"
        ) from None
    if not isinstance(value, dict):
        raise RequestError("the body must be a JSON object, got something else; write names and values in { }")
    return value


async def read_fields(request: Request) -> list[tuple[str, str]]:
    """Read the fields of the query and of a form in either encoding; files are skipped."""
    kind = _content_type(request)
    fields = list(request.query_params.multi_items())
    if kind == _FORM:
        try:
            text = (await request.body()).decode()
            fields += parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
        except ValueError:
            raise RequestError("the form must be percent-encoded UTF-8, got other bytes; encode it again") from None
    elif kind == "multipart/form-data":
        async with request.form(max_files=1, max_fields=_MAX_FIELDS, max_part_size=_max_part(request)) as form:
            fields += [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return fields


def parse_model(model: type[Schema], value: Mapping[str, Any]) -> Schema:
    """Validate values by a model; raises `RequestError` with the first error."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RequestError(_first_error(error, model)) from None


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response; infinite numbers and NaN become null."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")


def _first_error(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"] if part not in _UNION_ARMS)[:_MAX_SHOWN] or "the body"
    message = error_message(first, name, model.model_fields, show_value=False)
    return message if ";" in message else f"{message}; /docs describes the fields"


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _max_part(request: Request) -> int:
    """Maximum size of a form part: that of the body, which is limited already."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 1 << 20

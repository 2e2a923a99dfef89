"""Bodies of requests: JSON or a form, checked by a schema, and faults told in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request, Response
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json

from dragoman.server.errors import Refused, Unsupported
from dragoman.server.faults import said

__all__ = ["checked", "is_json", "json_answer", "read_fields", "read_json"]

Schema = TypeVar("Schema", bound=BaseModel)

_MOST_FIELDS = 1000
_MOST_SHOWN = 60
_KINDS = ("str", "int", "list[str]", "constrained-str", "constrained-int")  # pydantic names the arms of a union
_FORM = "application/x-www-form-urlencoded"


def is_json(request: Request) -> bool:
    """Whether the body says that it is JSON."""
    kind = _content_type(request)
    return kind == "application/json" or kind.endswith("+json")


async def read_json(request: Request) -> dict[str, Any]:
    """Read an object in JSON; another kind of body is `Unsupported`."""
    if not is_json(request):
        raise Unsupported(
            f"the body must be JSON, got {_content_type(request)[:_MOST_SHOWN] or 'no content type'}; send it with the "
            "header Content-Type: application/json"
        )
    try:
        value = from_json(await request.body())
    except ValueError as error:
        raise Refused(f"the body must be JSON, got a fault: {error}; check quotes, commas and UTF-8") from None
    if not isinstance(value, dict):
        raise Refused("the body must be a JSON object, got something else; write names and values in { }")
    return value


async def read_fields(request: Request) -> list[tuple[str, str]]:
    """Read the fields of a form, either encoding, and those of the address; files are left out."""
    kind = _content_type(request)
    fields = list(request.query_params.multi_items())
    if kind == _FORM:
        try:
            text = (await request.body()).decode()
            fields += parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
        except ValueError:
            raise Refused("the form must be UTF-8 in percent encoding, got other bytes; encode it anew") from None
    elif kind == "multipart/form-data":
        async with request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=_most(request)) as form:
            fields += [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
    return fields


def checked(schema: type[Schema], value: Mapping[str, Any]) -> Schema:
    """Check values by a schema; the first fault is told."""
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        raise Refused(_fault(error, schema)) from None


def json_answer(value: Any, status: int = 200) -> Response:
    """Answer with JSON, written by the fastest writer at hand; numbers that JSON does not know become null."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")


def _fault(error: ValidationError, schema: type[BaseModel]) -> str:
    fault = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in fault["loc"] if part not in _KINDS)[:_MOST_SHOWN] or "the body"
    told = said(fault, name, schema.model_fields, shows_value=False)
    return told if ";" in told else f"{told}; /docs shows what a request holds"


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _most(request: Request) -> int:
    """What a part may hold: no more than the body, which the server has limited already."""
    length = request.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 1 << 20

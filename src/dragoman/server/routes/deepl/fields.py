"""Read the fields of a DeepL request: JSON or a form, and always the query."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from dragoman.server.http.request_body import is_json, read_fields, read_json

__all__ = ["read_values"]


async def read_values(request: Request) -> dict[str, Any]:
    """Return all fields by name; those of JSON take precedence over the query. Only `text` may occur several times.

    PHP writes ``text[]`` or ``text[0]`` for a repeated field.
    """
    if is_json(request):
        return {**request.query_params, **await read_json(request)}
    fields = await read_fields(request)
    values: dict[str, Any] = dict(fields)
    texts = [value for name, value in fields if name == "text" or (name.startswith("text[") and name.endswith("]"))]
    if texts:
        values["text"] = [text.replace("\r\n", "\n") for text in texts]  # browsers end lines of forms with CR LF
    return values

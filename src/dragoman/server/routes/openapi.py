"""Helpers to describe responses, request bodies and parameters of routes in OpenAPI."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import FastAPI, Response
from pydantic import BaseModel, ConfigDict, Field

from dragoman.server.errors import ErrorCode
from dragoman.server.http.problem_details import PROBLEM_TYPE

__all__ = [
    "BASE_ERRORS",
    "BODY_ERRORS",
    "BOOLEANS",
    "EXAMPLE_SOURCE",
    "EXAMPLE_TARGET",
    "FORMS",
    "JSON",
    "Problem",
    "SourceLanguage",
    "TargetLanguage",
    "add_problem_schema",
    "parameter",
    "problem_response",
    "request_body",
    "responses",
]

JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
EXAMPLE_SOURCE, EXAMPLE_TARGET = "Two dogs play in the snow.", "Zwei Hunde spielen im Schnee."

TargetLanguage = Annotated[str, Field(min_length=1, examples=["de"])]
SourceLanguage = Annotated[str, Field(min_length=1, description="A language code, or `auto`.", examples=["en"])]

BOOLEANS = {"0": False, "1": True, "false": False, "true": True}
"""Boolean values of form fields."""
BASE_ERRORS = (400, 403, 413, 421, 500, 503)
"""Error statuses of every route."""
BODY_ERRORS = (*BASE_ERRORS, 408, 429)
"""Error statuses of a route with a request body."""

_DESCRIPTIONS = {
    400: "The request is invalid.",
    403: "The API key is missing, invalid, or without the required right.",
    404: "Not found.",
    408: "The body took too long to arrive.",
    413: "The body, a text, or all texts together are too large.",
    415: "The media type is not supported.",
    421: "The Host header is not a name of this server.",
    429: "Too many tokens per minute; see `Retry-After`.",
    500: "Internal error.",
    501: "A package that this requires is not installed on the server.",
    503: "The server is overloaded or shutting down; see `Retry-After`.",
}


class Problem(BaseModel):
    """An error: RFC 9457, with LibreTranslate's `error` and DeepL's `message`."""

    model_config = ConfigDict(extra="allow")

    error: str = Field(examples=["xx is not supported"])
    message: str
    type: str
    title: str = Field(examples=["Bad Request"])
    status: int = Field(examples=[400])
    detail: str
    code: ErrorCode = Field(description="What is wrong, for programs.")
    retry_after: int | None = Field(
        None, description="Seconds to wait before the request may succeed; in streams too, which have no header for it."
    )


def responses(
    model: Any | None,
    *errors: int,
    description: str = "Success",
    more: Mapping[str, Any] | None = None,
    status: int = 200,
) -> dict[str, Any]:
    """Return arguments of a route: the model of success, and error statuses; `more` are other media types of success.

    Routes return a `Response`, so FastAPI documents the model and does not validate by it.
    """
    success: dict[str, Any] = {"description": description, "content": dict(more or {})}
    if model is not None:
        success["model"] = model
    failures = {each: problem_response(each) for each in sorted(errors)}
    response_class: dict[str, Any] = {} if model is not None else {"response_class": Response}
    return {
        "responses": {status: success} | failures,
        "response_model": None,
        "status_code": status,
        **response_class,
    }


def problem_response(status: int) -> dict[str, Any]:
    """Return the description of an error status."""
    return {
        "description": _DESCRIPTIONS[status],
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def request_body(
    model: type[BaseModel], media_types: Sequence[str] = (JSON,), **examples: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the argument of a route that describes its body, for every media type."""
    schema = _inlined(model.model_json_schema())
    named = {name: {"value": dict(value)} for name, value in examples.items()}
    content = {
        each: {"schema": schema if each == JSON else _form_schema(schema)}
        | ({"examples": named} if each == JSON else {})
        for each in media_types
    }
    return {"openapi_extra": {"requestBody": {"required": True, "content": content}}}


def _inlined(schema: Any, definitions: Mapping[str, Any] | None = None) -> Any:
    """Return a schema with its definitions in place of the references to them."""
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    known = schema.get("$defs", definitions or {})
    if "$ref" in schema:
        return _inlined(known[schema["$ref"].rpartition("/")[2]], known)
    return {name: _inlined(value, known) for name, value in schema.items() if name != "$defs"}


def parameter(name: str, place: str, schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """Return the description of a parameter."""
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "schema": dict(schema),
        "description": description,
    }


def _form_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema for forms, whose values are strings."""
    form = copy.deepcopy(dict(schema))
    for name, value in form["properties"].items():
        types = {each.get("type"): each for each in value.get("anyOf", ())}
        if "string" in types:
            form["properties"][name] = {"title": value.get("title", name), **types["string"]}
        elif "boolean" in types:
            form["properties"][name] = {"type": "string", "enum": list(BOOLEANS)}
    return form


def add_problem_schema(app: FastAPI) -> None:
    """Add the schema of errors to the OpenAPI document of an app."""
    describe = app.openapi

    def openapi() -> dict[str, Any]:
        document = describe()
        document.setdefault("components", {}).setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        return document

    app.openapi = openapi  # type: ignore[method-assign]

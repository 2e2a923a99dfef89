"""What `/openapi.json` says about a route: every status it may answer, and what its body holds."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Response
from pydantic import BaseModel

from dragoman.server.problems import PROBLEM_TYPE
from dragoman.server.schemas import Problem

__all__ = [
    "FAULTS",
    "FORMS",
    "JSON",
    "SWITCHES",
    "TRANSLATING",
    "answers",
    "body",
    "complete_openapi",
    "parameter",
    "told",
]

JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")

_WHY = {
    400: "The request is at fault.",
    403: "A key is missing, wrong, or without the right.",
    404: "There is nothing here.",
    408: "The body took too long to arrive.",
    413: "The body, a text, or all of them together are too large.",
    415: "The body is of another kind.",
    421: "It was asked for by a name that is not its own.",
    429: "Too many pieces in a minute; `Retry-After` says when to come again.",
    500: "The server failed.",
    501: "The server was not set up for this.",
    503: "Too busy, or about to end; `Retry-After` says when to come again.",
}
SWITCHES = {"0": False, "1": True, "false": False, "true": True}
"""What a form says for no and yes."""
FAULTS = (400, 403, 413, 421, 500, 503)
"""What any route may answer."""
TRANSLATING = (*FAULTS, 408, 429)
"""What a route that reads a body may answer."""


def answers(
    model: type[BaseModel] | None, *faults: int, description: str = "Done", more: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Arguments of a route: what comes with 200, and with each fault; `more` are other kinds of body with 200."""
    good: dict[str, Any] = {"description": description, "content": dict(more or {})}
    if model is not None:
        good["model"] = model
    responses = {code: told(code) for code in sorted(faults)}
    kind: dict[str, Any] = {} if model is not None else {"response_class": Response}
    return {"responses": {200: good} | responses, "response_model": None, **kind}


def told(code: int) -> dict[str, Any]:
    """What comes with a fault of this status."""
    return {
        "description": _WHY[code],
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def body(schema: type[BaseModel], kinds: Sequence[str] = (JSON,), **examples: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request by its schema, the same for all kinds but that a form's values are texts."""
    shape = schema.model_json_schema(ref_template="#/components/schemas/{model}")
    named = {name: {"value": dict(value)} for name, value in examples.items()}
    content = {
        kind: {"schema": shape if kind == JSON else _form(shape)} | ({"examples": named} if kind == JSON else {})
        for kind in kinds
    }
    return {"openapi_extra": {"requestBody": {"required": True, "content": content}}}


def parameter(name: str, place: str, schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    """A parameter of a route."""
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "schema": dict(schema),
        "description": description,
    }


def _form(shape: Mapping[str, Any]) -> dict[str, Any]:
    """A schema for forms: of each value's kinds the text, and 0, 1, false or true where it is one of two."""
    form = copy.deepcopy(dict(shape))
    for name, value in form["properties"].items():
        kinds = {kind.get("type"): kind for kind in value.get("anyOf", ())}
        if "string" in kinds:
            form["properties"][name] = {"title": value.get("title", name), **kinds["string"]}
        elif "boolean" in kinds:
            form["properties"][name] = {"type": "string", "enum": list(SWITCHES)}
    return form


def complete_openapi(app: FastAPI) -> None:
    """Let the app's description hold the schema that all faults point to."""
    described = app.openapi

    def complete() -> dict[str, Any]:
        schema = described()
        schema.setdefault("components", {}).setdefault("schemas", {})["Problem"] = Problem.model_json_schema()
        return schema

    app.openapi = complete  # type: ignore[method-assign]

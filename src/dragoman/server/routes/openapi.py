"""Helpers to describe responses, request bodies and parameters of routes in OpenAPI."""

import copy
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, Field
from starlette.responses import Response

from dragoman.server.http.route_policy import ApiRoute
from dragoman.server.request_types import NATIVE, Dialect
from dragoman.version import __version__

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


_SECURITY = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "An API key, on a server that requires one."},
    "deepl": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "An API key as DeepL's clients send it: `DeepL-Auth-Key KEY`.",
    },
}
_PATH_PARAMETERS = {
    "name": "Name or id.",
    "memory": "Id of a memory.",
    "unit": "Id of a unit.",
    "job": "Id of a job.",
    "glossary_id": "Id of the glossary.",
    "document_id": "Id of the document.",
}
_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def responses(
    model: Any | None,
    *errors: int,
    description: str = "Success",
    more: Mapping[str, Any] | None = None,
    status: int = 200,
    dialect: Dialect = NATIVE,
) -> dict[str, Any]:
    """Return arguments of a route: the model of success, and error statuses; `more` are other media types of success.

    Routes return a `Response`, so FastAPI documents the model and does not validate by it.
    """
    success: dict[str, Any] = {"description": description, "content": dict(more or {})}
    if model is not None:
        success["model"] = model
    failures = {each: problem_response(each, dialect) for each in sorted(errors)}
    response_class: dict[str, Any] = {} if model is not None else {"response_class": Response}
    return {"responses": {status: success} | failures, "response_model": None, "status_code": status, **response_class}


def problem_response(status: int, dialect: Dialect = NATIVE) -> dict[str, Any]:
    """Return the description of an error status."""
    return {
        "description": _DESCRIPTIONS[status],
        "content": {dialect.error_type: {"schema": {"$ref": f"#/components/schemas/{dialect.error_model.__name__}"}}},
    }


def request_body(
    model: type[BaseModel],
    media_types: Sequence[str] = (JSON,),
    parameters: Sequence[Mapping[str, Any]] = (),
    **examples: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the argument of a route that describes its body, for every media type, and its parameters, when called."""
    return {"openapi_extra": functools.partial(_describe_body, model, media_types, parameters, examples)}


def _describe_body(
    model: type[BaseModel],
    media_types: Sequence[str],
    parameters: Sequence[Mapping[str, Any]],
    examples: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    schema = _inlined(model.model_json_schema())
    named = {name: {"value": dict(value)} for name, value in examples.items()}
    content = {
        each: {"schema": schema if each == JSON else _form_schema(schema)}
        | ({"examples": named} if each == JSON else {})
        for each in media_types
    }
    described: dict[str, Any] = {"requestBody": {"required": True, "content": content}}
    return described | ({"parameters": list(parameters)} if parameters else {})


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
    return {"name": name, "in": place, "required": place == "path", "schema": dict(schema), "description": description}


def _form_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema for forms, whose values are strings."""
    form = copy.deepcopy(dict(schema))
    form["title"] = f"{form.get('title', '')}Form"
    for name, value in form["properties"].items():
        types = {each.get("type"): each for each in value.get("anyOf", ())}
        if "string" in types:
            form["properties"][name] = {"title": value.get("title", name), **types["string"]}
        elif "boolean" in types:
            form["properties"][name] = {"type": "string", "enum": list(BOOLEANS)}
    return form


_REQUEST_ID = parameter("X-Request-Id", "header", {"type": "string"}, "Id of the request in the log and the response.")


def describe_routes(
    routes: Sequence[tuple[Dialect, ApiRoute]], needs_key: Callable[[str, str], bool]
) -> dict[str, Any]:
    """Return the OpenAPI document of routes with their dialects: what FastAPI writes, completed, and simplified.

    `needs_key` returns whether an operation, by method and path, needs a key on a server with keys.
    """
    from fastapi import APIRouter  # noqa: PLC0415 -- slow to import, and used only here
    from fastapi.openapi.utils import get_openapi  # noqa: PLC0415

    written = APIRouter()
    for _, route in routes:
        found = route.described.get("openapi_extra") or {}
        extra = found() if callable(found) else found
        given = extra.get("parameters", [])
        missing = [name for name in re.findall(r"{(\w+)", route.path) if name not in [each["name"] for each in given]]
        named = [parameter(name, "path", {"type": "string"}, _PATH_PARAMETERS.get(name, name)) for name in missing]
        options = {**route.described, "openapi_extra": extra | ({"parameters": [*named, *given]} if named else {})}
        written.add_api_route(route.path, _stand_in(route.endpoint), methods=[route.method], **options)
    document = get_openapi(title="Dragoman", version=__version__, routes=written.routes)
    components = document.setdefault("components", {})
    for model in dict.fromkeys(dialect.error_model for dialect, _ in routes):
        components.setdefault("schemas", {})[model.__name__] = _inlined(model.model_json_schema())
    components["securitySchemes"] = _SECURITY
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            operation["operationId"] = _operation_id(method if len(operations) > 1 else "", path)
            if len(operation.get("requestBody", {}).get("content", ())) > 1:
                # openapi-python-client 0.29 writes invalid code for several media types without such a parameter.
                operation.setdefault("parameters", []).append(_REQUEST_ID)
            if needs_key(method.upper(), path):
                operation["security"] = [*({name: []} for name in _SECURITY), {}]  # none without keys
    described: dict[str, Any] = _portable(document)
    return described


def _stand_in(endpoint: Callable[..., Any]) -> Callable[[], Any]:
    """Return a function with the name and the text of an endpoint, without parameters, which routes describe."""

    def described() -> None: ...

    described.__name__, described.__doc__ = endpoint.__name__, endpoint.__doc__
    return described


def _operation_id(method: str, path: str) -> str:
    """Return a short name: ``v1_translate``, ``get_v2_glossaries``, ``v3_projects_translate_text``."""
    parts = re.split("[/:]", path.strip("/"))
    last = parts[-1]
    names = [re.sub("([a-z])([A-Z])", r"\1_\2", part).lower() for part in parts if not part.startswith("{")]
    ending = [f"by_{last.strip('{}').rpartition('_')[2]}"] if last.startswith("{") else []
    return "_".join(re.sub(r"\W", "_", part) for part in (method, *names, *ending) if part)


def _portable(schema: Any) -> Any:
    """Return a schema that generators of clients accept.

    Enumerations have one type each, tuples are lists of a fixed length, and properties have no titles, which become
    names of classes, and are not null only.
    """
    if isinstance(schema, list):
        return [_portable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _portable(value) for name, value in schema.items()}
    if isinstance(properties := found.get("properties"), dict):
        found["properties"] = {
            name: {key: value for key, value in each.items() if key != "title"}
            for name, each in properties.items()
            if each.get("type") != "null"
        }
    if isinstance(items := found.get("prefixItems"), list) and all(each == items[0] for each in items):
        del found["prefixItems"]
        found["items"] = items[0]
    if isinstance(values := found.get("enum"), list) and len(kinds := {type(each) for each in values}) > 1:
        del found["enum"]
        ordered = sorted(kinds, key=lambda kind: kind.__name__, reverse=True)
        found["anyOf"] = [
            {"type": _JSON_TYPES[kind], "enum": [each for each in values if type(each) is kind]} for kind in ordered
        ]
    return found

"""Routes of the DeepL API v2 for text translation, languages and usage."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from dragoman.server.errors import RequestError
from dragoman.server.http.dependencies import Reserved
from dragoman.server.http.request_body import is_json, json_response, parse_model, read_fields, read_json
from dragoman.server.http.route_policy import route_policy
from dragoman.server.models.served_languages import Languages, language_name
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import TranslationResult
from dragoman.server.routes.deepl_schemas import DeeplLanguage, DeeplRequest, DeeplResponse, DeeplUsage
from dragoman.server.routes.openapi import (
    BASE_ERRORS,
    BODY_ERRORS,
    BOOLEANS,
    FORMS,
    JSON,
    parameter,
    request_body,
    responses,
)

__all__ = ["router"]

_NO_LIMIT = 1_000_000_000_000
_SIDES = ("source", "target")


async def _translate_body(request: Request) -> DeeplRequest:
    if is_json(request):
        return parse_model(DeeplRequest, await read_json(request))
    fields = await read_fields(request)
    values: dict[str, Any] = dict(fields)
    if texts := [value.replace("\r\n", "\n") for name, value in fields if name == "text"]:
        values["text"] = texts
    if (switch := values.get("show_billed_characters")) in BOOLEANS:
        values["show_billed_characters"] = BOOLEANS[switch]
    return parse_model(DeeplRequest, values)


TranslateBody = Annotated[DeeplRequest, Depends(_translate_body)]


def router(pipeline: TranslationPipeline) -> APIRouter:
    """Return the routes of `/v2`."""
    routes = APIRouter(prefix="/v2", tags=["DeepL"])

    @routes.post(
        "/translate",
        **responses(DeeplResponse, *BODY_ERRORS),
        **request_body(
            DeeplRequest,
            (JSON, *FORMS),
            text={"text": ["Two dogs play in the snow."], "target_lang": "DE"},
            html={"text": ["Two <b>dogs</b> play."], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html"},
        ),
    )
    @route_policy("body_key", translates=True)  # LibreOffice sends `auth_key` in the form
    async def translate(body: TranslateBody, reservation: Reserved) -> Response:
        """Translate texts."""
        results = await pipeline.translate(body.to_request(pipeline.settings), reservation)
        translations = [
            _translation_json(*each, body, pipeline.languages) for each in zip(results, body.texts, strict=True)
        ]
        return json_response({"translations": translations})

    side = parameter("type", "query", {"type": "string", "enum": list(_SIDES)}, "`source` if not given.")

    @routes.get(
        "/languages",
        **responses(list[DeeplLanguage], *BODY_ERRORS),
        openapi_extra={"parameters": [side]},
    )
    @route_policy("key", has_get_body=True)  # DeepL's client requests target languages with a form
    async def languages(request: Request) -> Response:
        """List the source or target languages."""
        kind = dict(await read_fields(request)).get("type", "source")
        if kind not in _SIDES:
            raise RequestError(f"type must be source or target, got {kind[:40]!r}; leave it out for sources")
        return json_response(_languages_json(pipeline, kind))

    @routes.get("/usage", **responses(DeeplUsage, *BASE_ERRORS, 429))
    @route_policy("key")
    async def usage() -> Response:
        """Return the number of translated characters."""
        return json_response({"character_count": pipeline.characters, "character_limit": _NO_LIMIT})

    return routes


def _translation_json(result: TranslationResult, text: str, body: DeeplRequest, languages: Languages) -> dict[str, Any]:
    value: dict[str, Any] = {
        "detected_source_language": languages.listed_code(result.source_language).upper(),
        "text": result.text,
    }
    if body.show_billed_characters:
        value["billed_characters"] = len(text)
    return value


def _languages_json(pipeline: TranslationPipeline, side: str) -> list[dict[str, Any]]:
    languages = pipeline.languages
    codes = languages.sources if side == "source" else languages.targets
    more: dict[str, Any] = {} if side == "source" else {"supports_formality": False}
    return [{"language": languages.listed_code(code).upper(), "name": language_name(code), **more} for code in codes]

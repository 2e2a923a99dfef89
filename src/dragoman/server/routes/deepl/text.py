"""Routes of the DeepL API v2 for text translation, languages and usage."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from dragoman.server.errors import RequestError
from dragoman.server.http.dependencies import Access, Reserved
from dragoman.server.http.request_body import json_response, parse_model
from dragoman.server.http.route_policy import route_policy
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import TranslationResult
from dragoman.server.routes.deepl.fields import read_values
from dragoman.server.routes.deepl.languages import source_code, source_languages, target_languages
from dragoman.server.routes.deepl.schemas import DeeplLanguage, DeeplRequest, DeeplResponse, DeeplUsage
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, FORMS, JSON, parameter, request_body, responses

__all__ = ["router"]

_NO_LIMIT = 1_000_000_000_000
_SIDES = ("source", "target")


async def _translate_body(request: Request) -> DeeplRequest:
    return parse_model(DeeplRequest, await read_values(request))


TranslateBody = Annotated[DeeplRequest, Depends(_translate_body)]


def router(pipeline: TranslationPipeline) -> APIRouter:
    """Return the routes of texts."""
    routes = APIRouter(prefix="/v2", tags=["DeepL"])

    @routes.post(
        "/translate",
        **responses(DeeplResponse, *BODY_ERRORS, 404),
        **request_body(
            DeeplRequest,
            (JSON, *FORMS),
            text={"text": ["Two dogs play in the snow."], "target_lang": "DE"},
            html={"text": ["Two <b>dogs</b> play."], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html"},
        ),
    )
    @route_policy("body_key", translates=True)
    async def translate(body: TranslateBody, access: Access, reservation: Reserved) -> Response:
        """Translate texts."""
        wanted = body.to_request(pipeline.settings, body.find_glossary(pipeline.glossaries, access.name))
        results = await pipeline.translate(wanted, reservation)
        access.count(sum(map(len, body.texts)))
        found = [_translation(*each, body) for each in zip(results, body.texts, strict=True)]
        return json_response({"translations": found})

    side = parameter("type", "query", {"type": "string", "enum": list(_SIDES)}, "`source` if not given.")

    @routes.get(
        "/languages",
        **responses(list[DeeplLanguage], *BODY_ERRORS),
        openapi_extra={"parameters": [side]},
    )
    @route_policy("body_key", has_get_body=True)  # DeepL's client requests target languages with a form
    async def languages(request: Request) -> Response:
        """List the source or target languages."""
        values = await read_values(request)
        kind = _text(values, "type")
        kind = "source" if kind is None else kind
        if kind not in _SIDES:
            raise RequestError(f"type must be source or target, got {kind[:40]!r}; leave it out for sources")
        served = pipeline.languages
        if kind == "source":
            return json_response([_language(*each) for each in source_languages(served.sources).items()])
        found = target_languages(served.targets).items()
        return json_response([_language(*each) | {"supports_formality": False} for each in found])

    @routes.get("/usage", **responses(DeeplUsage, *BASE_ERRORS, 408, 429))
    @route_policy("body_key", has_get_body=True, stores=True)
    async def usage(access: Access) -> Response:
        """Return the number of translated characters of the API key."""
        return json_response({"character_count": access.characters, "character_limit": _NO_LIMIT})

    return routes


def _text(values: dict[str, Any], name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _translation(result: TranslationResult, text: str, body: DeeplRequest) -> dict[str, Any]:
    value: dict[str, Any] = {
        "detected_source_language": source_code(_source_language(result)),
        "text": result.text,
    }
    if body.shows_billed_characters:
        value["billed_characters"] = len(text)
    return value


def _source_language(result: TranslationResult) -> str:
    """Return the language of the text, also if no model translates it."""
    return (result.detected and result.detected.unavailable) or result.source_language


def _language(code: str, name: str) -> dict[str, Any]:
    return {"language": code, "name": name}

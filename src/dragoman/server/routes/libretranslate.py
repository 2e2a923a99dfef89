"""Routes of the LibreTranslate API, with LibreTranslate's wording of error messages that clients may match."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from dragoman.documents.formats import FORMATS
from dragoman.server.errors import NotFound, RequestError
from dragoman.server.http.dependencies import Access, Reserved
from dragoman.server.http.request_body import is_json, json_response, parse_model, read_fields, read_json
from dragoman.server.http.route_policy import route_policy
from dragoman.server.models.routing import code_hint
from dragoman.server.models.served_languages import Languages, language_name, supported_codes
from dragoman.server.pipeline.language_detection import MAX_DETECTED_CHARACTERS
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_limits import charged_tokens, check_texts
from dragoman.server.request_types import DetectedLanguage, TranslationResult
from dragoman.server.routes.libretranslate_schemas import (
    DetectRequest,
    FrontendSettings,
    LibreTranslateLanguage,
    LibreTranslateRequest,
    LibreTranslateResponse,
)
from dragoman.server.routes.openapi import (
    BASE_ERRORS,
    BODY_ERRORS,
    FORMS,
    JSON,
    problem_response,
    request_body,
    responses,
)
from dragoman.server.settings import Limits

__all__ = ["check_languages", "router"]

Body = TypeVar("Body", bound=BaseModel)

_EMPTY = "; it must have text, got an empty value"
_MEDIA_TYPES = (JSON, *FORMS)


async def _translate_body(request: Request) -> LibreTranslateRequest:
    return await _read(request, LibreTranslateRequest, ("q", "source", "target"))


async def _detect_body(request: Request) -> DetectRequest:
    return await _read(request, DetectRequest, ("q",))


TranslateBody = Annotated[LibreTranslateRequest, Depends(_translate_body)]
DetectBody = Annotated[DetectRequest, Depends(_detect_body)]


def router(pipeline: TranslationPipeline) -> APIRouter:
    """Return the routes of LibreTranslate except documents."""
    routes = APIRouter(tags=["LibreTranslate"])
    limits = pipeline.settings.limits

    @routes.post(
        "/translate",
        **responses(LibreTranslateResponse, *BODY_ERRORS, 404),
        **request_body(
            LibreTranslateRequest,
            _MEDIA_TYPES,
            text={"q": "Two dogs play in the snow.", "source": "en", "target": "de"},
            list={"q": ["A man sleeps.", "Two dogs play."], "source": "auto", "target": "de", "alternatives": 2},
            html={"q": "<p>Two <b>dogs</b> play.</p>", "source": "en", "target": "de", "format": "html"},
        ),
    )
    @route_policy("body_key", translates=True)
    async def translate(body: TranslateBody, access: Access, reservation: Reserved) -> Response:
        """Translate a text or a list of texts."""
        _check_sizes(body.texts, limits)
        wanted = body.to_request(pipeline.settings, pipeline.glossaries, access.name)
        check_languages(pipeline.languages, body.source, body.target)
        results = await pipeline.translate(wanted, reservation)
        access.count(sum(map(len, body.texts)))
        return json_response(_response(results, body, pipeline.languages))

    @routes.post(
        "/detect", **responses(list[DetectedLanguage], *BODY_ERRORS), **request_body(DetectRequest, _MEDIA_TYPES)
    )
    @route_policy("body_key")
    async def detect(body: DetectBody, access: Access) -> Response:
        """Detect the language of a text, the server's languages first unless the text is clearly in another one."""
        _check_sizes(body.texts, limits)
        check_texts(body.texts, limits)
        text = "\n".join(body.texts)
        access.charge(charged_tokens(min(len(text), MAX_DETECTED_CHARACTERS)))
        detected = pipeline.detector.detect(text, pipeline.languages.codes)
        return json_response([_detected_json(each, pipeline.languages) for each in detected])

    @routes.get("/languages", **responses(list[LibreTranslateLanguage], *BASE_ERRORS))
    @route_policy("public")
    async def languages() -> Response:
        """List the languages and the targets of each."""
        return json_response(_languages_json(pipeline.languages))

    @routes.get("/frontend/settings", **responses(FrontendSettings, *BASE_ERRORS))
    @route_policy("public")
    async def frontend_settings() -> Response:
        """Return settings for web pages."""
        return json_response(_frontend_settings(pipeline))

    @routes.post(
        "/suggest",
        status_code=404,
        responses={status: problem_response(status) for status in (*BODY_ERRORS, 404)},
        response_class=Response,
        response_description="Suggestions are not supported.",
    )
    @route_policy("public")
    async def suggest() -> Response:
        """Reject a suggestion, as LibreTranslate does if suggestions are disabled."""
        raise NotFound("suggestions must be enabled to be sent, got a server without them; see /frontend/settings")

    return routes


async def _read(request: Request, model: type[Body], required: tuple[str, ...]) -> Body:
    values: dict[str, Any]
    if is_json(request):
        values = await read_json(request)
    else:
        values = {}
        for name, value in await read_fields(request):
            # Browsers end the lines of form fields with CR LF.
            values.setdefault(name, value.replace("\r\n", "\n"))
    for name in required:
        if not values.get(name):  # an empty one is an error in LibreTranslate too
            is_empty = values.get(name) is not None
            raise RequestError(f"Invalid request: missing {name} parameter{_EMPTY if is_empty else ''}")
    alternatives = values.get("alternatives")
    if isinstance(alternatives, str) and not alternatives.strip().lstrip("-").isdecimal():
        raise RequestError("Invalid request: alternatives parameter is not a number")
    format_ = values.get("format")
    if isinstance(format_, str) and format_ not in {"", "text", "html"}:
        raise RequestError(f"{format_[:40]} format is not supported")
    return parse_model(model, values)


def _check_sizes(texts: list[str], limits: Limits) -> None:
    """Check number and length of texts; LibreTranslate has one message for both."""
    sizes = [(len(texts), limits.texts), *((len(text), limits.text_characters) for text in texts)]
    for size, limit in sizes:
        if size > limit:
            raise RequestError(f"Invalid request: request ({size}) exceeds text limit ({limit})")


def check_languages(languages: Languages, source: str, target: str, model: str | None = None) -> None:
    """Reject languages, and without a named model pairs, that are not served, with LibreTranslate's messages."""
    is_auto = source.strip().lower() == "auto"
    sides = ((source, languages.sources), (target, languages.targets))
    for code, codes in sides[is_auto:]:
        if languages.match(code) is None:
            hint = code_hint(code, languages.codes)
            listed = supported_codes(codes, languages)
            raise RequestError(f"{code[:40]} is not supported{hint}; {listed}", code="unknown_language")
    if not is_auto and model is None and languages.match_pair(source, target) is None:
        served = [languages.match(code) or code for code in (target, source)]
        names = [f"{language_name(code)} ({languages.listed_code(code)})" for code in served]
        raise RequestError(f"{names[0]} is not available as a target language from {names[1]}", code="unavailable_pair")


def _response(results: list[TranslationResult], body: LibreTranslateRequest, languages: Languages) -> dict[str, Any]:
    value: dict[str, Any] = {"translatedText": [each.text for each in results]}
    if results[0].detected is not None:
        value["detectedLanguage"] = [_detected_json(each.detected, languages) for each in results if each.detected]
    if body.max_alternatives:
        value["alternatives"] = [[text for text, _ in each.alternatives] for each in results]
    return value if isinstance(body.q, list) else {name: each[0] for name, each in value.items()}


def _detected_json(detected: DetectedLanguage, languages: Languages) -> dict[str, Any]:
    language, confidence = detected.most_probable
    return {"confidence": confidence, "language": languages.listed_code(language)}


def _languages_json(languages: Languages) -> list[dict[str, Any]]:
    return [
        {
            "code": languages.listed_code(code),
            "name": language_name(code),
            "targets": [languages.listed_code(target) for target in languages.from_source(code)],
        }
        for code in languages.codes
    ]


def _frontend_settings(pipeline: TranslationPipeline) -> dict[str, Any]:
    languages = pipeline.languages
    target = languages.default_target
    has_keys = pipeline.settings.keys is not None
    return {
        "charLimit": pipeline.settings.limits.text_characters,
        "frontendTimeout": 500,
        "apiKeys": has_keys,
        "keyRequired": has_keys,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": sorted(FORMATS),
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": languages.listed_code(target), "name": language_name(target)},
        },
    }

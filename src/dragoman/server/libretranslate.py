"""LibreTranslate's API, as its clients expect it; errors that they may look for are worded as there."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from dragoman.documents.formats import FORMATS
from dragoman.server.bodies import checked, is_json, json_answer, read_fields, read_json
from dragoman.server.context import Context
from dragoman.server.detection import Detected
from dragoman.server.errors import NotFound, Refused
from dragoman.server.languages import Languages, language_name, listed_code
from dragoman.server.openapi import FAULTS, FORMS, JSON, TRANSLATING, answers, body, told
from dragoman.server.placing import Wanted, check_texts, placed_texts
from dragoman.server.schemas import (
    Detection,
    DetectRequest,
    FrontendSettings,
    LibreAnswer,
    LibreLanguage,
    LibreRequest,
)
from dragoman.server.texts import Translated, translate_texts

__all__ = ["check_languages", "router"]

Schema = TypeVar("Schema", bound=BaseModel)

_KINDS = (JSON, *FORMS)


def router(context: Context) -> APIRouter:
    """The routes, but for documents."""
    routes = APIRouter(tags=["LibreTranslate"])
    limits = context.settings.limits

    @routes.post(
        "/translate",
        **answers(LibreAnswer, *TRANSLATING),
        **body(
            LibreRequest,
            _KINDS,
            text={"q": "Two dogs play in the snow.", "source": "en", "target": "de"},
            list={"q": ["A man sleeps.", "Two dogs play."], "source": "auto", "target": "de", "alternatives": 2},
            html={"q": "<p>Two <b>dogs</b> play.</p>", "source": "en", "target": "de", "format": "html"},
        ),
    )
    async def translate(request: Request) -> Response:
        """Translate a text, or a list of texts."""
        asked = await _read(request, LibreRequest, ("q", "source", "target"))
        request.state.access.admit(asked.api_key)
        texts = asked.q if isinstance(asked.q, list) else [asked.q]
        _check_sizes(texts, limits.texts, limits.text_characters)
        alternatives = max(0, int(asked.alternatives or 0))
        if alternatives > limits.alternatives:
            raise Refused(f"Invalid request: alternatives parameter must be <= {limits.alternatives}")
        check_languages(context.languages, asked.source, asked.target)
        wanted = Wanted(asked.source, asked.target, is_html=asked.format == "html", alternatives=alternatives)
        placed = await placed_texts(context, texts, wanted)
        done = await translate_texts(context, placed, wanted, request.state.ticket)
        return json_answer(_answer(done, asked, alternatives))

    @routes.post("/detect", **answers(None, *TRANSLATING, more=_listing(Detection)), **body(DetectRequest, _KINDS))
    async def detect(request: Request) -> Response:
        """Tell which of the server's languages a text is in."""
        asked = await _read(request, DetectRequest, ("q",))
        request.state.access.admit(asked.api_key)
        texts = asked.q if isinstance(asked.q, list) else [asked.q]
        _check_sizes(texts, limits.texts, limits.text_characters)
        check_texts(texts, limits)
        found = context.detector.detect("\n".join(texts), context.languages.codes)
        return json_answer([_detection(each) for each in found])

    @routes.get("/languages", **answers(None, *FAULTS, more=_listing(LibreLanguage)))
    async def languages() -> Response:
        """List the languages, and what each can be translated to."""
        return json_answer(_languages(context.languages))

    @routes.get("/frontend/settings", **answers(FrontendSettings, *FAULTS))
    async def frontend_settings() -> Response:
        """Tell a page what it may offer."""
        return json_answer(_frontend_settings(context))

    @routes.post(
        "/suggest",
        status_code=404,
        responses={code: told(code) for code in (*TRANSLATING, 404)},
        response_class=Response,
        response_description="Suggestions are not taken.",
    )
    async def suggest() -> Response:
        """Take no suggestions, as a server of LibreTranslate without them."""
        raise NotFound("suggestions are not taken here; /frontend/settings says so")

    return routes


async def _read(request: Request, schema: type[Schema], needed: tuple[str, ...]) -> Schema:
    values: dict[str, Any]
    if is_json(request):
        values = await read_json(request)
    else:
        values = {}
        for name, value in await read_fields(request):
            # Browsers end the lines of a form's texts with CR LF.
            values.setdefault(name, value.replace("\r\n", "\n"))
    for name in needed:
        if not values.get(name):
            raise Refused(f"Invalid request: missing {name} parameter")
    alternatives = values.get("alternatives")
    if isinstance(alternatives, str) and not alternatives.strip().lstrip("-").isdecimal():
        raise Refused("Invalid request: alternatives parameter is not a number")
    style = values.get("format")
    if isinstance(style, str) and style not in {"", "text", "html"}:
        raise Refused(f"{style[:40]} format is not supported")
    return checked(schema, values)


def _check_sizes(texts: list[str], most: int, longest: int) -> None:
    """As LibreTranslate says it: one wording for both."""
    sizes = [(len(texts), most), *((len(text), longest) for text in texts)]
    for size, limit in sizes:
        if size > limit:
            raise Refused(f"Invalid request: request ({size}) exceeds text limit ({limit})")


def check_languages(languages: Languages, source: str, target: str) -> None:
    """Refuse languages that are not served, and pairs that no model leads along, in LibreTranslate's words."""
    codes = [None if code.strip().lower() == "auto" else languages.resolved(code) for code in (source, target)]
    for code, found, may_be_auto in ((source, codes[0], True), (target, codes[1], False)):
        if found is None and not (may_be_auto and code.strip().lower() == "auto"):
            raise Refused(f"{code[:40]} is not supported")
    first, second = codes
    if first and second and not languages.leads(first, second):
        names = [f"{language_name(code)} ({listed_code(code)})" for code in (second, first)]
        raise Refused(f"{names[0]} is not available as a target language from {names[1]}")


def _answer(done: list[Translated], asked: LibreRequest, alternatives: int) -> dict[str, Any]:
    value: dict[str, Any] = {"translatedText": [each.text for each in done]}
    if done[0].placed.detected is not None:
        value["detectedLanguage"] = [_detection(each.placed.detected) for each in done if each.placed.detected]
    if alternatives:
        value["alternatives"] = [[text for text, _ in each.alternatives] for each in done]
    return value if isinstance(asked.q, list) else {name: each[0] for name, each in value.items()}


def _detection(found: Detected) -> dict[str, Any]:
    return {"confidence": found.confidence, "language": listed_code(found.language)}


def _languages(languages: Languages) -> list[dict[str, Any]]:
    return [
        {
            "code": listed_code(code),
            "name": language_name(code),
            "targets": [listed_code(target) for target in languages.from_source(code)],
        }
        for code in languages.codes
    ]


def _frontend_settings(context: Context) -> dict[str, Any]:
    targets = context.languages.targets or ("en",)
    has_keys = context.settings.keys is not None
    return {
        "charLimit": context.settings.limits.text_characters,
        "frontendTimeout": 500,
        "apiKeys": has_keys,
        "keyRequired": has_keys,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": sorted(FORMATS),
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": listed_code(targets[0]), "name": language_name(targets[0])},
        },
    }


def _listing(model: type[BaseModel]) -> dict[str, Any]:
    """A list of these, as JSON."""
    return {JSON: {"schema": {"type": "array", "items": model.model_json_schema()}}}

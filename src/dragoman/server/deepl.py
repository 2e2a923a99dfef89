"""DeepL's API, version 2: enough of it that its clients translate texts here."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from dragoman.server.bodies import checked, is_json, json_answer, read_fields, read_json
from dragoman.server.context import Context
from dragoman.server.errors import Refused
from dragoman.server.languages import language_name, listed_code
from dragoman.server.openapi import FAULTS, FORMS, JSON, SWITCHES, TRANSLATING, answers, body, parameter
from dragoman.server.placing import Wanted, placed_texts
from dragoman.server.schemas import DeeplAnswer, DeeplLanguage, DeeplRequest, DeeplUsage
from dragoman.server.texts import Translated, translate_texts

__all__ = ["router"]

_NO_LIMIT = 1_000_000_000_000
_SIDES = ("source", "target")


def router(context: Context) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v2", tags=["DeepL"])

    @routes.post(
        "/translate",
        **answers(DeeplAnswer, *TRANSLATING),
        **body(
            DeeplRequest,
            (JSON, *FORMS),
            text={"text": ["Two dogs play in the snow."], "target_lang": "DE"},
            html={"text": ["Two <b>dogs</b> play."], "source_lang": "EN", "target_lang": "DE", "tag_handling": "html"},
        ),
    )
    async def translate(request: Request) -> Response:
        """Translate texts."""
        request.state.access.admit()
        asked = await _read(request)
        _check(asked)
        texts = asked.text if isinstance(asked.text, list) else [asked.text]
        wanted = Wanted(
            asked.source_lang or "auto",
            asked.target_lang,
            is_html=bool(asked.tag_handling),
            split=asked.split_sentences != "0",
        )
        placed = await placed_texts(context, texts, wanted)
        done = await translate_texts(context, placed, wanted, request.state.ticket)
        return json_answer({"translations": [_translation(each, asked) for each in done]})

    side = parameter("type", "query", {"type": "string", "enum": list(_SIDES)}, "`source` if not given.")

    @routes.get(
        "/languages",
        **answers(None, *TRANSLATING, more={JSON: {"schema": _listing()}}),
        openapi_extra={"parameters": [side]},
    )
    async def languages(request: Request) -> Response:
        """List the languages on one side."""
        request.state.access.admit()
        kind = dict(await read_fields(request)).get("type", "source")
        if kind not in _SIDES:
            raise Refused(f"type must be source or target, got {kind[:40]!r}; leave it out for sources")
        return json_answer(_languages(context, kind))

    @routes.get("/usage", **answers(DeeplUsage, *FAULTS, 429))
    async def usage(request: Request) -> Response:
        """Tell how much was translated."""
        request.state.access.admit()
        return json_answer({"character_count": context.characters, "character_limit": _NO_LIMIT})

    return routes


async def _read(request: Request) -> DeeplRequest:
    if is_json(request):
        return checked(DeeplRequest, await read_json(request))
    fields = await read_fields(request)
    values: dict[str, Any] = dict(fields)
    if texts := [value.replace("\r\n", "\n") for name, value in fields if name == "text"]:
        values["text"] = texts
    if (switch := values.get("show_billed_characters")) in SWITCHES:
        values["show_billed_characters"] = SWITCHES[switch]
    return checked(DeeplRequest, values)


def _check(asked: DeeplRequest) -> None:
    if asked.glossary_id:
        raise Refused(
            "glossary_id must be left out, got one: no glossaries are kept here; send the terms themselves to "
            "/v1/translate"
        )
    if asked.formality in {"more", "less"}:
        raise Refused(
            f"formality must be default, prefer_more or prefer_less, got {asked.formality}; no model here can choose"
        )


def _translation(done: Translated, asked: DeeplRequest) -> dict[str, Any]:
    value: dict[str, Any] = {
        "detected_source_language": listed_code(done.placed.source).upper(),
        "text": done.text,
    }
    if asked.show_billed_characters:
        value["billed_characters"] = len(done.placed.text)
    return value


def _languages(context: Context, side: str) -> list[dict[str, Any]]:
    codes = context.languages.sources if side == "source" else context.languages.targets
    more: dict[str, Any] = {} if side == "source" else {"supports_formality": False}
    return [{"language": listed_code(code).upper(), "name": language_name(code), **more} for code in codes]


def _listing() -> dict[str, Any]:
    return {"type": "array", "items": DeeplLanguage.model_json_schema()}

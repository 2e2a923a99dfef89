"""Routes of the DeepL API v2 for text translation, languages and usage, with their bodies and language codes."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt
from starlette.requests import Request
from starlette.responses import Response

from dragoman.api.translation.multi_model.routing import Route
from dragoman.language_codes import is_same_language, language_key
from dragoman.server.errors import RequestError
from dragoman.server.glossaries import StoredGlossary
from dragoman.server.http.request_body import (
    Access,
    Reserved,
    json_response,
    parse_model,
)
from dragoman.server.http.request_body import read_values as read_request_values
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.models.routing import language_name
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import Dialect, ModelInfo, TranslationRequest, TranslationResult
from dragoman.server.routes.openapi import (
    BASE_ERRORS,
    BODY_ERRORS,
    EXAMPLE_SOURCE,
    EXAMPLE_TARGET,
    FORMS,
    JSON,
    TargetLanguage,
    parameter,
    request_body,
    responses,
)
from dragoman.server.settings import ServerSettings
from dragoman.storage.memory_reader import MemoryReader

DEEPL = Dialect("DeepL", "source_lang", "target_lang", "/v2/languages", rejects_other_languages=True)

_Switch = StrictBool | Literal[0, 1, "0", "1", "true", "false"]
_TRUE = (True, "1", "true")  # 1 equals True
_MAX_IGNORED = 100
_Digits = Annotated[str, Field(pattern=r"^(100|[0-9]{1,2})$")]  # in forms
_MAX_GLOSSARIES, _THRESHOLD = 5, 75  # as in DeepL's API

AuthKey = Annotated[
    str | None, Field(description="API key, if the server requires one and `Authorization` does not have it.")
]


class DeeplGlossaryChoice(BaseModel):
    """Fields that texts and documents have in common."""

    model_config = ConfigDict(extra="ignore")

    target_lang: TargetLanguage = Field(examples=["DE"])
    source_lang: str | None = Field(None, description="Detected if not given; required with a glossary.")
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less", ""] | None = Field(
        None, description="Accepted, and without effect: no model supports it."
    )
    glossary_id: str | None = Field(None, description="Id of a glossary of `/v2/glossaries` or `/v3/glossaries`.")
    glossary_ids: str | list[str] | None = Field(
        None,
        description=f"Ids of {_MAX_GLOSSARIES} glossaries at most, as a list or separated by commas, in place of "
        "`glossary_id`; of a term in several, the translation of the first is used.",
    )
    context: str | None = Field(None, description="Accepted, and without effect: no model reads it.")
    translation_memory_id: str | None = Field(None, description="Id of a memory of `/v3/translation_memories`.")
    translation_memory_threshold: Annotated[StrictInt, Field(ge=0, le=100)] | _Digits | None = Field(
        None, description="Smallest score of a match that replaces a translation; 75 if not given."
    )
    auth_key: AuthKey = None

    async def find_memory(self, pipeline: TranslationPipeline, owner: str) -> MemoryReader | None:
        """Return the requested memory, with the ones that every request reads; raises `NotFound`."""
        if not self.translation_memory_id:
            return None
        if not self.source_lang:
            raise RequestError("source_lang must be given with a translation memory")
        used = _THRESHOLD if self.translation_memory_threshold is None else int(self.translation_memory_threshold)
        return await asyncio.to_thread(pipeline.memories.reader, owner, self.translation_memory_id, max(1, used))

    async def find_glossary(self, pipeline: TranslationPipeline, owner: str) -> StoredGlossary | None:
        """Return the requested terms; raises `RequestError` if a glossary is unknown or not of the language pair."""
        given = [self.glossary_ids] if isinstance(self.glossary_ids, str) else self.glossary_ids or []
        ids = list(dict.fromkeys(id_.strip() for each in given for id_ in each.split(",") if id_.strip()))
        if self.glossary_id and ids:
            raise RequestError("glossary_ids must not be given together with glossary_id; leave one of them out")
        if len(ids) > _MAX_GLOSSARIES:
            raise RequestError(f"glossary_ids must be {_MAX_GLOSSARIES} ids at most, got {len(ids)}; join glossaries")
        if self.glossary_id:
            ids = [self.glossary_id]
        if not ids:
            return None
        if not self.source_lang:
            raise RequestError("source_lang must be given with a glossary")
        source, target = self.source_lang, self.target_lang

        def find() -> StoredGlossary:
            found = [pipeline.glossaries.find_for(owner, each, source, target, given="id") for each in ids]
            return found[0] if len(found) == 1 else pipeline.glossaries.join(found, source, target)

        return await asyncio.to_thread(find)


class DeeplRequest(DeeplGlossaryChoice):
    """Body of `/v2/translate`; fields that are not listed are ignored."""

    text: str | list[str] = Field(examples=[[EXAMPLE_SOURCE]])
    tag_handling: Literal["html", "xml", ""] | None = None
    ignore_tags: str | list[str] | None = Field(
        None, description="Names of elements that are not translated, as a list or separated by commas."
    )
    split_sentences: Literal["0", "1", "nonewlines", 0, 1, "true", "false", ""] | StrictBool | None = "1"
    show_billed_characters: _Switch | None = None

    @property
    def texts(self) -> list[str]:
        return self.text if isinstance(self.text, list) else [self.text]

    @property
    def shows_billed_characters(self) -> bool:
        """Whether the response has the number of characters of each text."""
        return self.show_billed_characters in _TRUE

    def to_request(self, settings: ServerSettings, glossary: StoredGlossary | None = None) -> TranslationRequest:
        tags = self.ignore_tags or []
        names = [each.strip().lower() for each in (tags.split(",") if isinstance(tags, str) else tags)]
        if len(names) > _MAX_IGNORED:
            raise RequestError(f"ignore_tags must be {_MAX_IGNORED} names at most, got {len(names)}; leave some out")
        return TranslationRequest(
            self.texts,
            self.source_lang or "auto",
            self.target_lang,
            is_html=bool(self.tag_handling),
            is_xml=self.tag_handling == "xml",
            ignored_tags=frozenset(filter(None, names)),
            options=build_options(settings, split_sentences=self.split_sentences not in (False, "0", "false")),
            glossary=glossary,
            dialect=DEEPL,
        )


class DeeplTranslation(BaseModel):
    """The translation of one text."""

    detected_source_language: str = Field(examples=["EN"])
    text: str = Field(examples=[EXAMPLE_TARGET])
    billed_characters: int | None = None


class DeeplResponse(BaseModel):
    """One translation per text."""

    translations: list[DeeplTranslation]


class DeeplLanguage(BaseModel):
    """A language; `supports_formality` is present for target languages only."""

    language: str = Field(examples=["DE"])
    name: str = Field(examples=["German"])
    supports_formality: bool | None = None


class DeeplUsage(BaseModel):
    """Number of characters translated in this month (UTC) with the API key of the request."""

    character_count: int
    character_limit: int


_NO_LIMIT = 1_000_000_000_000
_SIDES = ("source", "target")
_VARIANTS = {
    "en": ("en", "en-GB", "en-US"),
    "pt": ("pt", "pt-BR", "pt-PT"),
    "zh": ("zh", "zh-Hans"),
}
"""Codes that DeepL's clients send for a target language. Some of them reject the code without a region."""


def source_code(code: str) -> str:
    """Return the code of a source language: without a region, and with a script only if it is not the usual one."""
    key = language_key(code)
    return "-".join(filter(None, (key.language, key.script))).upper()


def source_languages(codes: Iterable[str]) -> dict[str, str]:
    """Return codes and names of source languages."""
    return {source_code(code): language_name(code) for code in codes}


def target_languages(codes: Iterable[str]) -> dict[str, str]:
    """Return codes and names of target languages."""
    found: dict[str, str] = {}
    for code in codes:
        preferred = next((each for each in _VARIANTS if is_same_language(each, code)), code)
        for variant in _VARIANTS.get(preferred, (code,)):
            found.setdefault(variant.upper(), language_name(variant))
    return found


def glossary_pairs(routes: Iterable[Route], models: Iterable[ModelInfo]) -> list[tuple[str, str]]:
    """Return the language pairs, in lower case and without regions, whose models can use a glossary."""
    capable = {each.name for each in models if each.supports_glossary}
    pairs = {
        (source_code(route.source).lower(), source_code(route.target).lower())
        for route in routes
        if any(names[-1] in capable for names in route.models)
    }
    return sorted(pairs)


async def read_values(request: Request) -> dict[str, Any]:
    """Return all fields by name; `text` and `glossary_ids` may occur several times."""
    return await read_request_values(request, ("text", "glossary_ids"))


async def _translate_body(request: Request) -> DeeplRequest:
    return parse_model(DeeplRequest, await read_values(request))


TranslateBody = Annotated[DeeplRequest, Depends(_translate_body)]


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of texts."""
    routes = Router(prefix="/v2", tags=[DEEPL.name])

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
        wanted = body.to_request(pipeline.settings, await body.find_glossary(pipeline, access.name))
        wanted = replace(wanted, memory=await body.find_memory(pipeline, access.name))
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
    @route_policy("body_key", has_get_body=True)
    async def usage(access: Access) -> Response:
        """Return the number of characters that the API key translated in this month."""
        count = await asyncio.to_thread(access.characters)
        return json_response({"character_count": count, "character_limit": _NO_LIMIT})

    return routes


def _text(values: dict[str, Any], name: str) -> str | None:
    value = values.get(name)
    return value if isinstance(value, str) else None


def _translation(result: TranslationResult, text: str, body: DeeplRequest) -> dict[str, Any]:
    value: dict[str, Any] = {
        "detected_source_language": source_code(result.text_language),
        "text": result.text,
    }
    if body.shows_billed_characters:
        value["billed_characters"] = len(text)
    return value


def _language(code: str, name: str) -> dict[str, Any]:
    return {"language": code, "name": name}

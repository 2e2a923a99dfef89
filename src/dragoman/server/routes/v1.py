"""Routes of Dragoman's own API `/v1`, with their bodies: translate, stream, inspect, list models.

Responses are not validated again.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt
from starlette.requests import Request
from starlette.responses import Response

from dragoman.api.translation.multi_model.routing import Route
from dragoman.api.translation.options import TranslateOptions
from dragoman.evaluation.quality_flags import FLAGS
from dragoman.markup.protected_spans import find_placeholders
from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import RequestError
from dragoman.server.glossaries import StoredGlossary
from dragoman.server.http.headers import CachedJson
from dragoman.server.http.request_body import Access, Reserved, json_body, json_response, large_json_response
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.http.server_sent_events import EVENT_STREAM, event, event_stream_response
from dragoman.server.pipeline.language_resolution import ResolvedText
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options, check_glossary, check_texts
from dragoman.server.request_types import (
    NATIVE,
    DetectedLanguage,
    ModelInfo,
    ReloadResult,
    TranslationRequest,
    TranslationResult,
)
from dragoman.server.routes.openai import chat_model_ids
from dragoman.server.routes.openapi import (
    BASE_ERRORS,
    BODY_ERRORS,
    EXAMPLE_SOURCE,
    EXAMPLE_TARGET,
    SourceLanguage,
    TargetLanguage,
    request_body,
    responses,
)
from dragoman.server.scheduling.admission import Reservation
from dragoman.server.settings import ServerSettings
from dragoman.storage.memory_reader import MemoryMatch


class TranslateRequest(BaseModel):
    """Body of `/v1/translate`."""

    model_config = ConfigDict(extra="forbid")

    text: str | list[str] = Field(description="A text, or a list of texts.", examples=[EXAMPLE_SOURCE])
    source: SourceLanguage = Field("auto", min_length=1)
    target: TargetLanguage
    model: str | None = Field(None, description="Name of a model of `/v1/models`; the first of the route by default.")
    format: Literal["text", "html"] = "text"
    alternatives: StrictInt = Field(
        0, ge=0, description="Maximum number of other translations; none for HTML.", examples=[2]
    )
    beam: StrictInt | None = Field(None, ge=1, le=16, description="Width of the beam; that of the server by default.")
    alignments: StrictBool = Field(False, description="Return words, and the links between them.")
    weights: StrictBool = Field(False, description="Return the attention weights between words.")
    flags: StrictBool = Field(True, description="Return quality flags.")
    glossary: dict[str, str | None] | str | None = Field(
        None,
        description="Terms and their translations, null keeps a term unchanged; or name or id of a stored glossary.",
        examples=[{"snow": "Schnee"}],
    )
    split: StrictBool = Field(True, description="Split texts into sentences.")
    prefix: str = Field(
        "", description="Words that the translation must begin with, for a single text; no memory replaces it."
    )
    min_confidence: float | None = Field(
        None,
        strict=True,
        ge=0.0,
        le=1.0,
        description="Leave texts untranslated whose confidence is lower; reject the request if that is all of them. "
        "Needs a calibrated model; that of the server by default.",
        examples=[0.5],
    )
    memory: str | None = Field(
        None, description="Name or id of a translation memory of `/v1/memories`, read before those of every request."
    )
    memory_threshold: StrictInt | None = Field(
        None,
        ge=1,
        le=101,
        description="Smallest score of a match that replaces a translation: 101 is the same text and neighbours, 100 "
        "the same text, 99 with other numbers or placeholders, less the share of words in common.",
    )
    stream: StrictBool = Field(False, description="Respond with server-sent events.")

    def to_request(self, settings: ServerSettings, stored: StoredGlossary | None) -> TranslationRequest:
        """Convert to the request of the pipeline; raises `RequestError` if a limit is exceeded."""
        limit = settings.limits.alternatives
        if self.alternatives > limit:
            raise RequestError(f"alternatives must be {limit} at most, got {self.alternatives}; request fewer")
        terms = None if isinstance(self.glossary, str) else self.glossary
        check_glossary(terms)
        is_html = self.format == "html"
        options = build_options(
            settings,
            alternatives=0 if is_html else self.alternatives,
            beam=self.beam,
            split_sentences=self.split,
            alignment=self.alignments,
            attention=self.weights,
            flags=self.flags,
            glossary=terms,
        )
        texts = self.text if isinstance(self.text, list) else [self.text]
        if self.prefix and (is_html or len(texts) != 1):
            raise RequestError("prefix must be for a single text that is not HTML; send one text per request")
        check_texts([self.prefix], settings.limits)
        return TranslationRequest(
            *(texts, self.source, self.target, self.model or None, is_html, options),
            prefix=self.prefix,
            glossary=stored,
            min_confidence=self.min_confidence,
        )


class QualityFlag(BaseModel):
    """A sign of a possible error; `meaning` explains the flag, `detail` the finding."""

    name: str
    detail: str
    meaning: str


class Alternative(BaseModel):
    """Another translation."""

    text: str
    score: float | None


class TranslatedText(BaseModel):
    """A translation, as the Python API and the command line return it, with its models and languages."""

    model_config = ConfigDict(extra="allow")

    source: str = Field(examples=[EXAMPLE_SOURCE])
    text: str = Field(examples=[EXAMPLE_TARGET])
    score: float | None
    log_prob: float | None
    is_truncated: bool
    is_cut: bool
    tokens: list[str]
    confidence: float | None = Field(
        None, description="Probability that the translation is usable; of a calibrated model only."
    )
    flags: list[QualityFlag] | None = None
    memory: MemoryMatch | None = Field(None, description="Unit of a memory whose translation this is.")
    matches: list[MemoryMatch] | None = Field(None, description="The most similar units of memories, the best first.")
    source_words: list[str] | None = None
    target_words: list[str] | None = None
    alignment: list[tuple[int, int]] | None = Field(None, description="Links of source words and target words.")
    weights: list[list[float]] | None = None
    nbest: list[dict[str, Any]] | None = Field(
        None, description="With `alternatives`, and `alignments` or `weights`: each translation with its own."
    )
    sentences: list[dict[str, Any]] | None = Field(None, description="The translation of each of several sentences.")
    models: list[str] = Field(description="Models used: two with a pivot language.")
    via: str | None = Field(description="The pivot language.")
    detected: DetectedLanguage | None = Field(description="With source `auto` only.")
    alternatives: list[Alternative]


class TranslateResponse(BaseModel):
    """One translation per text, in the same order."""

    translations: list[TranslatedText]


class InspectRequest(BaseModel):
    """Body of `/v1/inspect`: one sentence."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, examples=[EXAMPLE_SOURCE])
    source: SourceLanguage = Field("auto", min_length=1)
    target: TargetLanguage
    model: str | None = None
    translation: str | None = Field(None, description="A translation to inspect, in place of the model's own.")
    counterfactuals: StrictInt = Field(
        0, ge=0, le=3, description="Number of other words per position whose translations are searched."
    )

    def to_request(self) -> TranslationRequest:
        return TranslationRequest([self.text], self.source, self.target, self.model or None)


class InspectedToken(BaseModel):
    """A possible token at a step."""

    text: str
    probability: float | None


class InspectedNode(BaseModel):
    """A token kept in the beam; `parent` is the index of the previous one, -1 for none, and `rank` its place."""

    parent: int
    text: str
    step: int
    rank: int
    log_prob: float | None
    is_end: bool
    is_best: bool


class InspectedCounterfactual(BaseModel):
    """Another word forced at one position, and the translation that the model continues with."""

    word: int
    forced: str
    probability: float | None
    translation: str
    score: float | None


AttentionMaps = Annotated[list[list[list[list[float]]]], Field(description="[layers][heads][rows][source words + 1].")]
HeadValues = Annotated[list[list[list[float]]], Field(description="[layers][heads][words].")]


class InspectResponse(BaseModel):
    """Attention by layer and head, steps, search tree, counterfactuals: the output of `dragoman inspect --json`.

    Maps have the end of the source as their last column. They have no layers if the model has no attention.
    """

    source: str
    translation: str
    source_words: list[str]
    target_words: list[str]
    tokens: list[str]
    token_words: list[int] = Field(description="Index of the target word of each token.")
    candidates: list[list[InspectedToken]] = Field(
        description="For each token and for the end, the most probable tokens."
    )
    predicted: AttentionMaps = Field(
        description="Attention of the step that writes a word: [layers][heads][target words + 1][source words + 1]."
    )
    given: AttentionMaps = Field(
        description="Attention of the step that reads a word: [layers][heads][target words][source words + 1]."
    )
    steps: AttentionMaps = Field(description="Attention of each step: [layers][heads][tokens + 1][source words + 1].")
    entropy: HeadValues = Field(description="Bits per target word: [layers][heads][target words].")
    coverage: HeadValues = Field(description="Attention per source word: [layers][heads][source words].")
    default_layer: int
    score: float | None
    tree: list[InspectedNode]
    counterfactuals: list[InspectedCounterfactual]
    flags: list[str]
    model: str = Field(description="Family, size, engine and search settings.")
    models: list[str] = Field(description="The model that translated.")
    detected: DetectedLanguage | None = Field(description="With source `auto` only.")


class ListedModel(BaseModel):
    """A name for the field `model` of `/v1/chat/completions`, in the form of OpenAI's list."""

    id: str = Field(examples=["en:de"])
    object: str
    created: int
    owned_by: str


class ModelsResponse(BaseModel):
    """All models and routes; `object` and `data` are for clients of OpenAI's API."""

    models: list[ModelInfo]
    routes: list[Route]
    object: str
    data: list[ListedModel]


TranslateBody = Annotated[TranslateRequest, Depends(json_body(TranslateRequest))]
InspectBody = Annotated[InspectRequest, Depends(json_body(InspectRequest))]

_EVENT_STREAM = {
    EVENT_STREAM: {
        "schema": {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"type": "string", "enum": ["text", "translation", "done", "error"]},
                "data": {"type": "string", "description": "JSON; of a translation, the same as without a stream."},
            },
        },
        "example": 'event: text\ndata: {"index":0,"text":"Zwei Hunde"}\n\nevent: done\ndata: {}\n\n',
    }
}


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of `/v1`."""
    routes = Router(prefix="/v1", tags=[NATIVE.name])
    service = pipeline.service

    @routes.post(
        "/translate",
        **responses(TranslateResponse, *BODY_ERRORS, 404, 415, more=_EVENT_STREAM),
        **request_body(
            TranslateRequest,
            text={"text": "Two dogs play in the snow.", "source": "en", "target": "de", "alternatives": 2},
            aligned={"text": ["Two dogs play.", "A man sleeps."], "target": "de", "alignments": True},
            glossary={"text": "Two dogs play.", "target": "de", "glossary": {"dogs": "Hündchen", "Anna": None}},
        ),
    )
    @route_policy("key", translates=True)
    async def translate(request: Request, body: TranslateBody, access: Access, reservation: Reserved) -> Response:
        """Translate a text or a list of texts; the response can be a stream of server-sent events."""
        wanted = await _to_request(pipeline, body, access.name)
        texts = await pipeline.check_and_resolve(wanted)
        if body.stream or EVENT_STREAM in request.headers.get("accept", ""):
            return await event_stream_response(_events(pipeline, texts, wanted, access, reservation), reservation)
        results = await pipeline.translate_resolved(texts, wanted, reservation)
        access.count(sum(map(len, wanted.texts)))

        def build() -> dict[str, Any]:
            return {"translations": [_translation_json(each, wanted.options) for each in results]}

        return await large_json_response(build) if _is_large(wanted.options) else json_response(build())

    @routes.post(
        "/inspect",
        **responses(InspectResponse, *BODY_ERRORS, 415, 501),
        **request_body(
            InspectRequest, sentence={"text": "Two dogs play.", "source": "en", "target": "de", "counterfactuals": 2}
        ),
    )
    @route_policy("key", translates=True)
    async def inspect(body: InspectBody, reservation: Reserved) -> Response:
        """Inspect the translation of one sentence: attention, candidates, search tree."""
        check_texts([body.text, body.translation or ""], pipeline.settings.limits)
        (text,) = pipeline.resolve(body.to_request())
        if text.is_passthrough:
            raise RequestError(
                "text has no words in another language than the target, so there is nothing to inspect",
                code="nothing_to_inspect",
            )
        wanted = TranslationRequest([body.text], text.source, text.target, body.model or None)
        value, models = await service.inspect(
            wanted, reservation, translation=body.translation, counterfactuals=body.counterfactuals
        )
        detected = None if text.detected is None else asdict(text.detected)
        return await large_json_response(lambda: value | {"models": list(models), "detected": detected})

    listing: dict[str, Any] = {}  # the last response: thousands of directions take a second to encode

    @routes.get("/models", **responses(ModelsResponse, *BASE_ERRORS))
    @route_policy("public")
    async def models(request: Request) -> Response:
        """List all models and routes."""
        found, listed = service.models(), service.routes()
        if listing.get("models") != found or listing.get("routes") is not listed:
            data = [
                {"id": each, "object": "model", "created": 0, "owned_by": "dragoman"}
                for each in (*(each.name for each in found), *chat_model_ids(listed))
            ]
            answer = json_response({"models": found, "routes": listed, "object": "list", "data": data})
            listing.update(models=found, routes=listed, answer=CachedJson(bytes(answer.body)))
        cached: CachedJson = listing["answer"]
        return await cached.response(request)

    @routes.post("/models/reload", **responses(ReloadResult, *BODY_ERRORS))
    @route_policy("admin", is_of_one_process=True)
    async def reload() -> Response:
        """Reload bundles that changed on disk; requires a key with the right `admin`."""
        return json_response(await service.reload())

    return routes


async def _to_request(pipeline: TranslationPipeline, body: TranslateRequest, owner: str) -> TranslationRequest:
    """Return the request with the glossary and the memory that its body names, if any."""
    name = body.glossary if isinstance(body.glossary, str) else None
    wanted = body.to_request(pipeline.settings, await pipeline.find_glossary(owner, name, body.source, body.target))
    if not (body.memory or body.memory_threshold):
        return wanted
    asked = owner, body.memory, body.memory_threshold
    return replace(wanted, memory=await asyncio.to_thread(pipeline.memories.reader, *asked))


def _is_large(options: TranslateOptions) -> bool:
    """Whether a response may have a large number of values, which are encoded in a thread."""
    return options.alignment or options.attention


def _translation_event(index: int, result: TranslationResult, options: TranslateOptions) -> bytes:
    return event("translation", {"index": index, **_translation_json(result, options)})


def _translation_json(result: TranslationResult, options: TranslateOptions) -> dict[str, Any]:
    value = result.translation.to_json()
    # Placeholders and tags need alignment even if the client did not request it.
    unrequested = set() if options.alignment else {"alignment"}
    if not (options.alignment or options.attention):
        # `alternatives` has the content of `nbest` except for alignment.
        unrequested |= {"source_words", "target_words", "nbest"}
    _clean(value, unrequested)
    value |= {
        "models": list(result.models),
        "via": result.via,
        "detected": None if result.detected is None else asdict(result.detected),
        "alternatives": [{"text": text, "score": score} for text, score in result.alternatives],
    }
    return value


def _clean(value: dict[str, Any], unrequested: set[str]) -> None:
    """Explain flags; remove fields that were not requested, and alternatives that lost a placeholder."""
    for name in unrequested & value.keys():
        del value[name]
    for flag in value.get("flags", ()):
        flag["meaning"] = FLAGS[flag["name"]]
    if "nbest" in value:
        source = value["source"]
        kept = [source[start:end] for start, end in find_placeholders(source)]
        value["nbest"] = [other for other in value["nbest"] if all(each in other["text"] for each in kept)]
    for part in (*value.get("sentences", ()), *value.get("nbest", ())):
        _clean(part, unrequested)


async def _events(
    pipeline: TranslationPipeline,
    texts: Sequence[ResolvedText],
    wanted: TranslationRequest,
    access: RequestAccess,
    reservation: Reservation,
) -> AsyncIterator[bytes]:
    """Yield, text by text, the events of its parts and of its translation."""
    for index, text in enumerate(texts):
        async for part in pipeline.stream(text, wanted, reservation):
            if isinstance(part, str):
                yield event("text", {"index": index, "text": part})
            else:
                access.count(len(text.text))
                build = functools.partial(_translation_event, index, part, wanted.options)
                yield await asyncio.to_thread(build) if _is_large(wanted.options) else build()
    yield event("done", {})

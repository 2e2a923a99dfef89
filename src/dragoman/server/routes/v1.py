"""Routes of Dragoman's own API `/v1`: translate, stream, inspect, list models."""

import asyncio
import functools
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from dragoman.api.translation.options import TranslateOptions
from dragoman.evaluation.quality_flags import FLAGS
from dragoman.markup.protected_spans import find_placeholders
from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import RequestError
from dragoman.server.http.headers import CachedJson
from dragoman.server.http.request_body import Access, Reserved, json_body, json_response, large_json_response
from dragoman.server.http.route_policy import route_policy
from dragoman.server.http.server_sent_events import EVENT_STREAM, event, event_stream_response
from dragoman.server.pipeline.language_resolution import ResolvedText
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import check_texts
from dragoman.server.request_types import NATIVE, ReloadResult, TranslationRequest, TranslationResult
from dragoman.server.routes.openai import chat_model_ids
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, request_body, responses
from dragoman.server.routes.v1_schemas import (
    InspectRequest,
    InspectResponse,
    ModelsResponse,
    TranslateRequest,
    TranslateResponse,
)
from dragoman.server.scheduling.admission import Reservation

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


def router(pipeline: TranslationPipeline) -> APIRouter:
    """Return the routes of `/v1`."""
    routes = APIRouter(prefix="/v1", tags=[NATIVE.name])
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
        wanted = body.to_request(pipeline.settings, pipeline.glossaries, access.name)
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
    @route_policy("admin", stores=True)
    async def reload() -> Response:
        """Reload bundles that changed on disk; requires a key with the right `admin`."""
        return json_response(await service.reload())

    return routes


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

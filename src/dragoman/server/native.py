"""Our own API: translations with all that is known about them, streams, sentences opened, models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from fastapi import APIRouter, Request, Response

from dragoman.evaluation.quality_flags import FLAGS
from dragoman.markup.placeholders import kept_in
from dragoman.server.alternatives import alternatives_of
from dragoman.server.bodies import checked, json_answer, read_json
from dragoman.server.context import Context
from dragoman.server.errors import Refused
from dragoman.server.events import event, event_answer
from dragoman.server.jobs import Ticket
from dragoman.server.openapi import FAULTS, TRANSLATING, answers, body
from dragoman.server.placing import Placed, Wanted, ask_for, check_texts, made_glossary, place_texts, placed_texts
from dragoman.server.schemas import (
    Inspection,
    InspectRequest,
    Models,
    ReloadAnswer,
    TranslateAnswer,
    TranslateRequest,
)
from dragoman.server.texts import Translated, translate_texts

__all__ = ["router"]

_EVENTS = "text/event-stream"
_STREAM = {
    _EVENTS: {
        "schema": {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"type": "string", "enum": ["text", "translation", "done", "error"]},
                "data": {"type": "string", "description": "JSON: of a translation, what comes without a stream."},
            },
        },
        "example": 'event: text\ndata: {"index":0,"text":"Zwei Hunde"}\n\nevent: done\ndata: {}\n\n',
    }
}


def router(context: Context) -> APIRouter:
    """The routes."""
    routes = APIRouter(prefix="/v1", tags=["Dragoman"])

    @routes.post(
        "/translate",
        **answers(TranslateAnswer, *TRANSLATING, 415, more=_STREAM),
        **body(
            TranslateRequest,
            text={"text": "Two dogs play in the snow.", "source": "en", "target": "de", "alternatives": 2},
            aligned={"text": ["Two dogs play.", "A man sleeps."], "target": "de", "alignments": True},
            glossary={"text": "Two dogs play.", "target": "de", "glossary": {"dogs": "Hündchen", "Anna": None}},
        ),
    )
    async def translate(request: Request) -> Response:
        """Translate a text, or a list of texts; as a stream of events if it is asked for."""
        request.state.access.admit()
        asked = checked(TranslateRequest, await read_json(request))
        texts = asked.text if isinstance(asked.text, list) else [asked.text]
        wanted = _wanted(asked, context)
        ticket = request.state.ticket
        placed = await placed_texts(context, texts, wanted)
        if asked.stream or _EVENTS in request.headers.get("accept", ""):
            return await event_answer(_events(context, placed, wanted, ticket), ticket)
        done = await translate_texts(context, placed, wanted, ticket)
        return json_answer({"translations": [_translation(each, wanted) for each in done]})

    @routes.post(
        "/inspect",
        **answers(Inspection, *TRANSLATING, 415, 501),
        **body(InspectRequest, sentence={"text": "Two dogs play.", "source": "en", "target": "de", "what_ifs": 2}),
    )
    async def inspect(request: Request) -> Response:
        """Open one sentence: what was attended to, what else was likely, how the search went."""
        request.state.access.admit()
        asked = checked(InspectRequest, await read_json(request))
        check_texts([asked.text, asked.translation or ""], context.settings.limits)
        wanted = Wanted(asked.source, asked.target, model=asked.model or None, split=False)
        return json_answer(await _inspected(context, asked, wanted, request.state.ticket))

    @routes.get("/models", **answers(Models, *FAULTS))
    async def models() -> Response:
        """List the models, and the pairs of languages that they make."""
        service = context.service
        return json_answer(
            {
                "models": [asdict(each) for each in service.models()],
                "routes": [asdict(each) for each in service.routes()],
            }
        )

    @routes.post("/models/reload", **answers(ReloadAnswer, *TRANSLATING))
    async def reload(request: Request) -> Response:
        """Look at the bundles again; takes a key with the right `admin`."""
        request.state.access.require("admin")
        return json_answer(asdict(await context.service.reload()))

    return routes


def _wanted(asked: TranslateRequest, context: Context) -> Wanted:
    most = context.settings.limits.alternatives
    if asked.alternatives > most:
        raise Refused(f"alternatives must be {most} at most, got {asked.alternatives}; ask for fewer")
    return Wanted(
        asked.source,
        asked.target,
        is_html=asked.format == "html",
        model=asked.model or None,
        alternatives=asked.alternatives,
        beam=asked.beam,
        alignments=asked.alignments,
        weights=asked.weights,
        flags=asked.flags,
        glossary=made_glossary(asked.glossary),
        split=asked.split,
    )


def _translation(done: Translated, wanted: Wanted) -> dict[str, Any]:
    value = done.translation.to_json()
    # Placeholders and tags need links also where nobody asked for them.
    unasked = set() if wanted.alignments else {"alignment"}
    if not (wanted.alignments or wanted.weights):
        # `alternatives` says what `nbest` does, but for the links.
        unasked |= {"source_words", "target_words", "nbest"}
    _tidy(value, unasked)
    detected = done.placed.detected
    value |= {
        "models": list(done.models),
        "via": done.via,
        "detected": None if detected is None else asdict(detected),
        "alternatives": [{"text": text, "score": score} for text, score in done.alternatives],
    }
    return value


def _tidy(value: dict[str, Any], unasked: set[str]) -> None:
    """Say what flags mean, and leave out what nobody asked for, and alternatives that lost what has to be kept."""
    for name in unasked & value.keys():
        del value[name]
    for flag in value.get("flags", ()):
        flag["meaning"] = FLAGS[flag["name"]]
    if "nbest" in value:
        source = value["source"]
        kept = [source[start:end] for start, end in kept_in(source)]
        value["nbest"] = [other for other in value["nbest"] if all(each in other["text"] for each in kept)]
    for part in (*value.get("sentences", ()), *value.get("nbest", ())):
        _tidy(part, unasked)


async def _events(context: Context, placed: Sequence[Placed], wanted: Wanted, ticket: Ticket) -> AsyncIterator[bytes]:
    """Text by text: what is certain as soon as it is, then all that is known."""
    for index, each in enumerate(placed):
        if each.stays or wanted.is_html or kept_in(each.text):
            # What has to be mended afterwards is not certain before: it comes as a whole.
            (done,) = await translate_texts(context, [each], wanted, ticket)
            yield event("text", {"index": index, "text": done.text})
            yield event("translation", {"index": index, **_translation(done, wanted)})
            continue
        ask = ask_for(context, wanted, each.source, each.target)
        async for part in context.service.stream(each.text, ask, ticket):
            if isinstance(part, str):
                yield event("text", {"index": index, "text": part})
                continue
            others = alternatives_of(part.translation)
            done = Translated(each, part.translation, part.models, part.via, others)
            yield event("translation", {"index": index, **_translation(done, wanted)})
        context.characters += len(each.text)
    yield event("done", {})


async def _inspected(context: Context, asked: InspectRequest, wanted: Wanted, ticket: Ticket) -> dict[str, Any]:
    (placed,) = place_texts(context, [asked.text], wanted)
    if placed.stays:
        raise Refused("text must hold words in another language than the target's, got none; there is nothing to open")
    ask = replace(ask_for(context, wanted, placed.source, placed.target), flags=True)
    value, models = await context.service.inspect(
        asked.text, ask, ticket, translation=asked.translation, what_ifs=asked.what_ifs
    )
    detected = None if placed.detected is None else asdict(placed.detected)
    return value | {"models": list(models), "detected": detected}

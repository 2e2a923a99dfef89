"""Routes of translation memories and corrections: our own, and those of Weblate's tmserver protocol."""

import asyncio
import functools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import Response

from dragoman.errors import DragomanError
from dragoman.language_codes import parse_language
from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import NotFound, RequestError
from dragoman.server.http.request_body import Access, json_body, json_response
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.memories import MAX_CORRECTION, ServerMemories
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import NATIVE, Dialect
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, parameter, request_body, responses
from dragoman.storage.memory_reader import SHOWN

if TYPE_CHECKING:
    from dragoman.storage.memories import StoredMemory, StoredUnit

Result = TypeVar("Result")

WEBLATE = Dialect("tmserver", listing="/tmserver/languages/")
APPROVE = "approve"
"""Right of a key whose corrections count at once, and which may approve and reject others that it may read."""
_MAX_PAGE = 100
_MAX_LISTED = 1000
_QUALITY = 70  # smallest of a match for Weblate


class MemoryLanguages(BaseModel):
    """A language pair of a memory, with the number of its units."""

    source: str
    target: str
    units: int


class ListedMemory(BaseModel):
    """A translation memory that the key may read."""

    id: str
    name: str
    is_own: bool = Field(description="Whether it belongs to the key of the request, which may change it.")
    is_shared: bool
    units: int
    languages: list[MemoryLanguages]
    updated: str


class MemoriesResponse(BaseModel):
    """All memories that the key may read."""

    memories: list[ListedMemory]


class MemoryUnit(BaseModel):
    """A unit of a memory."""

    id: str
    source: str
    target: str
    author: str
    created: str
    state: Literal["approved", "pending", "rejected"]
    reviewer: str | None = Field(None, description="Key that approved or rejected it last; empty for the operator.")
    reviewed: str | None = Field(None, description="Time of that.")


class MemoryUnits(BaseModel):
    """Units of a memory; `next` is the value of `after` for those that follow."""

    units: list[MemoryUnit]
    next: str | None


class CorrectionBody(BaseModel):
    """Body of `POST /v1/corrections`."""

    model_config = ConfigDict(extra="forbid")

    source_text: str = Field(min_length=1, examples=["Two dogs play in the snow."])
    text: str = Field(min_length=1, description="The right translation.", examples=["Zwei Hunde spielen im Schnee."])
    source: str = Field(min_length=2, max_length=35, examples=["en"])
    target: str = Field(min_length=2, max_length=35, examples=["de"])
    author: str = Field("", max_length=200)
    draft: str | None = Field(None, description="The translation that was corrected; only its changes are counted.")


class Correction(BaseModel):
    """A stored correction. An approved one counts at once, as an exact match."""

    id: str
    state: Literal["approved", "pending", "rejected"]


class UnitStateBody(BaseModel):
    """Body of `PATCH /v1/memories/{name}/units/{unit}`."""

    model_config = ConfigDict(extra="forbid")

    state: Literal["approved", "rejected"]


class ImportedUnits(BaseModel):
    """What became of the units of a file."""

    added: int
    known: int
    skipped: int


class WeblateMatch(BaseModel):
    """A unit that is like a text; quality is in percent."""

    source: str
    target: str
    quality: int


class WeblateLanguages(BaseModel):
    """Languages of all memories."""

    sourceLanguages: list[str]  # noqa: N815 -- names of the protocol
    targetLanguages: list[str]  # noqa: N815


def may_approve(access: RequestAccess) -> bool:
    """Whether corrections of a client count at once: all on a server without keys, which belongs to one person."""
    return not access.has_keys or (access.key is not None and APPROVE in access.key.rights)


async def in_thread(work: Callable[..., Result], *args: Any) -> Result:
    """Run work with the database in a thread; its errors are those of the request."""
    try:
        return await asyncio.to_thread(work, *args)
    except RequestError:
        raise
    except DragomanError as error:
        raise RequestError(str(error)) from error


def router(pipeline: TranslationPipeline) -> Router:
    """Return our own routes."""
    routes = Router(prefix="/v1", tags=[NATIVE.name])
    memories = pipeline.memories

    @routes.get("/memories", **responses(MemoriesResponse, *BASE_ERRORS, 404))
    @route_policy("key")
    async def list_memories(access: Access) -> Response:
        """List the translation memories of the key and the shared ones."""
        found = await in_thread(memories.readable, access.name)
        return json_response({"memories": [_memory_json(each, access.name) for each in found[:_MAX_LISTED]]})

    @routes.get(
        "/memories/{name}/units",
        **responses(MemoryUnits, *BASE_ERRORS, 404),
        openapi_extra={
            "parameters": [
                parameter("text", "query", {"type": "string"}, "Only units with this text in one of their sides."),
                parameter("state", "query", {"type": "string", "enum": ["approved", "pending", "rejected"]}, "State."),
                parameter("after", "query", {"type": "string"}, "Value of `next` of the page before."),
            ]
        },
    )
    @route_policy("key")
    async def list_units(request: Request, access: Access) -> Response:
        """List units of a memory, 100 at a time."""
        memory = await in_thread(memories.find, access.name, request.path_params["name"])
        query = request.query_params
        state = query.get("state", "approved")
        if state not in ("approved", "pending", "rejected"):
            raise RequestError("state must be approved, pending or rejected; leave it out for approved")
        found, cursor = await in_thread(
            unit_page, memories, memory, query.get("text", ""), query.get("after", ""), state
        )
        reviews = await in_thread(memories.store.reviews, found)
        return json_response({"units": [_unit_json(each, reviews.get(each.id)) for each in found], "next": cursor})

    @routes.put("/memories/{name}", **responses(ImportedUnits, *BODY_ERRORS, 404), openapi_extra=_UPLOAD)
    @route_policy("key", is_upload=True)
    async def import_units(request: Request, access: Access) -> Response:
        """Add the units of a file, the body, to a memory of the key, which is created if missing."""
        query = request.query_params
        languages = [parse_language(query[each]) if each in query else "" for each in ("source", "target")]
        ending = query.get("format", "tmx")
        memory = await in_thread(memories.store.create, access.name, request.path_params["name"])
        data = await request.body()
        found = await in_thread(import_bytes, memories, memory, data, ending, languages)
        return json_response({"added": found.added, "known": found.known, "skipped": found.skipped})

    @routes.delete("/memories/{name}", **responses(None, *BASE_ERRORS, 404, status=204))
    @route_policy("key", writes=True)
    async def remove_memory(request: Request, access: Access) -> Response:
        """Delete a memory of the key."""
        memory = await in_thread(_own, memories, access, request.path_params["name"])
        await in_thread(memories.store.remove, memory)
        return Response(status_code=204)

    return routes


def correction_router(pipeline: TranslationPipeline) -> Router:
    """Return the routes that store and review corrections."""
    routes = Router(prefix="/v1", tags=[NATIVE.name])
    memories = pipeline.memories

    @routes.patch(
        "/memories/{name}/units/{unit}",
        **responses(Correction, *BODY_ERRORS, 404, 415),
        **request_body(UnitStateBody),
    )
    @route_policy("key", writes=True)
    async def review(request: Request, body: StateBody, access: Access) -> Response:
        """Approve or reject a unit; a server with keys requires the right `approve`."""
        if access.has_keys:
            access.require(APPROVE)
        name, unit = request.path_params["name"], request.path_params["unit"]
        memory = await in_thread(memories.find, access.name, name)
        change = functools.partial(memories.store.set_state, memory, unit, body.state, reviewer=access.name)
        if not await in_thread(change):
            raise NotFound("the memory has no unit of this id")
        return json_response({"id": unit, "state": body.state})

    @routes.delete("/memories/{name}/units/{unit}", **responses(None, *BASE_ERRORS, 404, status=204))
    @route_policy("key", writes=True)
    async def remove_unit(request: Request, access: Access) -> Response:
        """Delete a unit of a memory of the key."""
        memory = await in_thread(_own, memories, access, request.path_params["name"])
        if not await in_thread(memories.store.set_state, memory, request.path_params["unit"], None):
            raise NotFound("the memory has no unit of this id")
        return Response(status_code=204)

    @routes.post("/corrections", **responses(Correction, *BODY_ERRORS, 404, 415), **request_body(CorrectionBody))
    @route_policy("key", writes=True)
    async def correct(body: CorrectionOf, access: Access) -> Response:
        """Store the right translation of a text; an approved one counts at once, as an exact match."""
        given = body.source_text, body.text, (body.source, body.target)
        stored = await store_correction(memories, access, *given, author=body.author, draft=body.draft)
        return json_response({"id": stored.id, "state": stored.state})

    return routes


class _Lines(StringConvertor):
    """The rest of a path, which may have line breaks: `path` takes none."""

    regex = r"[\s\S]*"


register_url_convertor("lines", _Lines())


def _weblate_codes(language: str) -> Iterator[str]:
    """Yield the names that Weblate uses: pt_br, and pt for texts without a region."""
    parts = language.lower().split("-")
    yield from ("_".join(parts[:end]) for end in range(1, len(parts) + 1))


def weblate_router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of Weblate's tmserver protocol; the address for Weblate ends with ``/tmserver``."""
    routes = Router(prefix="/tmserver", tags=[WEBLATE.name])
    memories = pipeline.memories

    @routes.get("/languages/", **responses(WeblateLanguages, *BASE_ERRORS, 404))
    @route_policy("key")
    async def languages(access: Access) -> Response:
        """List the languages of all memories."""
        found = await in_thread(memories.readable, access.name)
        pairs = [each[1:3] for memory in found for each in memory.directions]
        sides = [sorted({code for pair in pairs for code in _weblate_codes(pair[side])}) for side in (0, 1)]
        return json_response({"sourceLanguages": sides[0], "targetLanguages": sides[1]})

    @routes.get("/{source}/{target}/unit/{text:lines}", **responses(list[WeblateMatch], *BASE_ERRORS, 404))
    @route_policy("key")
    async def unit(request: Request, access: Access) -> Response:
        """Return the units that are like a text, the best first."""
        source, target = (parse_language(request.path_params[each]) for each in ("source", "target"))
        text = request.path_params["text"]
        if len(text) > pipeline.settings.limits.text_characters:
            raise RequestError("the text is too long; split it")

        def find() -> list[dict[str, Any]]:
            from dragoman.storage.memory_match import Query  # noqa: PLC0415 -- an extra

            known = memories.readable(access.name)
            (found,) = memories.store.look_up(known, source, target, [Query(text)], threshold=SHOWN, limit=5)
            return [
                {"source": each.unit.source, "target": each.text, "quality": min(100, each.score)} for each in found
            ]

        return json_response(await in_thread(find))

    return routes


async def store_correction(
    memories: ServerMemories,
    access: RequestAccess,
    source_text: str,
    text: str,
    languages: tuple[str, str],
    *,
    author: str = "",
    draft: str | None = None,
) -> "StoredUnit":
    """Store a correction of a client, and count the words that changed since the draft."""
    pair = parse_language(languages[0]), parse_language(languages[1])

    def store() -> "StoredUnit":
        return memories.correct(access.name, source_text, text, pair, approved=may_approve(access), author=author)

    stored = await in_thread(store)
    edits, words = (0, 0) if draft is None else await in_thread(count_edits, draft, text)
    access.count(corrections=1, edits=edits, words=words)
    return stored


def count_edits(draft: str, final: str) -> tuple[int, int]:
    """Return the number of words to insert, delete or replace, and of all words of the final text."""
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 -- an extra

    from dragoman.storage.segment_text import normalize_segment, segment_words  # noqa: PLC0415 -- at the first use

    before, after = (segment_words(normalize_segment(each[:MAX_CORRECTION])) for each in (draft, final))
    return Levenshtein.distance(before, after), len(after)


def unit_page(
    memories: ServerMemories,
    memory: "StoredMemory",
    text: str,
    cursor: str,
    state: str | None = "approved",
    size: int = _MAX_PAGE,
) -> tuple[list["StoredUnit"], str | None]:
    """Return a page of the units of a memory, and the cursor of the next one."""
    parts = cursor.split("-") if cursor else ["0", "0"]
    if len(parts) != 2 or not all(each.isdecimal() and len(each) < 10 for each in parts):
        raise RequestError("the cursor must be one of the page before; leave it out for the first page")
    after = (int(parts[0]), int(parts[1])) if cursor else (0, -1)
    units = memories.store.units(memory, state=state, text=text, after=after, limit=size + 1)  # type: ignore[arg-type]
    found = list(units)
    return found[:size], found[size - 1].id if len(found) > size else None


def import_bytes(
    memories: ServerMemories, memory: "StoredMemory", data: bytes, ending: str, languages: Sequence[str]
) -> Any:
    """Add the units of a file to a memory; the file is on the disk while it is read."""
    if ending.lower() not in _FORMATS:
        raise RequestError(f"format must be {', '.join(_FORMATS)}, got {ending[:20]!r}; convert the file")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"upload.{ending.lower()}"
        path.write_bytes(data)
        from dragoman.api.memories import import_file  # noqa: PLC0415 -- imports SQLAlchemy

        return import_file(memories.store, memory, path, source=languages[0], target=languages[1])


_FORMATS = ("tmx", "xlf", "xliff", "po", "tsv", "csv")
_UPLOAD: dict[str, Any] = {
    "parameters": [
        parameter(
            "format", "query", {"type": "string", "enum": list(_FORMATS)}, "Format of the body; tmx if not given."
        ),
        parameter("source", "query", {"type": "string"}, "Source language, if the file does not state it."),
        parameter("target", "query", {"type": "string"}, "Target language, if the file does not state it."),
    ],
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
}


def _own(memories: ServerMemories, access: RequestAccess, name: str) -> "StoredMemory":
    return memories.find(access.name, name, own=True)


def iso_time(microseconds: int) -> str:
    """Return a time in ISO 8601, in UTC."""
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat(timespec="seconds")


def _memory_json(memory: "StoredMemory", owner: str) -> dict[str, Any]:
    return {
        "id": memory.id,
        "name": memory.name,
        "is_own": memory.owner == owner,
        "is_shared": memory.is_shared,
        "units": memory.units,
        "languages": [{"source": each[1], "target": each[2], "units": each[3]} for each in memory.directions],
        "updated": iso_time(memory.updated),
    }


def _unit_json(unit: "StoredUnit", review: tuple[str, int] | None) -> dict[str, Any]:
    return {
        "id": unit.id,
        "source": unit.source,
        "target": unit.target,
        "author": unit.author,
        "created": iso_time(unit.created),
        "state": unit.state,
        **({} if review is None else {"reviewer": review[0], "reviewed": iso_time(review[1])}),
    }


StateBody = Annotated[UnitStateBody, Depends(json_body(UnitStateBody))]
CorrectionOf = Annotated[CorrectionBody, Depends(json_body(CorrectionBody))]

"""Routes of our own API for what a key stored: its effort per week, export, erasure."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel, Field
from starlette.responses import Response, StreamingResponse

from dragoman.server.errors import Forbidden
from dragoman.server.http.request_body import Access, json_response
from dragoman.server.http.route_policy import Router, route_policy
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import NATIVE
from dragoman.server.routes.memories import in_thread, may_approve
from dragoman.server.routes.openapi import BASE_ERRORS, responses
from dragoman.storage.database import erase_key, export_key

_JSON_LINES = "application/x-ndjson"
_WEEKS = 12
_NIGHTS = 30


class Week(BaseModel):
    """What a key translated and corrected in a week."""

    week: str = Field(description="Its Monday.")
    characters: int = Field(description="Translated characters.")
    remembered: int = Field(description="Those that a memory answered.")
    corrections: int
    edits: int = Field(description="Words changed by corrections with a draft.")
    words: int = Field(description="Words of these corrections; `edits / words` is TER without shifts.")


class ChangedSentence(BaseModel):
    """A sentence that no night trains with, whose translation the last night changed."""

    source: str
    reference: str
    before: str
    after: str


class Night(BaseModel):
    """A line of the audit trail: what was tried, by whom, with how many units, and why it is used or not."""

    version: int
    is_used: bool
    reason: str
    time: str
    user: str
    units: int
    method: str
    scores: dict[str, dict[str, float]] = Field(description="By test set: scores before and after, difference, p.")


class AdaptedModel(BaseModel):
    """A model of `dragoman adapt`: the version in use, what was tried, and what the version in use changed."""

    name: str
    version: int = Field(description="The version in use; 0 is the base model.")
    versions: list[int] = Field(description="Those that `dragoman adapt --back` can return to.")
    nights: list[Night] = Field(description="The last ones, the newest first.")
    changes: list[ChangedSentence]


class Effort(BaseModel):
    """Effort of a key; for a key that may approve corrections, also the nights of the models."""

    weeks: list[Week]
    models: list[AdaptedModel]


class Erased(BaseModel):
    """Number of rows that were deleted."""

    rows: int


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes."""
    routes = Router(prefix="/v1", tags=[NATIVE.name])

    @routes.get("/effort", **responses(Effort, *BASE_ERRORS))
    @route_policy("key")
    async def effort(access: Access) -> Response:
        """Return the effort of the last weeks, what the memory saved, and what the last night changed."""
        weeks = await in_thread(access.usage.weeks, access.name, _WEEKS)
        models: list[dict[str, Any]] = []
        if may_approve(access) and pipeline.memories.is_used:
            folders = pipeline.service.folders()
            models = await in_thread(_adapted, pipeline, access.name, folders)
        return json_response({"weeks": weeks, "models": models})

    @routes.get("/data", **responses(None, *BASE_ERRORS, more={_JSON_LINES: {"schema": {"type": "string"}}}))
    @route_policy("key")
    async def export(access: Access) -> Response:
        """Return all that the key stored as JSON lines: memories, corrections, glossaries, usage."""
        await in_thread(access.usage.write)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "data.jsonl"
            await in_thread(export_key, pipeline.database.opened, access.name, path)
            file = path.open("rb")  # stays readable without a name: a client that leaves must not leave it on the disk
        headers = {"content-disposition": f'attachment; filename="{path.name}"'}
        return StreamingResponse(_chunks(file), headers=headers, media_type=_JSON_LINES)

    @routes.delete("/data", **responses(Erased, *BASE_ERRORS))
    @route_policy("key", writes=True)
    async def erase(access: Access) -> Response:
        """Delete all that the key stored. The next adaptation learns without it. A server without keys refuses."""
        if not access.has_keys:
            raise Forbidden("this server has no API keys, so its data belongs to its operator; use dragoman database")
        await in_thread(access.usage.write)
        return json_response({"rows": await in_thread(erase_key, pipeline.database.opened, access.name)})

    return routes


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(1 << 16):
            yield chunk


def _adapted(pipeline: TranslationPipeline, owner: str, folders: dict[str, Path]) -> list[dict[str, Any]]:
    """Return the models of `dragoman adapt`, with the sentences that the client may read."""
    from dragoman.api.adaptation import SETTINGS, AdaptationFolder, source_digest  # noqa: PLC0415 -- at the first use

    found = []
    readable = pipeline.memories.readable(owner)
    for name, bundle in folders.items():
        folder = next((each for each in (bundle, bundle.parent) if (each / SETTINGS).is_file()), None)
        if folder is None:
            continue
        adapted = AdaptationFolder(folder)
        changes = adapted.changes()
        units = pipeline.memories.store.by_id(readable, [each.unit for each in changes])
        shown = [
            {"source": unit.source, "reference": unit.target, "before": each.before, "after": each.after}
            for each in changes
            if (unit := units.get(each.unit)) is not None and source_digest(unit.source) == each.digest
        ]
        nights = [
            {field: getattr(each, field) for field in Night.model_fields}
            for each in adapted.records[: -_NIGHTS - 1 : -1]
        ]
        state = {"version": adapted.used_version, "versions": adapted.versions}
        found.append({"name": name, **state, "nights": nights, "changes": shown})
    return found

"""Routes of the DeepL API v3 for translation memories: list, import, export, segments.

An import is a job whose file the client puts to the address of the job, without its key: the id of a job is a secret.
"""

import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt
from starlette.requests import Request
from starlette.responses import Response

from dragoman.errors import DragomanError
from dragoman.server.errors import NotFound, RequestError
from dragoman.server.http.request_body import Access, json_body, json_response
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.memories import ServerMemories
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.routes.deepl.text import DEEPL
from dragoman.server.routes.memories import import_bytes, in_thread, iso_time, unit_page
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, parameter, request_body, responses

if TYPE_CHECKING:
    from dragoman.storage.memories import StoredMemory

_PATH = "/v3/translation_memories"
_MAX_PAGE, _PAGE, _SEGMENTS, _MAX_SEGMENTS = 25, 10, 50, 100
_MIN_FILTER = 2  # characters
_KIND = "application/xml"


class TranslationMemory(BaseModel):
    """A translation memory."""

    translation_memory_id: str
    name: str
    source_language: str
    target_languages: list[str]
    segment_count: int
    creation_time: str
    updated_time: str


class TranslationMemories(BaseModel):
    """A page of the memories that the key may read."""

    translation_memories: list[TranslationMemory]
    total_count: int


class MemorySource(BaseModel):
    """File of an import."""

    model_config = ConfigDict(extra="ignore")

    file_name: str = Field(min_length=1, max_length=200, examples=["memory.tmx"])
    content_length: StrictInt | None = Field(None, ge=0)
    content_type: str | None = None


class ImportParameters(BaseModel):
    """Name of a new memory."""

    model_config = ConfigDict(extra="ignore")

    display_name: str | None = Field(None, min_length=1, max_length=200)


class ImportBody(BaseModel):
    """Body of `POST /v3/translation_memories/import`."""

    model_config = ConfigDict(extra="ignore")

    source_file: MemorySource
    parameters: ImportParameters = Field(default_factory=ImportParameters)


class MemoryJob(BaseModel):
    """An import or export."""

    model_config = ConfigDict(extra="allow")

    job_id: str


class MemorySegments(BaseModel):
    """A page of the units of a memory."""

    segments: list[dict[str, Any]]
    segment_count: int
    next_page_cursor: str | None = None


Body = Annotated[ImportBody, Depends(json_body(ImportBody))]


def _whole(name: str, description: str) -> dict[str, Any]:
    return parameter(name, "query", {"type": "integer"}, description)


_SEGMENT_PARAMETERS = [
    _whole("page_size", "100 at most."),
    parameter("page_cursor", "query", {"type": "string"}, "`next_page_cursor` of the page before."),
    parameter("filter_text", "query", {"type": "string"}, "Text in one of the sides."),
]


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of memories."""
    routes = Router(prefix=_PATH, tags=[DEEPL.name])
    memories = pipeline.memories

    @routes.get(
        "",
        **responses(TranslationMemories, *BASE_ERRORS, 404),
        openapi_extra={"parameters": [_whole("page", "Page, from 0."), _whole("page_size", "25 at most.")]},
    )
    @route_policy("key")
    async def list_memories(request: Request, access: Access) -> Response:
        """List the memories of the key and the shared ones."""
        found = await in_thread(memories.readable, access.name)
        size = _number(request, "page_size", _PAGE, 1, _MAX_PAGE)
        start = size * _number(request, "page", 0, 0, 1_000_000)
        listed = [_memory_json(each) for each in found[start : start + size]]
        return json_response({"translation_memories": listed, "total_count": len(found)})

    @routes.get(
        "/{memory}/segments",
        **responses(MemorySegments, *BASE_ERRORS, 404),
        openapi_extra={"parameters": _SEGMENT_PARAMETERS},
    )
    @route_policy("key")
    async def segments(request: Request, access: Access) -> Response:
        """List the units of a memory."""
        memory = await in_thread(memories.find, access.name, request.path_params["memory"])
        query = request.query_params
        text = query.get("filter_text", "")
        if text and len(text) < _MIN_FILTER:
            raise RequestError("filter_text must have at least 2 characters; write more")
        size = _number(request, "page_size", _SEGMENTS, 1, _MAX_SEGMENTS)
        cursor = query.get("page_cursor", "")
        found, following = await in_thread(unit_page, memories, memory, text, cursor, "approved", size)
        targets = {each[0]: each[2] for each in memory.directions}
        if text and query.get("filter_case_sensitive") == "true":
            found = [each for each in found if text in each.source or text in each.target]
        value: dict[str, Any] = {
            "segments": [
                {
                    "source_segment_id": each.id,
                    "source_text": each.source,
                    "targets": [
                        {
                            "target_segment_id": each.id,
                            "target_language": targets[each.direction],
                            "target_text": each.target,
                        }
                    ],
                }
                for each in found
            ],
            "segment_count": memory.units,
        }
        return json_response(value | ({"next_page_cursor": following} if following else {}))

    @routes.get("/{memory}", **responses(TranslationMemory, *BASE_ERRORS, 404))
    @route_policy("key")
    async def get_memory(request: Request, access: Access) -> Response:
        """Return a memory."""
        return json_response(_memory_json(await in_thread(memories.find, access.name, request.path_params["memory"])))

    @routes.delete("/{memory}", **responses(None, *BASE_ERRORS, 404, status=204))
    @route_policy("key", writes=True)
    async def delete_memory(request: Request, access: Access) -> Response:
        """Delete a memory of the key."""

        def remove() -> None:
            memories.store.remove(memories.find(access.name, request.path_params["memory"], own=True))

        await in_thread(remove)
        return Response(status_code=204)

    return routes


def job_router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of imports and exports."""
    routes = Router(prefix=_PATH, tags=[DEEPL.name])
    memories = pipeline.memories

    @routes.post("/import", **responses(MemoryJob, *BODY_ERRORS, 404, 415, status=202), **request_body(ImportBody))
    @route_policy("key", writes=True)
    async def create_import(request: Request, body: Body, access: Access) -> Response:
        """Create a memory, and a job that fills it from the file that is put to its address."""
        name = body.parameters.display_name or body.source_file.file_name
        job = str(uuid.uuid4())

        def create() -> None:
            store = memories.store
            if any(each.owner == access.name and each.name == name for each in store.visible(access.name)):
                raise RequestError(f"a memory has the name {name[:60]!r} already; use another display_name")
            made = store.create(access.name, name)
            store.add_job(job, access.name, made.id, "import")

        await in_thread(create)
        return json_response({"job_id": job, "upload_url": _file_url(request, job), "expires_at": None}, 202)

    @routes.put(
        "/jobs/{job}/file",
        **responses(None, *BODY_ERRORS, 404, status=200),
        openapi_extra={
            "requestBody": {"required": True, "content": {_KIND: {"schema": {"type": "string", "format": "binary"}}}},
        },
    )
    @route_policy("public", is_upload=True)  # the id of a job is a secret
    async def upload(request: Request) -> Response:
        """Fill the memory of an import from a TMX file, the body."""
        job, data = request.path_params["job"], await request.body()
        await in_thread(_run_import, memories, job, data)
        return Response()

    @routes.get("/jobs/{job}/file", **responses(None, *BASE_ERRORS, 404, more={_KIND: {}}))
    @route_policy("public")  # the id of a job is a secret
    async def download(request: Request) -> Response:
        """Download the TMX file of an export."""
        data = await in_thread(_export, memories, request.path_params["job"])
        return Response(data, media_type=_KIND)

    @routes.get("/jobs/{job}", **responses(MemoryJob, *BASE_ERRORS, 404))
    @route_policy("key")
    async def job_status(request: Request, access: Access) -> Response:
        """Return the state of an import or export."""
        found = await in_thread(_find_job, memories, request.path_params["job"], access.name)
        result: dict[str, Any] = {"status": found.status, "translation_memory_id": found.memory}
        result |= {"skipped_segment_count": found.skipped}
        if found.error:
            result["error"] = {"message": found.error}
        if found.operation == "export":
            result["download_url"] = _file_url(request, found.id)
        return json_response({"job_id": found.id, "operation": found.operation, "parameters": {}, "results": [result]})

    @routes.post("/{memory}/export", **responses(MemoryJob, *BODY_ERRORS, 404, status=202))
    @route_policy("key", writes=True)
    async def create_export(request: Request, access: Access) -> Response:
        """Create a job that exports a memory as TMX; it is ready at once."""
        memory = await in_thread(memories.find, access.name, request.path_params["memory"])
        job = str(uuid.uuid4())
        await in_thread(memories.store.add_job, job, access.name, memory.id, "export", "completed")
        return json_response({"job_id": job, "parameters": {}}, 202)

    return routes


def _number(request: Request, name: str, default: int, least: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not text.isdecimal() or not least <= int(text[:8]) <= most:
        raise RequestError(f"{name} must be between {least} and {most:,}, got {text[:20]!r}; leave it out")
    return int(text)


def _file_url(request: Request, job: str) -> str:
    return f"{str(request.base_url).rstrip('/')}{_PATH}/jobs/{job}/file"


def _find_job(memories: ServerMemories, job: str, owner: str | None) -> Any:
    """Return a job of a client; of any client if `owner` is None."""
    found = memories.store.find_job(job)
    if found is None or owner not in (None, found.owner):
        raise NotFound("there is no job of this id")
    return found


def _run_import(memories: ServerMemories, job: str, data: bytes) -> None:
    found = _find_job(memories, job, None)
    if found.operation != "import" or found.status != "awaiting_input":
        raise RequestError("the job has its file already; create another import")
    memory = memories.find(found.owner, found.memory, own=True)
    try:
        added = import_bytes(memories, memory, data, "tmx", ("", ""))
    except DragomanError as error:
        memories.store.end_job(job, "failed", error=str(error).replace("upload.tmx", "the file"))
        return
    memories.store.end_job(job, "completed", skipped=added.skipped)


def _export(memories: ServerMemories, job: str) -> bytes:
    found = _find_job(memories, job, None)
    if found.operation != "export":
        raise NotFound("there is no export of this id")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.tmx"
        from dragoman.api.memories import export_file  # noqa: PLC0415 -- imports SQLAlchemy

        export_file(memories.store, memories.find(found.owner, found.memory), path)
        return path.read_bytes()


def _memory_json(memory: "StoredMemory") -> dict[str, Any]:
    sources = [each[1] for each in memory.directions]
    return {
        "translation_memory_id": memory.id,
        "name": memory.name,
        "source_language": (max(set(sources), key=sources.count) if sources else "en").lower(),
        "target_languages": sorted({each[2].lower() for each in memory.directions}),
        "segment_count": memory.units,
        "creation_time": iso_time(memory.created),
        "updated_time": iso_time(memory.updated),
    }

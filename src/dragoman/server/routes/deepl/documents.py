"""Routes of the DeepL API v2 for documents: upload, translation in the background, status, download."""

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from dragoman.errors import DragomanError
from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import NotFound, Overloaded, RateLimited, RequestError, problem_for
from dragoman.server.http.request_body import Access, Reserved, json_response, parse_model
from dragoman.server.http.route_policy import route_policy
from dragoman.server.pipeline.documents import TranslatedDocument, translate_document
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import TranslationRequest
from dragoman.server.routes.deepl.text import DEEPL, AuthKey, DeeplGlossaryChoice, read_values
from dragoman.server.routes.document_files import (
    DownloadStore,
    StoredDocument,
    Upload,
    rank_owners,
    read_upload,
    stored_response,
    translated_name,
)
from dragoman.server.routes.openapi import BODY_ERRORS, FORMS, JSON, parameter, request_body, responses
from dragoman.server.scheduling.admission import Reservation

_log = logging.getLogger(__name__)

JobStatus = Literal["translating", "done", "error"]
_UNKNOWN = (
    "there is no document of this id and key: documents are kept for half an hour, in a full store shorter; translate "
    "it again"
)
_MIB = 1 << 20
_RETRY_SECONDS = 5.0
_STATUS_WAIT = 2.0  # seconds that a status request waits for the end: DeepL's client polls every five
_DOCUMENT_TIME = 10  # times the deadline of other requests
_LARGEST_DOCUMENTS = 8  # documents of the largest size that may be in progress; one client may have half of them
_ID = parameter("document_id", "path", {"type": "string"}, "Id of the document.")
_BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@dataclass
class DocumentJob:
    """A document whose translation is running or finished."""

    id: str
    key: str
    """Secret that allows the download."""
    created: float
    owner: bytes = b""
    size: int = 0
    """Bytes of the uploaded document, which is in memory until it is translated."""
    status: JobStatus = "translating"
    characters: int = 0
    error: str = ""
    download: str = ""
    """Key of the translation in the `DownloadStore`."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)


class DocumentJobs:
    """Jobs by id, the oldest first; finished ones are forgotten after `seconds`.

    At most `max_jobs` documents of at most `max_bytes` together are in progress. An owner may have as many as places
    are left, and as many bytes: half if it is alone, and always less than all. Of finished jobs, `max_finished` are
    kept; then the oldest of the owner with the most is forgotten.
    """

    def __init__(
        self,
        downloads: DownloadStore,
        *,
        seconds: float = 1800.0,
        max_jobs: int = 100,
        max_bytes: int = 80 * _MIB,
        max_finished: int = 1000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._downloads, self._seconds, self._clock = downloads, seconds, clock
        self._max_jobs, self._max_bytes, self._max_finished = max_jobs, max_bytes, max_finished
        self._jobs: dict[str, DocumentJob] = {}

    def start(
        self,
        work: Coroutine[Any, Any, TranslatedDocument],
        name: Callable[[str], str],
        owner: bytes = b"",
        size: int = 0,
    ) -> DocumentJob:
        """Start to translate, after `make_room`; `name` returns the name of the translation, given its language."""
        job = DocumentJob(secrets.token_hex(16).upper(), secrets.token_hex(32).upper(), self._clock(), owner, size)
        job.task = asyncio.create_task(self._run(job, work, name, owner))
        self._jobs[job.id] = job
        return job

    def get(self, id_: str, key: str) -> DocumentJob:
        """Return a job; raises `NotFound` without its key."""
        job = self._jobs.get(id_)
        if job is None or not hmac.compare_digest(job.key.encode(), key.encode("utf-8", "surrogatepass")):
            raise NotFound(_UNKNOWN)
        return job

    def result(self, job: DocumentJob) -> StoredDocument:
        """Return the translation of a finished job; raises `Overloaded` while it is running."""
        if job.status == "translating":
            raise Overloaded("the document is still being translated", retry_after=1)
        found = self._downloads.get(job.download) if job.download else None
        if found is None:
            raise NotFound(job.error or _UNKNOWN)
        return found

    async def _run(
        self,
        job: DocumentJob,
        work: Coroutine[Any, Any, TranslatedDocument],
        name: Callable[[str], str],
        owner: bytes,
    ) -> None:
        try:
            done = await work
            job.download = await self._downloads.add(name(done.language), done.data, owner)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 -- the client reads it in the status
            job.status, job.error = "error", problem_for(error)["detail"]
            if not isinstance(error, DragomanError | asyncio.CancelledError):
                _log.error("a document could not be translated: %s", type(error).__name__)
        else:
            job.status, job.characters = "done", done.characters

    def make_room(self, owner: bytes = b"", size: int = 0) -> None:
        """Forget old finished jobs, and check that another document may be in progress.

        Raises `RateLimited` if the owner has its share of the documents in progress, `Overloaded` if the server has no
        room for another. To be called before anything is reserved for a job.
        """
        self._forget_finished()
        running = [each for each in self._jobs.values() if each.status == "translating"]
        own = [each for each in running if each.owner == owner]
        for limit, used, owned, added in (
            (self._max_jobs, len(running), len(own), 1),
            (self._max_bytes, _bytes(running), _bytes(own), size),
        ):
            if used + added > limit:
                raise Overloaded(
                    "the server translates as many documents as it has room for", retry_after=_RETRY_SECONDS
                )
            if owned + added > limit - used:
                raise RateLimited(
                    f"the server translates {len(own):,} documents of this client, {_bytes(own):,} bytes, as many as "
                    "it may have at a time",
                    retry_after=_RETRY_SECONDS,
                )

    def _forget_finished(self) -> None:
        now = self._clock()
        finished = {id_: each for id_, each in self._jobs.items() if each.status != "translating"}
        for id_, job in list(finished.items()):
            if job.created + self._seconds <= now:
                del self._jobs[id_], finished[id_]
        while len(finished) > self._max_finished:
            ranks = rank_owners((each.owner, 1) for each in finished.values())
            forgotten = min(finished, key=lambda id_: ranks[finished[id_].owner])
            del self._jobs[forgotten], finished[forgotten]


def _bytes(jobs: Iterable[DocumentJob]) -> int:
    return sum(each.size for each in jobs)


class DeeplDocumentFields(DeeplGlossaryChoice):
    """Fields of the form of `/v2/document`, in addition to the file."""

    filename: str | None = Field(None, description="Name of the document, in place of that of the file.")
    output_format: str | None = Field(None, description="Must be the format of the document.")


class DeeplDocumentKey(BaseModel):
    """Body of a request for the status or the result of a document."""

    model_config = ConfigDict(extra="ignore")

    document_key: str
    auth_key: AuthKey = None


class DeeplDocumentHandle(BaseModel):
    """Id and secret of an uploaded document."""

    document_id: str
    document_key: str


class DeeplDocumentStatus(BaseModel):
    """State of a translation; `billed_characters` if it is done, `error_message` if it failed."""

    document_id: str
    status: str = Field(description="translating, done or error.")
    billed_characters: int | None = None
    error_message: str | None = None


async def _key_body(request: Request) -> DeeplDocumentKey:
    return parse_model(DeeplDocumentKey, await read_values(request))


KeyBody = Annotated[DeeplDocumentKey, Depends(_key_body)]


def router(pipeline: TranslationPipeline, downloads: DownloadStore | None = None) -> APIRouter:
    """Return the routes of documents."""
    routes = APIRouter(prefix="/v2", tags=[DEEPL.name])
    store = downloads or DownloadStore()
    jobs = DocumentJobs(store, max_bytes=_LARGEST_DOCUMENTS * pipeline.settings.limits.file_bytes)

    @routes.post("/document", **responses(DeeplDocumentHandle, *BODY_ERRORS, 404), openapi_extra=_form())
    @route_policy("body_key", translates=True, is_upload=True, stores=True)
    async def upload(request: Request, access: Access, _: Reserved) -> Response:
        """Upload a document, whose translation then starts."""
        given = await read_upload(request, pipeline.settings.limits, ("target_lang",))
        fields = parse_model(DeeplDocumentFields, given.fields)
        wanted = await _to_request(pipeline, fields, given, access.name)
        store.check_size(len(given.data))  # before the work: its size is about that of the translation
        pipeline.resolve(replace(wanted, texts=[""]))  # raises for unknown languages
        jobs.make_room(access.client, len(given.data))
        # The reservation of this request ends with it.
        seconds = pipeline.settings.limits.seconds * _DOCUMENT_TIME
        reservation = pipeline.service.admit(seconds, access.charge)
        work = _translate(pipeline, given, wanted, access, reservation)
        job = jobs.start(work, lambda language: translated_name(given.name, language), access.client, len(given.data))
        return json_response({"document_id": job.id, "document_key": job.key})

    @routes.post(
        "/document/{document_id}",
        **responses(DeeplDocumentStatus, *BODY_ERRORS, 404),
        **request_body(DeeplDocumentKey, (JSON, *FORMS), [_ID]),
    )
    @route_policy("body_key", stores=True)
    async def status(request: Request, body: KeyBody) -> Response:
        """Return the state of a translation."""
        job = jobs.get(request.path_params["document_id"], body.document_key)
        if job.task is not None:
            await asyncio.wait({job.task}, timeout=_STATUS_WAIT)
        return json_response(_status(job))

    @routes.post(
        "/document/{document_id}/result",
        **responses(None, *BODY_ERRORS, 404, more=_BINARY),
        **request_body(DeeplDocumentKey, (JSON, *FORMS), [_ID]),
    )
    @route_policy("body_key", stores=True)
    async def result(request: Request, body: KeyBody) -> Response:
        """Download a translated document."""
        stored = jobs.result(jobs.get(request.path_params["document_id"], body.document_key))
        return stored_response(stored, "application/octet-stream")

    return routes


async def _translate(
    pipeline: TranslationPipeline,
    given: Upload,
    wanted: TranslationRequest,
    access: RequestAccess,
    reservation: Reservation,
) -> TranslatedDocument:
    is_served = False
    try:
        done = await translate_document(pipeline, given.name, given.data, wanted, reservation)
        is_served = True
    finally:
        reservation.release(is_served=is_served)
    access.count(done.characters)
    return done


async def _to_request(
    pipeline: TranslationPipeline, fields: DeeplDocumentFields, given: Upload, owner: str
) -> TranslationRequest:
    suffix = PurePath(given.name).suffix.lower().removeprefix(".")
    if fields.output_format and fields.output_format.lower() != suffix:
        raise RequestError(
            f"output_format must be {suffix}, that of the document, got {fields.output_format[:20]!r}; leave it out"
        )
    glossary = await fields.find_glossary(pipeline, owner)
    options = build_options(pipeline.settings)
    return TranslationRequest(
        (),
        fields.source_lang or "auto",
        fields.target_lang,
        options=options,
        glossary=glossary,
        dialect=DEEPL,
    )


def _status(job: DocumentJob) -> dict[str, Any]:
    value: dict[str, Any] = {"document_id": job.id, "status": job.status}
    if job.status == "done":
        value["billed_characters"] = job.characters
    elif job.status == "error":
        value["error_message"] = job.error
    return value


def _form() -> dict[str, Any]:
    schema = DeeplDocumentFields.model_json_schema()
    schema["properties"]["file"] = {"type": "string", "format": "binary", "description": "The document."}
    schema["required"] = ["file", "target_lang"]
    return {"requestBody": {"required": True, "content": {FORMS[1]: {"schema": schema}}}}

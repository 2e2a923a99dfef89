"""Routes of the DeepL API v2 for documents: upload, translation in the background, status, download."""

import asyncio
import contextlib
import functools
import hmac
import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from dragoman.errors import DragomanError
from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import NotFound, Overloaded, RateLimited, RequestError, problem_for
from dragoman.server.http.request_body import Access, Reserved, json_response, parse_model
from dragoman.server.http.route_policy import Depends, Router, route_policy
from dragoman.server.pipeline.documents import TranslatedDocument, translate_document
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import TranslationRequest
from dragoman.server.routes.deepl.text import DEEPL, AuthKey, DeeplGlossaryChoice, read_values
from dragoman.server.routes.document_files import (
    DocumentStore,
    StoredDocument,
    Upload,
    document_id,
    new_secret,
    read_upload,
    stored_response,
    translated_name,
)
from dragoman.server.routes.openapi import BODY_ERRORS, FORMS, JSON, request_body, responses
from dragoman.server.scheduling.admission import Reservation

_log = logging.getLogger(__name__)

_UNKNOWN = (
    "there is no document of this id and key: documents are kept for half an hour, in a full store shorter; translate "
    "it again"
)
_MIB = 1 << 20
_RETRY_SECONDS = 5.0
_STATUS_WAIT = 2.0  # seconds that a status request waits for the end: DeepL's client polls every five
_DOCUMENT_TIME = 10  # times the deadline of other requests
_LARGEST_DOCUMENTS = 8  # documents of the largest size that may be in progress; one client may have half of them
_BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


@dataclass
class _Job:
    """A document that this process is translating."""

    client: bytes
    size: int
    """Bytes of the uploaded document, which is in memory until it is translated."""
    task: asyncio.Task[None]


class DocumentJobs:
    """Documents that this process is translating; their results are in a `DocumentStore`.

    At most `max_jobs` documents of at most `max_bytes` together are in progress. A client may have as many as places
    are left, and as many bytes: half if it is alone, and always less than all.
    """

    def __init__(self, store: DocumentStore, *, max_jobs: int = 100, max_bytes: int = 80 * _MIB) -> None:
        self._store, self._max_jobs, self._max_bytes = store, max_jobs, max_bytes
        self._running: dict[str, _Job] = {}

    async def start(
        self,
        work: Coroutine[Any, Any, TranslatedDocument],
        name: Callable[[str], str],
        client: bytes = b"",
        size: int = 0,
        *,
        owner: str = "",
        seconds: float = 0.0,
    ) -> str:
        """Start to translate, after `make_room`, and return the secret of the document when it is in the store.

        `name` returns the name of the translation, given its language.
        """
        secret = new_secret()
        begun = asyncio.ensure_future(asyncio.to_thread(self._store.begin, secret, owner, client, seconds))
        task = asyncio.create_task(self._run(begun, secret, work, name))
        self._running[secret] = _Job(client, size, task)
        task.add_done_callback(lambda _: self._running.pop(secret))
        await asyncio.shield(begun)
        return secret

    async def get(self, id_: str, secret: str, *, wait: float = 0.0) -> StoredDocument:
        """Return a document, after a wait for its translation; raises `NotFound` without its secret."""
        if secret in self._running:
            await asyncio.wait({self._running[secret].task}, timeout=wait)
        found = await asyncio.to_thread(self._store.get, secret)
        if found is None or not hmac.compare_digest(found.id.encode(), id_.encode("utf-8", "surrogatepass")):
            raise NotFound(_UNKNOWN)
        return found

    async def _run(
        self,
        begun: asyncio.Future[None],
        secret: str,
        work: Coroutine[Any, Any, TranslatedDocument],
        name: Callable[[str], str],
    ) -> None:
        try:
            try:
                done = await work
            finally:
                await begun  # otherwise the end could be stored before the beginning
            await asyncio.to_thread(self._store.finish, secret, name(done.language), done.data, done.characters)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 -- the client reads it in the status
            if not isinstance(error, DragomanError | asyncio.CancelledError):
                _log.error("a document could not be translated: %s", type(error).__name__)
            with contextlib.suppress(DragomanError):
                await asyncio.to_thread(self._store.fail, secret, problem_for(error)["detail"])

    def make_room(self, client: bytes = b"", size: int = 0) -> None:
        """Check that another document may be in progress.

        Raises `RateLimited` if the client has its share of the documents in progress, `Overloaded` if the server has no
        room for another. To be called before anything is reserved for a job.
        """
        running = list(self._running.values())
        own = [each for each in running if each.client == client]
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


def _bytes(jobs: Iterable[_Job]) -> int:
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


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of documents."""
    routes = Router(prefix="/v2", tags=[DEEPL.name])
    store = DocumentStore(pipeline.database)
    jobs = DocumentJobs(store, max_bytes=_LARGEST_DOCUMENTS * pipeline.settings.limits.file_bytes)

    @routes.post("/document", **responses(DeeplDocumentHandle, *BODY_ERRORS, 404), openapi_extra=_form())
    @route_policy("body_key", translates=True, is_upload=True)
    async def upload(request: Request, access: Access, _: Reserved) -> Response:
        """Upload a document, whose translation then starts."""
        given = await read_upload(request, pipeline.settings.limits, ("target_lang",))
        fields = parse_model(DeeplDocumentFields, given.fields)
        wanted = await _to_request(pipeline, fields, given, access.name)
        wanted = replace(wanted, memory=await fields.find_memory(pipeline, access.name))
        store.check_size(len(given.data))  # before the work: its size is about that of the translation
        pipeline.resolve(replace(wanted, texts=[""]))  # raises for unknown languages
        jobs.make_room(access.client, len(given.data))
        # The reservation of this request ends with it.
        seconds = pipeline.settings.limits.seconds * _DOCUMENT_TIME
        reservation = pipeline.service.admit(seconds, access.charge)
        reservation.owner = access.name
        work = _translate(pipeline, given, wanted, access, reservation)
        name = functools.partial(translated_name, given.name)
        client, size = access.client, len(given.data)
        secret = await jobs.start(work, name, client, size, owner=access.name, seconds=seconds)
        return json_response({"document_id": document_id(secret), "document_key": secret})

    @routes.post(
        "/document/{document_id}",
        **responses(DeeplDocumentStatus, *BODY_ERRORS, 404),
        **request_body(DeeplDocumentKey, (JSON, *FORMS)),
    )
    @route_policy("body_key", writes=True)
    async def status(request: Request, body: KeyBody) -> Response:
        """Return the state of a translation."""
        id_ = request.path_params["document_id"]
        return json_response(_status(await jobs.get(id_, body.document_key, wait=_STATUS_WAIT)))

    @routes.post(
        "/document/{document_id}/result",
        **responses(None, *BODY_ERRORS, 404, more=_BINARY),
        **request_body(DeeplDocumentKey, (JSON, *FORMS)),
    )
    @route_policy("body_key", writes=True)
    async def result(request: Request, body: KeyBody) -> Response:
        """Download a translated document."""
        found = await jobs.get(request.path_params["document_id"], body.document_key)
        if found.status == "translating":
            raise Overloaded("the document is still being translated", retry_after=1)
        if found.status == "error":
            raise NotFound(found.error)
        return stored_response(store, found, "application/octet-stream")

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


def _status(job: StoredDocument) -> dict[str, Any]:
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

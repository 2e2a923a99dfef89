"""Routes of the DeepL API v2 for documents: upload, status, download."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import RequestError
from dragoman.server.http.dependencies import Access, Reserved
from dragoman.server.http.request_body import json_response, parse_model
from dragoman.server.http.route_policy import route_policy
from dragoman.server.pipeline.documents import TranslatedDocument, translate_document
from dragoman.server.pipeline.option_builder import build_options
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.request_types import TranslationRequest
from dragoman.server.routes.deepl.document_jobs import DocumentJob, DocumentJobs
from dragoman.server.routes.deepl.fields import read_values
from dragoman.server.routes.deepl.schemas import API_NAMES, AuthKey, DeeplGlossaryChoice
from dragoman.server.routes.document_files import Upload, read_upload, stored_response, translated_name
from dragoman.server.routes.download_store import DownloadStore
from dragoman.server.routes.openapi import BODY_ERRORS, FORMS, JSON, parameter, request_body, responses
from dragoman.server.scheduling.admission import Reservation

__all__ = ["router"]

_STATUS_WAIT = 2.0  # seconds that a status request waits for the end: DeepL's client polls every five
_DOCUMENT_TIME = 10  # times the deadline of other requests
_LARGEST_DOCUMENTS = 8  # documents of the largest size that may be in progress; one client may have half of them
_ID = parameter("document_id", "path", {"type": "string"}, "Id of the document.")
_BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}


class DeeplDocumentFields(DeeplGlossaryChoice):
    """Fields of the form of `/v2/document`, in addition to the file."""

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
    routes = APIRouter(prefix="/v2", tags=["DeepL"])
    store = downloads or DownloadStore()
    jobs = DocumentJobs(store, max_bytes=_LARGEST_DOCUMENTS * pipeline.settings.limits.file_bytes)

    @routes.post("/document", **responses(DeeplDocumentHandle, *BODY_ERRORS, 404), openapi_extra=_form())
    @route_policy("body_key", translates=True, is_upload=True, stores=True)
    async def upload(request: Request, access: Access, _: Reserved) -> Response:
        """Upload a document, whose translation then starts."""
        given = await read_upload(request, pipeline.settings.limits, ("target_lang",))
        fields = parse_model(DeeplDocumentFields, given.fields)
        wanted = _to_request(pipeline, fields, given, access.name)
        store.make_room(len(given.data), access.client)  # before the work: its size is about that of the translation
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
        **_key_description(),
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
        **_key_description(),
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


def _to_request(
    pipeline: TranslationPipeline, fields: DeeplDocumentFields, given: Upload, owner: str
) -> TranslationRequest:
    suffix = PurePath(given.name).suffix.lower().removeprefix(".")
    if fields.output_format and fields.output_format.lower() != suffix:
        raise RequestError(
            f"output_format must be {suffix}, that of the document, got {fields.output_format[:20]!r}; leave it out"
        )
    glossary = fields.find_glossary(pipeline.glossaries, owner)
    options = build_options(pipeline.settings)
    return TranslationRequest(
        (),
        fields.source_lang or "auto",
        fields.target_lang,
        options=options,
        glossary=glossary,
        names=API_NAMES,
        rejects_other_languages=True,
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


def _key_description() -> dict[str, Any]:
    described = request_body(DeeplDocumentKey, (JSON, *FORMS))
    described["openapi_extra"]["parameters"] = [_ID]
    return described

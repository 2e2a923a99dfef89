"""Documents: translated as they are, and fetched afterwards, as LibreTranslate does it, or given back at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from starlette.datastructures import UploadFile

from dragoman.documents.formats import FORMATS, read_document
from dragoman.markup.marked import Marked
from dragoman.server.bodies import json_answer
from dragoman.server.context import Context
from dragoman.server.downloads import plain_name
from dragoman.server.errors import NotFound, Overloaded, Refused, TooLarge
from dragoman.server.jobs import Ask, Ticket
from dragoman.server.libretranslate import check_languages
from dragoman.server.openapi import FAULTS, TRANSLATING, answers, parameter
from dragoman.server.placing import Wanted, ask_for, place_texts
from dragoman.server.schemas import FileAnswer
from dragoman.server.settings import Limits
from dragoman.server.texts import translate_marked

__all__ = ["router"]

_SLICE_TEXTS, _SLICE_CHARACTERS = 32, 4000  # of a document at a time: others get their turn in between
_DETECTED_ON = 500  # characters
_ANY_BYTES = "application/octet-stream"
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FORM = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "source", "target"],
                    "properties": {
                        "file": {"type": "string", "format": "binary", "description": "The document."},
                        "source": {"type": "string", "minLength": 1, "description": "A language code, or `auto`."},
                        "target": {"type": "string", "minLength": 1},
                        "model": {"type": "string", "description": "A model of `/v1/models`."},
                        "api_key": {"type": "string"},
                    },
                }
            }
        },
    }
}


@dataclass(frozen=True)
class _Upload:
    name: str
    data: bytes
    fields: dict[str, str]


def router(context: Context) -> APIRouter:
    """The routes."""
    routes = APIRouter(tags=["LibreTranslate"])
    kinds = dict.fromkeys((_ANY_BYTES, *FORMATS.values()), _BINARY)

    @routes.post("/translate_file", **answers(FileAnswer, *TRANSLATING, more=kinds), openapi_extra=_FORM)
    async def translate_file(request: Request) -> Response:
        """Translate a document.

        The answer says where to fetch it, for half an hour; to a client that does not accept JSON, but the document's
        own type or `application/octet-stream`, it is the document itself.
        """
        upload = await _read(request, context.settings.limits)
        request.state.access.admit(upload.fields.get("api_key"))
        wanted = _wanted(context, upload)
        data, language = await _translated(context, upload, wanted, request.state.ticket)
        name = _named(upload.name, language)
        kind = FORMATS[_suffix(upload.name)]
        if _wants_bytes(request.headers.get("accept", ""), kind):
            return _document(name, kind, data)
        key = context.downloads.add(name, data)
        return json_answer({"translatedFileUrl": str(request.base_url) + f"download_file/{quote(key)}"})

    @routes.get(
        "/download_file/{name}",
        **answers(None, *FAULTS, 404, more=kinds),
        openapi_extra={"parameters": [parameter("name", "path", {"type": "string"}, "As `translatedFileUrl` had it.")]},
    )
    async def download_file(request: Request) -> Response:
        """Fetch a translated document."""
        waiting = context.downloads.get(request.path_params["name"])
        if waiting is None:
            raise NotFound("the document must be fetched within half an hour, got none by this name; translate it anew")
        return _document(waiting.name, FORMATS[_suffix(waiting.name)], waiting.path.read_bytes())

    return routes


async def _read(request: Request, limits: Limits) -> _Upload:
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise Refused("Invalid request: missing file parameter")
    async with request.form(max_files=1, max_fields=20, max_part_size=limits.file_bytes) as form:
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise Refused("Invalid request: missing file parameter")
        for name in ("source", "target"):
            if not fields.get(name):
                raise Refused(f"Invalid request: missing {name} parameter")
        if not file.filename:
            raise Refused("Invalid request: empty file")
        name = plain_name(file.filename)
        if _suffix(name) not in FORMATS:
            raise Refused(f"Invalid request: file format not supported; send {', '.join(sorted(FORMATS))}")
        data = await file.read()
    if len(data) > limits.file_bytes:
        raise TooLarge(
            f"a document must have {limits.file_bytes:,} bytes at most, got {len(data):,}; cut it into parts"
        )
    return _Upload(name, data, fields)


def _wanted(context: Context, upload: _Upload) -> Wanted:
    source, target = upload.fields["source"], upload.fields["target"]
    check_languages(context.languages, source, target)
    return Wanted(source, target, model=upload.fields.get("model") or None)


async def _translated(context: Context, upload: _Upload, wanted: Wanted, ticket: Ticket) -> tuple[bytes, str]:
    """The document in another language, and which."""
    document = await asyncio.to_thread(read_document, upload.name, upload.data)
    segments = document.segments
    size = sum(len(each.text) for each in segments)
    most = context.settings.limits.file_characters
    if size > most:
        raise TooLarge(f"a document must have {most:,} characters at most, got {size:,}; cut it into parts")
    (placed,) = place_texts(context, [_beginning(segments)], wanted)
    written: list[Marked] = []
    if placed.source == placed.target:
        written = list(segments)
    else:
        ask = ask_for(context, wanted, placed.source, placed.target)
        for part in _slices(segments):
            written += await _translated_slice(context, part, ask, ticket)
    context.characters += size
    return await asyncio.to_thread(document.write, written, language=placed.target), placed.target


async def _translated_slice(context: Context, part: Sequence[Marked], ask: Ask, ticket: Ticket) -> list[Marked]:
    """Translate some of a document. Where the house is full it waits: it has been let in already."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            return (await translate_marked(context, part, ask, ticket))[0]
        except Overloaded as error:
            wait = error.retry_after or 1.0
            if loop.time() + wait > ticket.deadline:
                raise
            await asyncio.sleep(wait)


def _slices(segments: Sequence[Marked]) -> Iterator[Sequence[Marked]]:
    start, size = 0, 0
    for number, each in enumerate(segments):
        if number > start and (number - start >= _SLICE_TEXTS or size + len(each.text) > _SLICE_CHARACTERS):
            yield segments[start:number]
            start, size = number, 0
        size += len(each.text)
    if start < len(segments):
        yield segments[start:]


def _beginning(segments: Sequence[Marked]) -> str:
    """Enough of a document to know its language; headings alone may not suffice."""
    texts: list[str] = []
    size = 0
    for each in sorted(segments[:200], key=lambda each: -len(each.text)):
        if size > _DETECTED_ON:
            break
        texts.append(each.text[:_DETECTED_ON])
        size += len(texts[-1])
    return "\n".join(texts)


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()


def _named(name: str, language: str) -> str:
    """What the translation of a file is called: ``letter.docx`` becomes ``letter_de.docx``."""
    path = PurePath(name)
    return plain_name(f"{path.stem}_{language}{path.suffix}")


def _wants_bytes(accept: str, kind: str) -> bool:
    """Whether a client would rather have the document than JSON that says where it is."""
    kinds = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    return not kinds & {"", "*/*", "application/*", "application/json"} and bool(kinds & {kind, _ANY_BYTES})


def _document(name: str, kind: str, data: bytes) -> Response:
    # Never shown by a browser as if it were ours: a translated page may hold scripts of its own.
    headers: dict[str, Any] = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return Response(data, headers=headers, media_type=kind)

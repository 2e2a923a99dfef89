"""Routes to upload documents for translation and to download the results, and the store of the results.

The store has files without a name: they are deleted from their folder when they are created, so no other program can
find or remove them, and nothing is left on the disk if the process is killed.
"""

import asyncio
import os
import re
import secrets
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse
from starlette.datastructures import UploadFile

from dragoman.documents.formats import document_formats
from dragoman.server.errors import NotFound, Overloaded, RequestError, SingleProcessOnly, TooLarge
from dragoman.server.http.request_body import Access, Reserved, json_response, read_multipart, renamed_field
from dragoman.server.http.route_policy import route_policy
from dragoman.server.pipeline.documents import translate_document
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import TranslationRequest
from dragoman.server.routes.libretranslate import LIBRETRANSLATE, TranslateFileResponse
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, parameter, responses
from dragoman.server.settings import Limits

_MIB = 1 << 20
_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_NAME = 100  # characters
_MAX_SHARE = 0.5  # of all bytes, for one document
_CHUNK_BYTES = 256 << 10
_DIRECTLY = "request it directly, with Accept: application/octet-stream"


@dataclass(eq=False)
class StoredDocument:
    """A stored document; it expires at `until`, in the time of the store's clock."""

    name: str
    size: int
    owner: bytes
    until: float
    is_downloaded: bool = False
    _file: int = -1

    def write(self, data: bytes) -> None:
        """Write the content; the file exists as long as this object."""
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the content in parts: a client that does not read its download must not fill the memory."""
        at = 0
        while at < self.size and (part := await asyncio.to_thread(os.pread, self._file, _CHUNK_BYTES, at)):
            at += len(part)
            yield part
        self.is_downloaded = True


class DownloadStore:
    """Documents by unguessable keys, the oldest first. Used on the thread of the event loop only.

    A full store drops documents that were downloaded, then those of the client whose documents have the most bytes, the
    oldest first. So no client prevents another from storing one, and one with less than others keeps its own. A small
    document counts as `max_bytes / max_documents`, because each has an open file.
    """

    def __init__(
        self,
        *,
        seconds: float = 1800.0,
        max_documents: int = 128,
        max_bytes: int = 256 * _MIB,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds, self._max_documents, self._max_bytes = seconds, max_documents, max_bytes
        self._clock = clock
        self._documents: dict[str, StoredDocument] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def check_size(self, size: int) -> None:
        """Raise `TooLarge` if a document would be too large to be stored."""
        if size > (limit := int(self._max_bytes * _MAX_SHARE)):
            raise TooLarge(f"a document must have {limit:,} bytes at most to be stored, got {size:,}; {_DIRECTLY}")

    async def add(self, name: str, data: bytes, owner: bytes = b"") -> str:
        """Store a document of a client and return its key."""
        self.check_size(len(data))
        self._make_room(len(data), owner)
        shown = plain_name(name)
        key = f"{secrets.token_urlsafe(24)}.{shown}"
        document = self._documents[key] = StoredDocument(shown, len(data), owner, self._clock() + self._seconds)
        try:
            await asyncio.to_thread(document.write, data)
        except OSError:
            del self._documents[key]
            raise Overloaded(f"the server has no disk space for the document; {_DIRECTLY}") from None
        except BaseException:
            self._documents.pop(key, None)
            raise
        return key

    def get(self, key: str) -> StoredDocument | None:
        """Return the document of a key, unless it has expired."""
        self._delete_expired()
        return self._documents.get(key)

    def close(self) -> None:
        self._documents.clear()

    def _make_room(self, size: int, owner: bytes) -> None:
        """Drop documents until one of this size fits."""
        self._delete_expired()
        documents = self._documents
        sizes = {key: max(each.size, self._max_bytes // self._max_documents) for key, each in documents.items()}
        added = max(size, self._max_bytes // self._max_documents)
        while documents and sum(map(sizes.__getitem__, documents)) + added > self._max_bytes:
            ranks = rank_owners([(owner, added), *((each.owner, sizes[key]) for key, each in documents.items())])
            dropped = min(documents, key=lambda key: (not documents[key].is_downloaded, ranks[documents[key].owner]))
            del documents[dropped]

    def _delete_expired(self) -> None:
        now = self._clock()
        self._documents = {key: each for key, each in self._documents.items() if each.until > now}


def rank_owners(owned: Iterable[tuple[bytes, int]]) -> dict[bytes, int]:
    """Return the ranks of owners by the sum of their sizes, 0 for the largest; of equal ones, the first is lower."""
    totals: Counter[bytes] = Counter()
    for owner, size in owned:
        totals[owner] += size
    return {owner: rank for rank, (owner, _) in enumerate(totals.most_common())}


def plain_name(name: str) -> str:
    """Return a file name without folders, of letters, digits, dots, - and _."""
    last = re.split(r"[/\\]", name)[-1]
    return _UNSAFE.sub("_", last).lstrip(".")[-_MAX_NAME:] or "document"


_MAX_FIELDS = 20
_MISSING_FILE = (  # LibreTranslate's message and a remedy
    "Invalid request: missing file parameter; send multipart/form-data with the document in the field file, with curl: "
    "-F file=@NAME, not -d"
)
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
                        "glossary": {"type": "string", "description": "Name or id of a stored glossary."},
                        "api_key": {"type": "string"},
                    },
                }
            }
        },
    }
}


@dataclass(frozen=True)
class Upload:
    """An uploaded document and the other fields of its form."""

    name: str
    data: bytes
    fields: dict[str, str]


def router(pipeline: TranslationPipeline, *, stores: bool = True) -> APIRouter:
    """Return the routes of documents; without `stores`, a translated document can only be requested directly."""
    routes = APIRouter(tags=[LIBRETRANSLATE.name])
    downloads = DownloadStore()
    formats = document_formats()
    media_types = dict.fromkeys((_ANY_BYTES, *(form.media_type for form in formats.values())), _BINARY)

    @routes.post(
        "/translate_file", **responses(TranslateFileResponse, *BODY_ERRORS, 404, more=media_types), openapi_extra=_FORM
    )
    @route_policy("body_key", translates=True, is_upload=True)
    async def translate_file(request: Request, access: Access, reservation: Reserved) -> Response:
        """Translate a document.

        The response has a URL of the document that is valid for half an hour. If the client does not accept JSON, but
        the type of the document or `application/octet-stream`, the response is the document itself.
        """
        upload = await read_upload(request, pipeline.settings.limits)
        wanted = _to_request(pipeline, upload, access.name)
        media_type = formats[_suffix(upload.name)].media_type
        is_direct = _accepts_document(request.headers.get("accept", ""), media_type)
        if not is_direct and not stores:
            raise SingleProcessOnly(
                "this server has several replicas and gives no links to documents; request the document itself with "
                "Accept: application/octet-stream"
            )
        if not is_direct:  # before the work: its size is about that of the translation
            downloads.check_size(len(upload.data))
        done = await translate_document(pipeline, upload.name, upload.data, wanted, reservation)
        access.count(done.characters)
        name = translated_name(upload.name, done.language)
        if is_direct:
            return Response(done.data, headers=_document_headers(name), media_type=media_type)
        key = await downloads.add(name, done.data, access.client)
        return json_response({"translatedFileUrl": str(request.base_url) + f"download_file/{quote(key)}"})

    @routes.get(
        "/download_file/{name}",
        **responses(None, *BASE_ERRORS, 404, more=media_types),
        openapi_extra={
            "parameters": [parameter("name", "path", {"type": "string"}, "The last part of `translatedFileUrl`.")]
        },
    )
    @route_policy("public", stores=True)  # the name of a document is a secret
    async def download_file(request: Request) -> Response:
        """Download a translated document."""
        stored = downloads.get(request.path_params["name"])
        if stored is None:
            raise NotFound(
                "there is no document of this name: documents are kept for half an hour, in a full store shorter; "
                "translate it again"
            )
        return stored_response(stored, formats[_suffix(stored.name)].media_type)

    return routes


async def read_upload(request: Request, limits: Limits, required: Sequence[str] = ("source", "target")) -> Upload:
    """Read the file and the fields of a form; raises `RequestError` with LibreTranslate's messages."""
    if not request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise RequestError(_MISSING_FILE)
    form = await read_multipart(request, max_fields=_MAX_FIELDS)
    try:
        fields = {name: value for name, value in form.multi_items() if isinstance(value, str)}
        if given := [value for value in form.getlist("glossary_ids") if isinstance(value, str)]:  # DeepL's
            fields["glossary_ids"] = ",".join(given)
        file = form.get("file")
        if not isinstance(file, UploadFile):
            raise RequestError(_MISSING_FILE)
        for name in required:
            if not fields.get(name):
                sent = renamed_field(name, fields, required)
                hint = f"; write {name} in place of {sent}" if sent else ""
                raise RequestError(f"Invalid request: missing {name} parameter{hint}")
        if not file.filename:
            raise RequestError("Invalid request: empty file", code="invalid_document")
        name = plain_name(
            fields.get("filename") or file.filename
        )  # DeepL's field, for a file without a name of its own
        if _suffix(name) not in document_formats():
            raise RequestError(
                f"Invalid request: file format not supported; send {', '.join(document_formats())}",
                code="unknown_format",
            )
        data = await file.read()
    finally:
        await form.close()
    if len(data) > limits.file_bytes:
        raise TooLarge(f"a document must have {limits.file_bytes:,} bytes at most, got {len(data):,}; split it")
    return Upload(name, data, fields)


def _to_request(pipeline: TranslationPipeline, upload: Upload, owner: str) -> TranslationRequest:
    source, target = upload.fields["source"], upload.fields["target"]
    model = upload.fields.get("model") or None
    name = upload.fields.get("glossary")
    stored = pipeline.glossaries.find_for(owner, name, source, target) if name else None
    options = build_options(pipeline.settings)
    return TranslationRequest((), source, target, model, options=options, glossary=stored, dialect=LIBRETRANSLATE)


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()


def translated_name(name: str, language: str) -> str:
    """Return the file name of a translation: ``letter_de.docx`` for ``letter.docx``."""
    path = PurePath(name)
    return plain_name(f"{path.stem}_{language}{path.suffix}")


def _accepts_document(accept: str, media_type: str) -> bool:
    """Whether a client accepts the document and not JSON."""
    accepted = {each.partition(";")[0].strip().lower() for each in accept.split(",")}
    return not accepted & {"", "*/*", "application/*", "application/json"} and bool(accepted & {media_type, _ANY_BYTES})


def stored_response(stored: StoredDocument, media_type: str) -> Response:
    """Return a stored document that browsers save and do not show."""
    headers = _document_headers(stored.name) | {"Content-Length": str(stored.size)}
    return StreamingResponse(stored.chunks(), headers=headers, media_type=media_type)


def _document_headers(name: str) -> dict[str, str]:
    # A browser must not show it as a page of this server: a translated page may contain scripts.
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }

"""Routes to upload documents for translation and to download the results, and the store of the results."""

import asyncio
import hashlib
import re
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import PurePath
from typing import Any, Literal
from urllib.parse import quote

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from dragoman.documents.formats import document_formats
from dragoman.errors import DataError
from dragoman.server.database import ServerDatabase, now
from dragoman.server.errors import NotFound, Overloaded, RequestError, TooLarge
from dragoman.server.http.request_body import Access, Reserved, json_response, read_multipart, renamed_field
from dragoman.server.http.route_policy import Router, route_policy
from dragoman.server.pipeline.documents import translate_document
from dragoman.server.pipeline.pipeline import TranslationPipeline
from dragoman.server.pipeline.request_checks import build_options
from dragoman.server.request_types import TranslationRequest
from dragoman.server.routes.libretranslate import LIBRETRANSLATE, TranslateFileResponse
from dragoman.server.routes.openapi import BASE_ERRORS, BODY_ERRORS, parameter, responses
from dragoman.server.settings import Limits
from dragoman.storage import sql

DocumentStatus = Literal["translating", "done", "error"]

_MIB = 1 << 20
_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_NAME = 100  # characters
_MAX_SHARE = 0.5  # of all bytes, for one document
_CHUNK_BYTES = 256 << 10
_DIRECTLY = "request it directly, with Accept: application/octet-stream"


@dataclass(frozen=True)
class StoredDocument:
    """A document whose translation is running, waits for its download, or failed."""

    id: str
    status: DocumentStatus
    name: str = ""
    size: int = 0
    characters: int = 0
    error: str = ""


class DocumentStore:
    """Translated documents of the database, each with a secret that allows the download; only its hash is stored.

    A full store drops documents that were downloaded, then those of the client whose documents have the most bytes, the
    oldest first. So no client prevents another from storing one, and one with less than others keeps its own. A small
    document counts as `max_bytes / max_documents`. All methods but `chunks` are called in a thread.
    """

    def __init__(
        self,
        database: ServerDatabase,
        *,
        seconds: float = 1800.0,
        max_documents: int = 128,
        max_bytes: int = 256 * _MIB,
        clock: Callable[[], int] = now,
    ) -> None:
        self._database, self._microseconds = database, int(seconds * 1e6)
        self._max_documents, self._max_bytes, self._clock = max_documents, max_bytes, clock

    def check_size(self, size: int) -> None:
        """Raise `TooLarge` if a document would be too large to be stored."""
        if size > (limit := int(self._max_bytes * _MAX_SHARE)):
            raise TooLarge(f"a document must have {limit:,} bytes at most to be stored, got {size:,}; {_DIRECTLY}")

    def begin(self, secret: str, owner: str = "", client: bytes = b"", seconds: float = 0.0) -> None:
        """Store that a document is being translated, for at most `seconds`."""
        time = self._clock()
        texts = {"id": document_id(secret), "owner": owner, "client": client.hex(), "name": "", "error": ""}
        numbers = {"characters": 0, "size": 0, "created": time, "until": time + int((seconds + 60) * 1e6)}
        with self._database.write() as connection:
            self._delete_expired(connection)
            made = sql.insert(sql.DOCUMENTS).values(**texts, **numbers, status="translating", is_downloaded=False)
            connection.execute(made)

    def finish(self, secret: str, name: str, data: bytes, characters: int = 0) -> str:
        """Store the translation of a document; return the name under which it can be downloaded."""
        self.check_size(len(data))
        id_, shown = document_id(secret), plain_name(name)
        parts = [data[start : start + _CHUNK_BYTES] for start in range(0, len(data), _CHUNK_BYTES)]
        rows = [{"document": id_, "number": number, "data": part} for number, part in enumerate(parts)]
        try:
            with self._database.write() as connection:
                self._make_room(connection, id_, len(data))
                if self._end(connection, id_, "done", name=shown, size=len(data), characters=characters) and rows:
                    connection.execute(sql.insert(sql.DOCUMENT_PARTS), rows)
        except DataError as error:
            raise Overloaded(f"the server cannot store the document: {error}; {_DIRECTLY}") from None
        return f"{secret}.{shown}"

    def fail(self, secret: str, error: str) -> None:
        """Store why a document was not translated."""
        plain = error.replace("\0", "").encode("utf-8", "replace").decode()
        with self._database.write() as connection:
            self._end(connection, document_id(secret), "error", error=plain)

    def get(self, secret: str) -> StoredDocument | None:
        """Return the document of a secret, unless its time is over."""
        columns = [sql.DOCUMENTS.c[each.name] for each in fields(StoredDocument)]
        query = sql.select(*columns).where(
            sql.DOCUMENTS.c.id == document_id(secret), sql.DOCUMENTS.c.until > self._clock()
        )
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else StoredDocument(*row)

    async def chunks(self, document: StoredDocument) -> AsyncIterator[bytes]:
        """Yield the content in parts: a client that does not read its download must not fill the memory."""
        for number in range(-(-document.size // _CHUNK_BYTES)):
            part = await asyncio.to_thread(self._read_part, document.id, number)
            if part is None:
                return  # removed meanwhile: the response is shorter than its Content-Length
            yield part
        await asyncio.to_thread(self._mark, document.id)

    def _read_part(self, id_: str, number: int) -> bytes | None:
        query = sql.select(sql.DOCUMENT_PARTS.c.data).where(
            sql.DOCUMENT_PARTS.c.document == id_, sql.DOCUMENT_PARTS.c.number == number
        )
        with self._database.read() as connection:
            found: bytes | None = connection.execute(query).scalar()
        return found

    def _mark(self, id_: str) -> None:
        with self._database.write() as connection:
            connection.execute(sql.update(sql.DOCUMENTS).where(sql.DOCUMENTS.c.id == id_).values(is_downloaded=True))

    def _end(self, connection: Any, id_: str, status: DocumentStatus, **values: Any) -> bool:
        until = self._clock() + self._microseconds
        ended = sql.update(sql.DOCUMENTS).where(sql.DOCUMENTS.c.id == id_).values(status=status, until=until, **values)
        return bool(connection.execute(ended).rowcount)

    def _make_room(self, connection: Any, id_: str, size: int) -> None:
        """Delete documents until one of this size fits."""
        self._delete_expired(connection)
        columns = (sql.DOCUMENTS.c[name] for name in ("id", "client", "size", "is_downloaded"))
        query = sql.select(*columns).where(sql.DOCUMENTS.c.status != "translating").order_by(sql.DOCUMENTS.c.created)
        documents = {row.id: row for row in connection.execute(query)}
        client = connection.execute(sql.select(sql.DOCUMENTS.c.client).where(sql.DOCUMENTS.c.id == id_)).scalar() or ""
        least = self._max_bytes // self._max_documents
        sizes = {key: max(row.size, least) for key, row in documents.items()}
        added, dropped = max(size, least), list[str]()
        while documents and sum(map(sizes.__getitem__, documents)) + added > self._max_bytes:
            ranks = rank_owners([(client, added), *((row.client, sizes[key]) for key, row in documents.items())])
            first = min(documents, key=lambda key: (not documents[key].is_downloaded, ranks[documents[key].client]))
            dropped.append(first)
            del documents[first]
        connection.execute(sql.delete(sql.DOCUMENTS).where(sql.DOCUMENTS.c.id.in_(dropped)))

    def _delete_expired(self, connection: Any) -> None:
        connection.execute(sql.delete(sql.DOCUMENTS).where(sql.DOCUMENTS.c.until <= self._clock()))


def new_secret() -> str:
    """Return the secret of a new document."""
    return secrets.token_hex(32).upper()


def document_id(secret: str) -> str:
    """Return the name of the document of a secret, from which the secret cannot be derived."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()[:32].upper()


def rank_owners(owned: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the ranks of owners by the sum of their sizes, 0 for the largest; of equal ones, the first is lower."""
    totals: Counter[str] = Counter()
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


def router(pipeline: TranslationPipeline) -> Router:
    """Return the routes of documents."""
    routes = Router(tags=[LIBRETRANSLATE.name])
    downloads = DocumentStore(pipeline.database)
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
        wanted = await _to_request(pipeline, upload, access.name)
        media_type = formats[_suffix(upload.name)].media_type
        is_direct = _accepts_document(request.headers.get("accept", ""), media_type)
        if not is_direct:  # before the work: its size is about that of the translation
            downloads.check_size(len(upload.data))
        done = await translate_document(pipeline, upload.name, upload.data, wanted, reservation)
        access.count(done.characters)
        name = translated_name(upload.name, done.language)
        if is_direct:
            return Response(done.data, headers=_document_headers(name), media_type=media_type)

        def store() -> str:
            secret = new_secret()
            downloads.begin(secret, access.name, access.client)
            return downloads.finish(secret, name, done.data, done.characters)

        key = await asyncio.to_thread(store)
        return json_response({"translatedFileUrl": str(request.base_url) + f"download_file/{quote(key)}"})

    @routes.get(
        "/download_file/{name}",
        **responses(None, *BASE_ERRORS, 404, more=media_types),
        openapi_extra={
            "parameters": [parameter("name", "path", {"type": "string"}, "The last part of `translatedFileUrl`.")]
        },
    )
    @route_policy("public")  # the name of a document is a secret
    async def download_file(request: Request) -> Response:
        """Download a translated document."""
        secret, _, name = request.path_params["name"].partition(".")
        stored = await asyncio.to_thread(downloads.get, secret)
        if stored is None or stored.status != "done" or stored.name != name:
            raise NotFound(
                "there is no document of this name: documents are kept for half an hour, in a full store shorter; "
                "translate it again"
            )
        return stored_response(downloads, stored, formats[_suffix(stored.name)].media_type)

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


async def _to_request(pipeline: TranslationPipeline, upload: Upload, owner: str) -> TranslationRequest:
    source, target = upload.fields["source"], upload.fields["target"]
    model = upload.fields.get("model") or None
    stored = await pipeline.find_glossary(owner, upload.fields.get("glossary"), source, target)
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


def stored_response(store: DocumentStore, stored: StoredDocument, media_type: str) -> Response:
    """Return a stored document that browsers save and do not show."""
    headers = _document_headers(stored.name) | {"Content-Length": str(stored.size)}
    return StreamingResponse(store.chunks(stored), headers=headers, media_type=media_type)


def _document_headers(name: str) -> dict[str, str]:
    # A browser must not show it as a page of this server: a translated page may contain scripts.
    return {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }

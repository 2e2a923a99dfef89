"""Request bodies: limit their size, time and memory, find the API key in them, parse them; JSON responses.

LibreTranslate's clients send ``api_key`` as a JSON member or a form field, DeepL's older clients ``auth_key`` as a form
field. A body is parsed only after its key was found, so the search takes linear time and builds nothing. A value that
only resembles a key field is harmless, because it must be a valid key.

Sizes are checked before anything is built: the number of JSON values, of form fields, and of entries per list or
object. What takes more than a few milliseconds runs in a thread.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, unquote_plus

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json, to_json
from python_multipart.exceptions import FormParserError
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive

from dragoman.config.validation_errors import error_message
from dragoman.server.access.authorization import RequestAccess
from dragoman.server.errors import Overloaded, RequestError, TooLarge, Unsupported
from dragoman.server.http.route_policy import Depends
from dragoman.server.scheduling.admission import Reservation

MAX_BUFFERED = 256 << 20
"""Maximum number of bytes of all running requests' bodies."""

_MAX_PLACES = 32  # of each name, from the start and from the end; a text may contain the name too
_MAX_KEYS = 8
_JSON = re.compile(rb'"[ \t\r\n]{0,64}:[ \t\r\n]{0,64}"([^"\\]{1,512})"')
_FIELD = re.compile(rb"=([^&]{1,512})")
_PART = re.compile(rb'"?[^\r\n]{0,200}\r\n(?:[^\r\n]{1,200}\r\n){0,8}\r\n([^\r\n]{1,512})\r\n')


class BodyTimeout(RequestError, status=408, reason="slow"):  # noqa: N818 -- named like its HTTP status
    """A body that did not arrive in time."""


class BodyBuffer:
    """Memory for request bodies, shared by all requests."""

    def __init__(self, max_bytes: int = MAX_BUFFERED) -> None:
        self._max_bytes = max_bytes
        self._held = 0

    @property
    def held(self) -> int:
        return self._held

    async def read(self, receive: Receive, limit: int, seconds: float) -> bytes | None:
        """Read a body; None if the client disconnected. Raises `TooLarge`, `BodyTimeout` or `Overloaded`.

        A returned body counts until `release`.
        """
        chunks: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    chunk = message.get("body", b"")
                    size += len(chunk)
                    self._held += len(chunk)
                    self._check(size, limit)
                    chunks.append(chunk)
                    if not message.get("more_body", False):
                        size = 0  # stays held
                        return chunks[0] if len(chunks) == 1 else b"".join(chunks)
        except TimeoutError:
            raise BodyTimeout(f"the body did not arrive within {seconds:g} s; send it faster") from None
        finally:
            self._held -= size

    def release(self, size: int) -> None:
        self._held -= size

    def _check(self, size: int, limit: int) -> None:
        if size > limit:
            raise _too_large(limit)
        if self._held > self._max_bytes:
            raise Overloaded(
                f"the bodies of all requests together have more than {self._max_bytes:,} bytes", retry_after=1
            )


def declared_length(headers: Mapping[bytes, bytes], limit: int) -> int | None:
    """Return the length of the body: 0 for none, None if it is chunked; raises `TooLarge`."""
    if b"transfer-encoding" in headers:
        return None
    length = headers.get(b"content-length", b"0")
    if not length.isdigit():
        raise RequestError("Content-Length must be a whole number; leave it to the HTTP client")
    if len(length) > len(str(limit)) + 20 or int(length) > limit:
        raise _too_large(limit)
    return int(length)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body must have at most {limit:,} bytes, got more; send it in several requests")


def find_keys(names: Sequence[bytes], content_type: bytes, query: bytes, body: bytes) -> list[str]:
    """Return what may be the API key of a request: values of fields of the query, then of the body."""
    kind = content_type.partition(b";")[0].strip().lower()
    found = _fields(names, query)
    if kind == b"application/x-www-form-urlencoded":
        found += _fields(names, body)
    elif kind == b"multipart/form-data":
        found += _values(names, _PART, body, (b'name="', b"name="))
    elif kind == b"application/json" or kind.endswith(b"+json"):
        found += _values(names, _JSON, body, (b'"',))
    return found


def _fields(names: Sequence[bytes], form: bytes) -> list[str]:
    return [unquote_plus(value) for value in _values(names, _FIELD, b"&" + form, (b"&",))]


def _values(names: Sequence[bytes], pattern: re.Pattern[bytes], data: bytes, before: tuple[bytes, ...]) -> list[str]:
    """Return the values that follow a name and the pattern, where the name follows one of the prefixes."""
    values: list[str] = []
    for name in names:
        for at in sorted({*islice(_forwards(data, name), _MAX_PLACES), *islice(_backwards(data, name), _MAX_PLACES)}):
            found = pattern.match(data, at + len(name))
            if found and data[max(0, at - 6) : at].lower().endswith(before):
                values.append(found[1].decode("latin-1").strip())
    return values[:_MAX_KEYS]


def _forwards(data: bytes, name: bytes) -> Iterator[int]:
    at = data.find(name)
    while at >= 0:
        yield at
        at = data.find(name, at + len(name))


def _backwards(data: bytes, name: bytes) -> Iterator[int]:
    at = data.rfind(name)
    while at >= 0:
        yield at
        at = data.rfind(name, 0, at)


Schema = TypeVar("Schema", bound=BaseModel)

MAX_ENTRIES = 1000
"""Maximum number of fields of a form, and of entries of a JSON list or object."""

_MAX_VALUES = 5000  # of a JSON body: parsed and validated in some milliseconds
_MAX_TOTAL = 2500  # entries of all lists and objects: each may be an error of the validation
_NOT_STRUCTURE = bytes(set(range(256)) - set(b'"[{,:'))
_INLINE_BYTES = 16 << 10  # of a form that is parsed on the event loop
_CHUNK_BYTES = 64 << 10
_MAX_SHOWN = 60  # characters
_UNION_ARMS = ("str", "int", "list[str]", "constrained-str", "constrained-int")  # in the paths of pydantic errors
_SIMILAR = 0.7  # ratio of difflib
_SAME_FIELDS = (  # of the APIs of this server
    frozenset({"text", "texts", "q"}),
    frozenset({"source", "source_lang", "from"}),
    frozenset({"target", "target_lang", "to"}),
)
_FORM = "application/x-www-form-urlencoded"
_CHARSET = re.compile(r";[ \t]*charset\*?[ \t]*=[^;]*", re.IGNORECASE)

Body = TypeVar("Body", bound=BaseModel)


def is_json(request: Request) -> bool:
    """Whether the content type of the body is JSON."""
    kind = _content_type(request)
    return kind == "application/json" or kind.endswith("+json")


async def read_json(request: Request) -> dict[str, Any]:
    """Read a JSON object; another content type is `Unsupported`."""
    value = await read_json_value(request)
    if not isinstance(value, dict):
        raise RequestError("the body must be a JSON object; write names and values in { }")
    return value


async def read_json_value(request: Request) -> Any:
    """Read JSON of any type; another content type is `Unsupported`."""
    if not is_json(request):
        raise Unsupported(
            f"the body must be JSON, got {_content_type(request)[:_MAX_SHOWN] or 'no content type'}; send it with the "
            "header Content-Type: application/json"
        )
    body = await request.body()
    if len(body.translate(None, _NOT_STRUCTURE)) > _MAX_VALUES and await asyncio.to_thread(_has_many_values, body):
        raise RequestError(f"the body must have at most {_MAX_VALUES:,} JSON values, got more; send several requests")
    try:
        return from_json(body)
    except ValueError as error:
        raise RequestError(
            f"the body must be JSON, got invalid JSON: {error}; check quotes, commas and UTF-8"
        ) from None


async def read_values(request: Request, repeated: Collection[str]) -> dict[str, Any]:
    """Return all fields by name, JSON before the query; `repeated` ones, in PHP ``text[]``, are lists in forms."""
    if is_json(request) and (request.method != "GET" or await request.body()):
        return {**request.query_params, **await read_json(request)}
    fields = await read_fields(request)
    values: dict[str, Any] = dict(fields)
    for wanted in repeated:
        given = [value for name, value in fields if name == wanted or _is_element(name, wanted)]
        if given:
            values[wanted] = [text.replace("\r\n", "\n") for text in given]  # browsers end lines of forms with CR LF
    return values


def _is_element(name: str, field: str) -> bool:
    return name.startswith(f"{field}[") and name.endswith("]")


async def read_fields(request: Request) -> list[tuple[str, str]]:
    """Read the fields of the query and of a form in either encoding; files are skipped."""
    kind, body = _content_type(request), await request.body()
    if body[:_CHUNK_BYTES].lstrip().startswith(b"{"):  # curl -d sends JSON as a form
        raise RequestError(
            f"the body must be a form, got JSON with the content type {kind[:_MAX_SHOWN] or 'none'}; send it with the "
            "header Content-Type: application/json"
        )
    query: bytes = request.scope["query_string"]
    for given, name in ((query, "the query"), (body if kind == _FORM else b"", "the form")):
        if given.count(b"&") >= MAX_ENTRIES:
            raise RequestError(f"{name} must have at most {MAX_ENTRIES:,} fields, got more; send several requests")
    fields = list(request.query_params.multi_items())
    if kind == _FORM:
        try:
            is_large = len(body) > _INLINE_BYTES
            fields += await asyncio.to_thread(_parse_form, body) if is_large else _parse_form(body)
        except ValueError:
            raise RequestError("the form must be percent-encoded UTF-8; encode it again") from None
    elif kind == "multipart/form-data":
        form = await read_multipart(request, max_fields=MAX_ENTRIES)
        fields += [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
        await form.close()
    return fields


async def read_multipart(request: Request, *, max_fields: int) -> FormData:
    """Read a form in parts, with at most one file; the caller closes it. An invalid form is a `RequestError`."""
    headers = _without_charset(request.headers)
    body = await request.body()
    try:
        if len(body) <= _INLINE_BYTES:
            return await _parse_parts(headers, body, max_fields)
        return await asyncio.to_thread(lambda: asyncio.run(_parse_parts(headers, body, max_fields)))
    except (MultiPartException, FormParserError) as error:  # older versions of starlette pass the second one on
        raise RequestError(f"the form must be valid multipart/form-data, got: {error}; encode it again") from None


def parse_model(model: type[Schema], value: Mapping[str, Any] | list[Any]) -> Schema:
    """Validate values by a model; raises `RequestError` with the first error.

    The number of entries is checked first: pydantic collects an error for each entry of a list.
    """
    if _check_entries(value, "the body") > _MAX_TOTAL:
        raise RequestError(f"the body must have at most {_MAX_TOTAL:,} entries in all, got more; send several requests")
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise RequestError(_first_error(error, model, value)) from None


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON response; infinite numbers and NaN become null."""
    return Response(to_json(value, inf_nan_mode="null"), status, media_type="application/json")


async def large_json_response(build: Callable[[], Any]) -> Response:
    """Build and encode a large value in a thread. It is encoded in parts, because each call holds the interpreter."""
    data = await asyncio.to_thread(lambda: _to_json_in_parts(build()))
    return Response(data, media_type="application/json")


def _to_json_in_parts(value: Any) -> bytes:
    if isinstance(value, dict):
        members = (to_json(str(name)) + b":" + _to_json_in_parts(each) for name, each in value.items())
        return b"{" + b",".join(members) + b"}"
    if isinstance(value, list) and value and isinstance(value[0], (dict, list)):
        return b"[" + b",".join(map(_to_json_in_parts, value)) + b"]"
    return to_json(value, inf_nan_mode="null")


def _check_entries(value: Mapping[str, Any] | list[Any], name: str) -> int:
    """Check the length of an object or a list, and of those in it, and return their sum; JSON is nested 200 deep."""
    if len(value) > MAX_ENTRIES:
        raise RequestError(f"{name} must have at most {MAX_ENTRIES:,} entries, got {len(value):,}; send fewer")
    total = len(value)
    for inner, each in value.items() if isinstance(value, Mapping) else ((name, each) for each in value):
        if isinstance(each, (list, dict)):
            total += _check_entries(each, inner[:_MAX_SHOWN])
    return total


def _has_many_values(body: bytes) -> bool:
    """Whether JSON has too many values, counted without parsing: signs outside of strings, and strings."""
    signs = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _NOT_STRUCTURE)
    if signs.count(b'"') > 2 * _MAX_VALUES:
        return True
    return sum(map(len, signs.split(b'"')[::2])) > _MAX_VALUES


def _parse_form(body: bytes) -> list[tuple[str, str]]:
    return parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_ENTRIES)


def _without_charset(headers: Headers) -> Headers:
    """Return the content type without its charset: fields are UTF-8, and some codecs of Python take quadratic time."""
    kind = _CHARSET.sub("", headers.get("content-type", ""))
    if "charset" in kind.lower():
        raise RequestError("the content type of a form must have a boundary and no charset; encode it again")
    return Headers({"content-type": kind})


async def _parse_parts(headers: Headers, body: bytes, max_fields: int) -> FormData:
    async def chunks() -> AsyncGenerator[bytes, None]:
        for start in range(0, len(body), _CHUNK_BYTES):
            yield body[start : start + _CHUNK_BYTES]
        yield b""

    parser = MultiPartParser(headers, chunks(), max_files=1, max_fields=max_fields, max_part_size=max(1, len(body)))
    parser.spool_max_size = len(body) + 1  # it is in memory already: no temporary file
    return await parser.parse()


def renamed_field(missing: str, given: Iterable[str], known: Iterable[str]) -> str | None:
    """Return the unknown field that was probably sent in place of a missing one."""
    unknown = [name for name in given if name not in known]
    others = next((group for group in _SAME_FIELDS if missing in group), ())
    close = get_close_matches(missing, unknown, 1, _SIMILAR)
    return next((name[:_MAX_SHOWN] for name in unknown if name in others or name in close), None)


def _first_error(error: ValidationError, model: type[BaseModel], value: Mapping[str, Any] | list[Any]) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "missing" and len(first["loc"]) == 1:
        name = str(first["loc"][0])
        if sent := renamed_field(name, value, model.model_fields):
            return f"{name} must be given, got {sent}, which is not a field; write {name} in place of {sent}"
    name = ".".join(str(part) for part in first["loc"] if part not in _UNION_ARMS)[:_MAX_SHOWN] or "the body"
    message = error_message(first, name, model.model_fields, show_value=False)
    return message if ";" in message else f"{message}; /docs describes the fields"


def _content_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def _access(request: Request) -> RequestAccess:
    access: RequestAccess = request.state.access
    return access


async def _reserved(request: Request) -> Reservation:
    reservation: Reservation = request.state.reservation
    return reservation


Access = Annotated[RequestAccess, Depends(_access)]
"""Access of a request that is authorized."""

Reserved = Annotated[Reservation, Depends(_reserved)]
"""The reservation of a route with ``translates=True`` in its policy."""


def json_body(model: type[Body]) -> Callable[[Request], Awaitable[Body]]:
    """Return a dependency that parses a JSON body; its errors never quote a text."""

    async def parse(request: Request) -> Body:
        return parse_model(model, await read_json(request))

    return parse
